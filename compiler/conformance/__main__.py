"""Judge ONNX's node cases: ``python -m accnn.compiler.conformance --markdown table.md``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...ir.errors import AccnnError
from ...models.onnx_cases import node_cases
from ..mapping.solve import cores
from .judge import CaseOutcome, Machines
from .passed import no_longer_passed, passed_text, read_passed
from .runner import run_cases
from .tables import to_json, to_markdown


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge what the command line asks for; return the exit code.

    0 all is well, 1 a listed case no longer passes, 2 bad input.
    """
    chosen = _parser().parse_args(arguments)
    try:
        listed = [] if chosen.keep is None else _names(chosen.keep)
        outcomes = _judge(chosen)
    except AccnnError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    machines = Machines(float=chosen.arch, integer=chosen.integer_arch)
    page = to_markdown(outcomes, machines)
    for path, text in (
        (chosen.markdown, page),
        (chosen.json, to_json(outcomes, machines)),
        (chosen.passed, passed_text(outcomes)),
    ):
        if path is not None:
            path.write_text(text)
    if chosen.markdown is None:
        sys.stdout.write(page)
    lost = no_longer_passed(outcomes, listed)
    for item in lost:
        sys.stderr.write(f"{item.case} no longer passes: {item.status}, {item.reason}\n")
    return int(bool(lost))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="accnn.compiler.conformance", description=__doc__)
    default = Machines()
    parser.add_argument("--arch", default=default.float, help="architecture of float models")
    parser.add_argument("--integer-arch", default=default.integer, help="of quantised models")
    parser.add_argument("--operator", nargs="+", help="judge the cases of these operators only")
    parser.add_argument("--processes", type=int, default=cores(), help="work side by side")
    parser.add_argument("--markdown", type=Path, help="file for the tables; else they are shown")
    parser.add_argument("--json", type=Path, help="file for every verdict")
    parser.add_argument("--passed", type=Path, help="file for the list of passed cases")
    parser.add_argument("--keep", type=Path, help="list of cases that must still pass")
    return parser


def _names(path: Path) -> list[str]:
    return [name for names in read_passed(path).values() for name in names]


def _judge(chosen: argparse.Namespace) -> tuple[CaseOutcome, ...]:
    machines = Machines(float=chosen.arch, integer=chosen.integer_arch)
    return run_cases(node_cases(chosen.operator), machines, chosen.processes, _show)


def _show(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done}/{total}" + ("\n" if done == total else ""))


if __name__ == "__main__":
    sys.exit(main())
