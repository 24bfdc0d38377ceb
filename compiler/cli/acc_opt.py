"""``acc-opt``: run passes on the text of a module."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...ir.errors import OptionError, ParseError
from ...ir.files import check_writable, replacing
from ...ir.module import Module, Stage
from ...ir.resources import Constants
from ...ir.text.parser import parse_module
from ...ir.text.printer import print_module
from ...passes.base import STAGES, Context
from ...passes.header import Header, read_header
from ...passes.instrument import Instrument, PrintAfter, Timing, WriteReproducer
from ...passes.manager import run_pipeline
from ...passes.options import option_fields
from ...passes.pipeline import Pipeline, find_pass
from ...passes.registry import PASSES, pipeline
from ..cache import MappingCache, default_folder
from ..mapping import CachedSolver, cores
from .tool import EXIT_CODES, new_tool, reported

app = new_tool()


@app.command(epilog=f"{EXIT_CODES}.")
def acc_opt(
    file: Annotated[Path | None, typer.Argument(help="Text of a module; - reads stdin.")] = None,
    passes: Annotated[
        str | None,
        typer.Option("--pipeline", "-p", help="Passes, e.g. eliminate-dead,fold-layout."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write instead of stdout.")
    ] = None,
    constants: Annotated[
        Path | None, typer.Option(help="Data of the constants (safetensors).")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of what is random.")] = None,
    verify_each: Annotated[bool, typer.Option(help="Verify the module after each pass.")] = True,
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(metavar="PASS", help="Print the module after a pass, or after 'all'."),
    ] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Show the time of each pass.")] = False,
    reproducer: Annotated[
        Path, typer.Option(help="Where to write what reproduces a crash.")
    ] = Path("reproducer.ir"),
    list_passes: Annotated[
        bool, typer.Option("--list-passes", help="Show passes and options, and exit.")
    ] = False,
) -> None:
    """Read a module, run passes on it, and print it.

    Pipeline, seed and constants may also stand in comments at the head of the file, as in the
    reproducer of a crash: `// pipeline: eliminate-dead`. Options win.
    """
    clock = Timing()
    with reported("acc-opt"), _shown(clock, wanted=timing):
        if list_passes:
            typer.echo(_list())
            return
        if output is not None:
            check_writable(output)
        job = _read(file, passes, seed, constants, verify=verify_each)
        watchers = (*_printers(print_ir_after or []), clock, WriteReproducer(reproducer))
        _write(job.run(watchers, verify_each=verify_each), output)


def main() -> None:
    """Run the command line of ``acc-opt``."""
    app()


@contextmanager
def _shown(clock: Timing, *, wanted: bool) -> Generator[None]:
    """Show the time of each pass at the end, also where one fails."""
    try:
        yield
    finally:
        if wanted:
            typer.echo(clock.table(), err=True, nl=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What a file asks for: a module, and passes to run on it."""

    module: Module
    pipeline: Pipeline
    seed: int

    def run(self, watchers: Sequence[Instrument], *, verify_each: bool) -> Module:
        """Return the module after all passes."""
        outcome = run_pipeline(
            self.pipeline,
            self.module,
            Context(
                seed=self.seed, solve_jobs=CachedSolver(MappingCache(default_folder()), cores())
            ),
            instruments=watchers,
            verify_each=verify_each,
        )
        return outcome.module


def _read(
    file: Path | None, passes: str | None, seed: int | None, constants: Path | None, *, verify: bool
) -> _Job:
    """Read a file with its header; what is given wins over the header.

    Raises:
        InputError: The file cannot be read, or is not the text of a module.
        VerifyError: The module breaks an invariant.
    """
    if file is None:
        raise OptionError("no file given", hint="see acc-opt --help")
    text = _text(file)
    header = read_header(text)
    chosen = pipeline(header.pipeline or "" if passes is None else passes)
    data = _constants(file, header, constants)
    source = "<stdin>" if str(file) == "-" else str(file)
    return _Job(
        module=parse_module(text, source=source, constants=data, verify=verify),
        pipeline=chosen,
        seed=header.seed if seed is None else seed,
    )


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ParseError(f"{file}: not a text in UTF-8") from error


def _constants(file: Path, header: Header, given: Path | None) -> Constants | None:
    if given is not None:
        return Constants.load(given)
    if header.constants is None:
        return None
    if Path(header.constants).name != header.constants:
        raise ParseError(f"{file}: constants must lie beside the file, not at {header.constants}")
    return Constants.load(file.parent / header.constants)


def _printers(names: Sequence[str]) -> tuple[PrintAfter, ...]:
    """Return what prints after the chosen passes.

    Raises:
        PipelineError: There is no such pass.
    """
    chosen = frozenset(find_pass(name, PASSES).name for name in names if name != "all")
    if not names:
        return ()
    return (PrintAfter(_to_stderr, None if "all" in names else chosen),)


def _to_stderr(text: str) -> None:
    typer.echo(text, err=True)


def _write(module: Module, output: Path | None) -> None:
    """Write the text, and constants beside it where there are any."""
    if output is None:
        typer.echo(print_module(module), nl=False)
        return
    header = Header()
    if module.constants:
        data = output.with_suffix(".safetensors")
        _write_file(data, module.constants.to_bytes())
        header = Header(constants=data.name)
    _write_file(output, f"{header}{print_module(module)}".encode())


def _write_file(path: Path, content: bytes) -> None:
    with replacing(path) as partial:
        partial.write_bytes(content)


def _list() -> str:
    """Return the registered passes with stages and options."""
    lines: list[str] = []
    for item in PASSES:
        lines += [item.name, f"    {item.summary()}"]
        lines.append(f"    {_joined(item.needs)} -> {_joined(item.gives)}")
        lines += [
            f"    {option.name}={option.print(option.default)}  ({option.type_text})"
            for option in option_fields(item)
        ]
    return "\n".join(lines)


def _joined(stages: frozenset[Stage]) -> str:
    return ", ".join(stage for stage in STAGES if stage in stages)
