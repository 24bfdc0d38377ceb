"""What fused groups bring: off-chip bytes, cycles and energy with and without them.

    python -m benchmarks.fusion
    python -m benchmarks.fusion --network resnet50 --arch simba
    python -m benchmarks.fusion --network efficientnet_b0 vit_tiny bert_tiny --arch simba
    python -m benchmarks.fusion --resume --docs

Every program is run and compared with onnxruntime. Every row is written to
``benchmarks/results/fusion.csv`` when it is known; ``--resume`` keeps the rows that are there. The
table is printed; with ``--docs`` two tables are written to ``docs/fusion.md``, too: of the networks
that are measured by default, and of five others. The exit code is 1 if a program was not verified.
``benchmarks.fusion_sweep`` plans with scratchpads of many sizes.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus
from accnn.models.session import save_model
from accnn.models.zoo.build import build
from accnn.passes.scheduling.fusion import Fuse
from benchmarks.documents import between_marks
from benchmarks.rows import read_rows, write_rows

RESULTS = Path(__file__).with_name("results")
DOCS = Path(__file__).parents[1] / "docs" / "fusion.md"
NETWORKS = ("resnet50", "resnet18", "mobilenetv2", "squeezenet", "darknet19", "vgg16")
OTHERS = ("yolov2", "efficientnet_b0", "densenet121", "vit_tiny", "bert_tiny")
TABLES = {"benchmarks.fusion": NETWORKS, "benchmarks.fusion, others": OTHERS}
"""Tables of the document, by the name between which marks they stand."""

ARCHS = ("simba", "edge-1m", "flexer-arch5")
_LOG = logging.getLogger("benchmarks.fusion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine with some operators fused.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        fuse: What may be fused.
        groups: How many groups the plan has.
        offchip_bytes: Moved to and from off-chip memory, simulated [byte].
        compulsory_bytes: What any plan moves [byte].
        cycles: Simulated [cycle].
        cycles_lower_bound: Roofline of the network [cycle].
        energy_uj: Simulated [uJ].
        plan_seconds: CPU time of planning [s].
        verified: Whether the outputs are onnxruntime's.
    """

    network: str
    arch: str
    fuse: str
    groups: int
    offchip_bytes: int
    compulsory_bytes: int
    cycles: int
    cycles_lower_bound: int
    energy_uj: float
    plan_seconds: float
    verified: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / "fusion.csv"
    rows = read_rows(kept, Row) if chosen.resume else []
    known = {(row.network, row.arch, row.fuse) for row in rows}
    for network in chosen.network:
        for row in _measure(network, chosen.arch, known):
            rows.append(row)
            write_rows(kept, Row, rows)
    _LOG.info("%s", markdown(rows))
    if chosen.docs:
        DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 0 if all(row.verified for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--network", nargs="+", default=NETWORKS, metavar="NAME")
    parser.add_argument("--arch", nargs="+", default=ARCHS, metavar="NAME")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--docs", action="store_true", help="write the table to docs/fusion.md")
    return parser


def _measure(network: str, archs: Sequence[str], known: set[tuple[str, str, str]]) -> Iterator[Row]:
    """Yield the rows of a network that are not known yet."""
    asked = [(arch, fuse) for arch in archs for fuse in Fuse]
    asked = [item for item in asked if (network, item[0], item[1].value) not in known]
    if not asked:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        save_model(build(network), path)
        for arch, fuse in asked:
            row = _row(network, path, arch, fuse)
            _LOG.info("%s", row)
            yield row


def _row(network: str, path: Path, arch: str, fuse: Fuse) -> Row:
    result = compile(path, arch=arch, options=CompileOptions(fuse=fuse, races=False))
    totals, plan = result.report.totals, result.module.graph_schedule
    assert plan is not None
    planned = [item.seconds for item in result.report.passes if item.name == "schedule-cosma"]
    return Row(
        network=network,
        arch=arch,
        fuse=fuse.value,
        groups=len(plan.groups),
        offchip_bytes=totals.offchip_bytes or 0,
        compulsory_bytes=totals.offchip_bytes_compulsory or 0,
        cycles=totals.cycles_simulated or 0,
        cycles_lower_bound=totals.cycles_lower_bound or 0,
        energy_uj=(totals.energy_pj or 0.0) / 1e6,
        plan_seconds=sum(planned),
        verified=result.report.verification.status is VerificationStatus.VERIFIED,
    )


def with_tables(text: str, rows: Sequence[Row]) -> str:
    """Return a document with new tables between their marks.

    Args:
        text: The document.
        rows: What was measured, in the order of the tables.
    """
    for name, networks in TABLES.items():
        own = [row for row in rows if row.network in networks]
        text = between_marks(text, name, markdown(own))
    return text


def markdown(rows: Sequence[Row]) -> str:
    """Return the table: MB and millions of cycles without, with epilogues, with groups."""
    lines = [
        "| network | machine | MB off | epilogues | groups | compulsory "
        "| Mcycles off | epilogues | groups | roofline | mJ off | groups | verified |\n",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
    ]
    for network, arch in dict.fromkeys((row.network, row.arch) for row in rows):
        by_fuse = {row.fuse: row for row in rows if (row.network, row.arch) == (network, arch)}
        if set(by_fuse) != {item.value for item in Fuse}:
            continue
        off, epilogues, groups = (by_fuse[item.value] for item in Fuse)
        every = (off, epilogues, groups)
        cells = [
            network,
            arch,
            *(f"{row.offchip_bytes / 1e6:.1f}" for row in every),
            f"{off.compulsory_bytes / 1e6:.1f}",
            *(f"{row.cycles / 1e6:.2f}" for row in every),
            f"{off.cycles_lower_bound / 1e6:.2f}",
            *(f"{row.energy_uj / 1e3:.2f}" for row in (off, groups)),
            "yes" if all(row.verified for row in every) else "**no**",
        ]
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
