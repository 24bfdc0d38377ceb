"""Which networks of the zoo compile, and whether the simulator computes what onnxruntime does.

    python -m benchmarks.zoo --small
    python -m benchmarks.zoo --network bert_base vit_b_16 --arch edge-fp32
    python -m benchmarks.zoo --resume --docs
    python -m benchmarks.zoo --default --network bert_base vit_b_16 --arch edge-fp32 --docs

Mappers and schedulers are those that take no time: what a program computes does not depend on
them. ``--default`` takes those that ``acc-compile`` takes, and recalls nothing. Every row is
written to ``benchmarks/results/zoo.csv`` (with ``--small``: ``zoo-small.csv``, with ``--default``:
``zoo-default.csv``) when it is known; ``--resume`` keeps the rows that are there. The table is
printed, and written beside it; with ``--docs`` also to ``docs/zoo.md``, which has one for each.
At full size all networks on all machines take some two hours on one core.
The exit code is 1 if a network compiled and was not verified.
"""

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import InfeasibleError, InputError
from accnn.ir.report import Report, VerificationStatus
from accnn.models.session import save_model
from accnn.models.zoo.build import build
from accnn.models.zoo.registry import NETWORKS
from benchmarks.documents import between_marks
from benchmarks.rows import read_rows, write_rows

RESULTS = Path(__file__).with_name("results")
DOCS = Path(__file__).parents[1] / "docs" / "zoo.md"
SMALL_TABLE = "benchmarks.zoo"
FULL_TABLE = "benchmarks.zoo at full size"
DEFAULT_TABLE = "benchmarks.zoo as acc-compile"
ARCHS = ("edge-fp32", "edge-1m", "simba")
QUICK = CompileOptions(mapper="output-stationary", scheduler="in-order", races=False, samples=2)
LEAST_SIZE = {"inception_v3": 96}
_REFUSED = "refused"
_LOG = logging.getLogger("benchmarks.zoo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine; figures are 0 where it was refused.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        verdict: What the comparison with onnxruntime says, or ``refused``.
        detail: Why it was refused, or how well a quantised network keeps the float one's outputs,
            and in how many sections it was compared, if in more than one.
        cycles: Simulated [cycle].
        offchip_bytes: Moved to and from off-chip memory [byte].
        cpu_seconds: From the file to the verdict, of all processes [s].
    """

    network: str
    arch: str
    verdict: str
    detail: str
    cycles: int = 0
    offchip_bytes: int = 0
    cpu_seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    chosen.output.mkdir(parents=True, exist_ok=True)
    name, file = _table(small=chosen.small, default=chosen.default)
    kept = chosen.output / file
    rows = read_rows(kept, Row) if chosen.resume else []
    known = frozenset((row.network, row.arch) for row in rows)
    options = replace(CompileOptions(), cache=None) if chosen.default else QUICK
    for row in measure(chosen.network, chosen.arch, options, small=chosen.small, known=known):
        rows.append(row)
        write_rows(kept, Row, rows)
    table = markdown(rows, chosen.arch)
    kept.with_suffix(".md").write_text(table, encoding="utf-8")
    if chosen.docs:
        text = DOCS.read_text(encoding="utf-8")
        DOCS.write_text(with_table(text, table, name), encoding="utf-8")
    sys.stdout.write(table)
    right = (VerificationStatus.VERIFIED, _REFUSED)
    return int(any(row.verdict not in right for row in rows))


def _table(*, small: bool, default: bool) -> tuple[str, str]:
    """Return the name of a table in the document, and of the file that has its rows."""
    if small:
        return SMALL_TABLE, "zoo-small.csv"
    return (DEFAULT_TABLE, "zoo-default.csv") if default else (FULL_TABLE, "zoo.csv")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.zoo", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = [network.name for network in NETWORKS]
    parser.add_argument("--network", nargs="+", choices=names, default=names)
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--small", action="store_true", help="small images, a quarter of channels")
    parser.add_argument("--default", action="store_true", help="mappers and schedulers as usual")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are known")
    parser.add_argument("--docs", action="store_true", help="write the table to docs/zoo.md")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(
    networks: Iterable[str],
    archs: Sequence[str],
    options: CompileOptions = QUICK,
    *,
    small: bool,
    known: frozenset[tuple[str, str]] = frozenset(),
) -> Iterator[Row]:
    """Compile, simulate and verify, one row after the other.

    Args:
        networks: Names in the zoo.
        archs: Names in the catalogue.
        options: Mappers and schedulers.
        small: Whether to build small variants.
        known: Pairs of network and machine that are left out.
    """
    for name in networks:
        wanted = [arch for arch in archs if (name, arch) not in known]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.onnx"
            size = {"image_size": LEAST_SIZE.get(name, 64), "sequence": 16}
            save_model(build(name, **size, width=0.25) if small else build(name), path)
            for arch in wanted:
                row = _row(name, arch, path, options)
                _LOG.info("%s on %s: %s", name, arch, _cell(row))
                yield row


def _row(network: str, arch: str, path: Path, options: CompileOptions) -> Row:
    start = _cpu_seconds()
    try:
        report = compile(path, arch=arch, options=options).report
    except (InputError, InfeasibleError) as error:
        return Row(network=network, arch=arch, verdict=_REFUSED, detail=error.message)
    return Row(
        network=network,
        arch=arch,
        verdict=report.verification.status.value,
        detail=", ".join((*_snr(report), *_sections(report))),
        cycles=report.totals.cycles_simulated or 0,
        offchip_bytes=report.totals.offchip_bytes or 0,
        cpu_seconds=round(_cpu_seconds() - start, 1),
    )


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for [s]."""
    return sum(os.times()[:4])


def _snr(report: Report) -> Iterator[str]:
    found = report.quantization
    if found is not None and found.snr_db is not None:
        yield f"{found.snr_db:.1f} dB"


def _sections(report: Report) -> Iterator[str]:
    if report.verification.sections > 1:
        yield f"{report.verification.sections} sections"


def markdown(rows: Sequence[Row], archs: Sequence[str]) -> str:
    """Return a line for each network, and a column for each machine."""
    lines = [f"| network | {' | '.join(archs)} |", f"|---|{'---|' * len(archs)}"]
    cells = {(row.network, row.arch): _cell(row) for row in rows}
    for network in NETWORKS:
        found = [cells.get((network.name, arch), "") for arch in archs]
        if any(found):
            lines.append(f"| `{network.name}` | {' | '.join(found)} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row) -> str:
    if row.verdict == _REFUSED:
        return f"{row.verdict}: {row.detail}"
    figures = (
        row.detail,
        f"{row.cycles / 1e6:.3g} Mcycles",
        f"{row.offchip_bytes / 1e6:.3g} MB",
        f"{row.cpu_seconds:.0f} s",
    )
    return f"{row.verdict}: {', '.join(item for item in figures if item)}"


def with_table(text: str, table: str, name: str = SMALL_TABLE) -> str:
    """Return a document with a table between the two marks of its name.

    Raises:
        ValueError: The document has no such marks.
    """
    return between_marks(text, name, f"\n{table}\n")


if __name__ == "__main__":
    sys.exit(main())
