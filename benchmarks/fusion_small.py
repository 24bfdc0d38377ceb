"""What benchmarks of small networks with fused groups share: two programs, and a table."""

import argparse
import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from onnx import ModelProto

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.report import Totals, VerificationStatus
from accnn.models.session import save_model
from accnn.passes.scheduling.fusion import Fuse
from benchmarks.documents import between_marks


class Verified(Protocol):
    """A row of a table."""

    @property
    def is_verified(self) -> bool:
        """Whether all its programs compute what onnxruntime does."""
        ...


_Row = TypeVar("_Row", bound=Verified)


@dataclass(frozen=True, slots=True)
class TwoPrograms:
    """What a network costs without groups, and with them.

    Attributes:
        off: Without groups.
        groups: With them.
        is_verified: Whether both programs compute what onnxruntime does.
    """

    off: Totals
    groups: Totals
    is_verified: bool


def two_programs(
    model: ModelProto, arch: str, options: Callable[[Fuse], CompileOptions]
) -> TwoPrograms:
    """Compile and run a network without groups, and with them.

    Args:
        model: The network.
        arch: Name of the machine.
        options: How it is compiled, by what may be fused.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        save_model(model, path)
        off, groups = (
            compile(path, arch=arch, options=options(fuse)).report
            for fuse in (Fuse.OFF, Fuse.GROUPS)
        )
    status = (report.verification.status for report in (off, groups))
    is_verified = all(item is VerificationStatus.VERIFIED for item in status)
    return TwoPrograms(off.totals, groups.totals, is_verified)


def cell(is_verified: bool) -> str:
    """Return what a table says of verification.

    Args:
        is_verified: Whether all programs of a row are right.
    """
    return "yes" if is_verified else "**no**"


def tabulate(
    arguments: Sequence[str] | None,
    about: str | None,
    measured: Callable[[], Sequence[_Row]],
    markdown: Callable[[Sequence[_Row]], str],
    document: Path,
    marks: str,
) -> int:
    """Print a table, and write it into a document where the command line says so.

    Args:
        arguments: The command line; that of the process by default.
        about: What the benchmark measures, in its first line.
        measured: Measures all rows.
        markdown: Makes the table of them.
        document: Where it is written with ``--docs``.
        marks: Between the marks of this name; also the name of the log.

    Returns:
        The exit code: 1 if a program was not verified.
    """
    parser = argparse.ArgumentParser(description=(about or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--docs", action="store_true", help=f"write the table to docs/{document.name}"
    )
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows = measured()
    table = markdown(rows)
    logging.getLogger(marks).info("%s", table)
    if chosen.docs:
        text = document.read_text(encoding="utf-8")
        document.write_text(between_marks(text, marks, table), encoding="utf-8")
    return 0 if all(row.is_verified for row in rows) else 1
