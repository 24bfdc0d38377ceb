"""Run passes on the text of a module."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from ....ir.codec.files import check_writable, replacing
from ....ir.errors import OptionError, ParseError
from ....ir.module import Module
from ....ir.resources import Constants
from ....ir.text.parser import parse_module
from ....ir.text.printer import print_module
from ....passes.base import Context
from ....passes.header import Header, read_header
from ....passes.instrument import Instrument, PrintAfter, ReportProgress, Timing, WriteReproducer
from ....passes.manager import run_pipeline
from ....passes.pipeline import Pipeline, find_pass
from ....passes.registry import PASSES, pipeline, plugin_passes
from ...mapping.pool import WorkerPool
from ...mapping.solve import CachedSolver, cores
from ...pipelines import pipeline_text
from ...stores.inventory import limited
from ...stores.mappings import MappingCache
from ...stores.passes import PassMemory
from ...stores.store import Store, default_folder
from ..verbosity import Verbosity
from .progress import shown_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class PassesRequest:
    """What the command line asks for.

    Attributes:
        file: Text of a module; ``-`` is stdin.
        passes: Text or file of the pipeline; the header's if absent.
        output: File to write; stdout if absent.
        constants: Data of the constants.
        seed: The header's if absent.
        verify_each: Whether to verify the module after each pass.
        print_ir_after: Names of passes, or ``all``.
        timing: Whether to show the time of each pass.
        reproducer: Where to write what reproduces a crash.
        verbosity: How much is said.
    """

    file: Path | None
    passes: str | None
    output: Path | None
    constants: Path | None
    seed: int | None
    verify_each: bool
    print_ir_after: tuple[str, ...]
    timing: bool
    reproducer: Path
    verbosity: Verbosity


def run_passes(request: PassesRequest) -> None:
    """Read a module, run passes on it, and print it.

    Raises:
        AccnnError: The file cannot be read, or a pass refuses or fails.
    """
    clock = Timing()
    with _shown(clock, wanted=request.timing):
        if request.output is not None:
            check_writable(request.output)
        with shown_progress("acc-opt", request.verbosity) as observe:
            observe("read", 0, 0)
            job = _read(request)
            watchers = (
                *_printers(request.print_ir_after),
                ReportProgress(lambda item, done, total: observe(item.name, 0, 0)),
                clock,
                WriteReproducer(request.reproducer),
            )
            module = job.run(watchers, verify_each=request.verify_each)
        _write(module, request.output)


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
        folder = default_folder()
        with limited(folder), WorkerPool(cores()) as pool:
            context = Context(
                seed=self.seed,
                solve_jobs=CachedSolver(MappingCache(folder), cores(), pool),
                helpers=pool.help,
                run_pass=PassMemory(Store(folder)),
            )
            outcome = run_pipeline(
                self.pipeline, self.module, context, instruments=watchers, verify_each=verify_each
            )
        return outcome.module


def _read(request: PassesRequest) -> _Job:
    """Read a file with its header; what is given wins over the header.

    Raises:
        InputError: The file cannot be read, or is not the text of a module.
        VerifyError: The module breaks an invariant.
    """
    file = request.file
    if file is None:
        raise OptionError("no file given", hint="see acc-opt --help")
    text = _text(file)
    header = read_header(text)
    chosen = pipeline(
        header.pipeline or "" if request.passes is None else pipeline_text(request.passes)
    )
    data = _constants(file, header, request.constants)
    source = "<stdin>" if str(file) == "-" else str(file)
    return _Job(
        module=parse_module(text, source=source, constants=data, verify=request.verify_each),
        pipeline=chosen,
        seed=header.seed if request.seed is None else request.seed,
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
    known = (*PASSES, *plugin_passes().usable.values())
    chosen = frozenset(find_pass(name, known).name for name in names if name != "all")
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
