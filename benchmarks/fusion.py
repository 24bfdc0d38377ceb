"""What fused groups bring: off-chip bytes, cycles and energy with and without them.

    python -m benchmarks.fusion
    python -m benchmarks.fusion --network resnet50 --arch simba
    python -m benchmarks.fusion --network efficientnet_b0 vit_tiny bert_tiny --arch simba
    python -m benchmarks.fusion --resume --docs
    python -m benchmarks.fusion --network vgg16 --arch simba --double-weights

Every program is run and compared with onnxruntime. Every row is written to
``benchmarks/results/fusion.csv`` when it is known; ``--resume`` keeps the rows that are there. The
tables are printed; with ``--docs`` they are written to ``docs/fusion.md``, too: of the networks
that are measured by default, and of five others. ``--double-weights`` measures each machine as it
is and with twice the capacity of the memory that weights come to first, which tells what a larger
one would give. The exit code is 1 if a program was not verified.
``benchmarks.fusion_sweep`` plans with scratchpads of many sizes.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accnn.backend.load import load_architecture
from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.arch import Architecture
from accnn.ir.module import Module
from accnn.ir.report import VerificationStatus
from accnn.ir.workload import Operand
from accnn.models.session import save_model
from accnn.models.zoo.build import build
from accnn.passes.instrument import Instrument, PassRecord, PassStep
from accnn.passes.scheduling.fusion import Fuse
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from benchmarks.documents import between_marks
from benchmarks.rows import read_rows, write_rows

RESULTS = Path(__file__).with_name("results")
DOCS = Path(__file__).parents[1] / "docs" / "fusion.md"
NETWORKS = ("resnet50", "resnet18", "mobilenetv2", "squeezenet", "darknet19", "vgg16")
OTHERS = ("yolov2", "efficientnet_b0", "densenet121", "vit_tiny", "bert_tiny")
TABLES = {"benchmarks.fusion": NETWORKS, "benchmarks.fusion, others": OTHERS}
"""Tables of the document, by the name between which marks they stand."""

DOUBLED = "benchmarks.fusion, doubled"
"""The table of machines with a larger memory of weights."""

_TWICE = "-2x-"
"""Stands in the name of a machine with a larger memory, before that of the memory."""

ARCHS = ("simba", "edge-1m", "flexer-arch5")
_LOG = logging.getLogger("benchmarks.fusion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine with some operators fused.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue, or of such a machine with a larger memory.
        fuse: What may be fused.
        groups: How many groups the plan has.
        offchip_bytes: Moved to and from off-chip memory, simulated [byte].
        bound_bytes: Proven least of the plans of the same steps, a group being one; 0 where nothing
            is proven [byte].
        compulsory_bytes: What any plan moves [byte].
        cycles: Simulated [cycle].
        cycles_lower_bound: Roofline of the network [cycle].
        energy_uj: Simulated [uJ].
        plan_seconds: CPU time of planning, nothing remembered of what was compiled before [s].
        verified: Whether the outputs are onnxruntime's.
    """

    network: str
    arch: str
    fuse: str
    groups: int
    offchip_bytes: int
    bound_bytes: int
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
    cases = tuple(_cases(chosen))
    for network in chosen.network:
        for row in _measure(network, cases, known):
            rows.append(row)
            write_rows(kept, Row, rows)
    _LOG.info("%s", doubled_markdown(rows) if chosen.double_weights else markdown(rows))
    if chosen.docs:
        DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 0 if all(row.verified for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--network", nargs="+", default=NETWORKS, metavar="NAME")
    parser.add_argument("--arch", nargs="+", default=ARCHS, metavar="NAME")
    parser.add_argument("--double-weights", action="store_true", help="a larger memory of weights")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--docs", action="store_true", help="write the table to docs/fusion.md")
    return parser


def _cases(chosen: argparse.Namespace) -> Iterator[tuple[Architecture, Fuse]]:
    """Yield machines, and what may be fused there."""
    for arch in map(load_architecture, chosen.arch):
        if chosen.double_weights:
            yield from ((machine, Fuse.GROUPS) for machine in (arch, with_double_weights(arch)))
        else:
            yield from ((arch, fuse) for fuse in Fuse)


def with_double_weights(arch: Architecture) -> Architecture:
    """Return a machine with twice the capacity of the memory that weights come to first.

    Args:
        arch: The machine.
    """
    home = arch.home(Operand.W)
    doubled = replace(home, capacity=2 * (home.capacity or 0))
    levels = tuple(doubled if level is home else level for level in arch.levels)
    return replace(arch, name=f"{arch.name}{_TWICE}{home.name}", levels=levels)


def _measure(
    network: str,
    cases: Sequence[tuple[Architecture, Fuse]],
    known: set[tuple[str, str, str]],
) -> Iterator[Row]:
    """Yield the rows of a network that are not known yet."""
    asked = [item for item in cases if (network, item[0].name, item[1].value) not in known]
    if not asked:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        save_model(build(network), path)
        for arch, fuse in asked:
            row = _row(network, path, arch, fuse)
            _LOG.info("%s", row)
            yield row


class _Planning(Instrument):
    """Times the pass that plans, by the CPU time of this process."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def started(self, step: PassStep, before: Module) -> None:
        """Begin to count where the pass plans."""
        if step.item.name == ScheduleCosma.name:
            self.seconds -= time.process_time()

    def finished(self, step: PassStep, before: Module, after: Module, record: PassRecord) -> None:
        """End to count."""
        if step.item.name == ScheduleCosma.name:
            self.seconds += time.process_time()


def _row(network: str, path: Path, arch: Architecture, fuse: Fuse) -> Row:
    planning = _Planning()
    options = CompileOptions(fuse=fuse, races=False, cache=None, processes=1)
    result = compile(path, arch=arch, options=options, instruments=(planning,))
    totals, plan = result.report.totals, result.module.graph_schedule
    proof = result.report.graph_schedule
    assert plan is not None and proof is not None
    return Row(
        network=network,
        arch=arch.name,
        fuse=fuse.value,
        groups=len(plan.groups),
        offchip_bytes=totals.offchip_bytes or 0,
        bound_bytes=proof.bound_bytes,
        compulsory_bytes=totals.offchip_bytes_compulsory or 0,
        cycles=totals.cycles_simulated or 0,
        cycles_lower_bound=totals.cycles_lower_bound or 0,
        energy_uj=(totals.energy_pj or 0.0) / 1e6,
        plan_seconds=planning.seconds,
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
    return between_marks(text, DOUBLED, doubled_markdown(rows))


def markdown(rows: Sequence[Row]) -> str:
    """Return the table: MB and millions of cycles without, with epilogues, with groups.

    Args:
        rows: What was measured, in the order of the table.
    """
    lines = [
        "| network | machine | MB off | epilogues | groups | bound | compulsory "
        "| Mcycles off | epilogues | groups | roofline | mJ off | groups | plan [s] | verified |\n",
        f"|---|---|{12 * '--:|'}---|\n",
    ]
    for network, arch in dict.fromkeys((row.network, row.arch) for row in rows):
        by_fuse = {row.fuse: row for row in rows if (row.network, row.arch) == (network, arch)}
        if set(by_fuse) != {item.value for item in Fuse}:
            continue
        off, epilogues, groups = (by_fuse[item.value] for item in Fuse)
        bound = f"{groups.bound_bytes / 1e6:.1f}" if groups.bound_bytes else "-"
        energies = (f"{row.energy_uj / 1e3:.2f}" for row in (off, groups))
        seconds = f"{groups.plan_seconds:.0f}"
        lines.append(_line((off, epilogues, groups), (bound,), (*energies, seconds)))
    return "".join(lines)


def doubled_markdown(rows: Sequence[Row]) -> str:
    """Return the table of machines with a larger memory of weights, each beside the usual one.

    Args:
        rows: What was measured, in the order of the table.
    """
    lines = [
        "| network | machine | MB | doubled | compulsory "
        "| Mcycles | doubled | roofline | verified |\n",
        f"|---|---|{6 * '--:|'}---|\n",
    ]
    fused = {(row.network, row.arch): row for row in rows if row.fuse == Fuse.GROUPS.value}
    for (network, arch), doubled in fused.items():
        usual = fused.get((network, arch.partition(_TWICE)[0]))
        if _TWICE not in arch or usual is None:
            continue
        lines.append(_line((usual, doubled)))
    return "".join(lines)


def _line(shown: Sequence[Row], least: Sequence[str] = (), others: Sequence[str] = ()) -> str:
    """Return the line of rows that stand beside each other, named after the last one.

    Args:
        shown: The rows.
        least: What stands before the compulsory bytes.
        others: What stands behind the cycles.
    """
    first, last = shown[0], shown[-1]
    cells = [
        last.network,
        last.arch,
        *(f"{row.offchip_bytes / 1e6:.1f}" for row in shown),
        *least,
        f"{first.compulsory_bytes / 1e6:.1f}",
        *(f"{row.cycles / 1e6:.2f}" for row in shown),
        f"{first.cycles_lower_bound / 1e6:.2f}",
        *others,
        "yes" if all(row.verified for row in shown) else "**no**",
    ]
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())
