"""Every scheduler of graphs on the emitted program: planned and simulated bytes, cycles, verdict.

    python -m benchmarks.cosma_end_to_end
    python -m benchmarks.cosma_end_to_end --network resnet50 --arch edge-1m --mapper cosa

The plan of COSMA is compared with the graph's own order and with the four schemes of its paper
({default, MPMF order} x {Belady, greedy replacement}, linear arena; below M_R with streaming).
All else is the same: mapper, tiles, lowering, simulator, inputs. Bytes and cycles are the
simulator's; the outputs are compared with onnxruntime's.

The table goes to ``benchmarks/results/cosma_end_to_end.md`` and ``.csv``. The exit code is 1 where
a program is not verified, a plan's bytes differ from the simulator's, or COSMA moves more bytes
than another scheduler.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import GRAPH_SCHEDULERS
from accnn.ir.report import VerificationStatus
from accnn.models.zoo.build import build
from accnn.models.zoo.registry import NETWORKS
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
CHOSEN = ("resnet50", "squeezenet1_1", "mobilenetv2", "resnet18")
OURS = "cosma"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine, planned by one scheduler.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        scheduler: Who planned the scratchpad.
        planned: Off-chip bytes of the plan [byte].
        simulated: Off-chip bytes that the program moves [byte].
        least: Inputs, constants and outputs, once [byte].
        cycles: Simulated [cycle].
        verdict: What the comparison with onnxruntime says.
    """

    network: str
    arch: str
    scheduler: str
    planned: int
    simulated: int
    least: int
    cycles: int
    verdict: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    rows: list[Row] = []
    for row in measure(chosen.network, chosen.arch, chosen.image_size, chosen.mapper):
        rows.append(row)
        sys.stdout.write(_line(row) + "\n")
        sys.stdout.flush()
    complaints = list(complain(rows))
    sys.stdout.write("\n".join(complaints or ["nothing moves fewer bytes than cosma"]) + "\n")
    write(rows, chosen.output)
    return int(bool(complaints))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks.cosma_end_to_end", description=(__doc__ or "").split("\n")[0]
    )
    names = [network.name for network in NETWORKS]
    parser.add_argument("--network", nargs="+", choices=names, default=CHOSEN)
    parser.add_argument("--arch", nargs="+", default=["simba"])
    parser.add_argument("--image-size", type=int, default=224, help="height and width [pixel]")
    parser.add_argument("--mapper", default="output-stationary")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(
    networks: Iterable[str], archs: Iterable[str], image_size: int, mapper: str
) -> Iterator[Row]:
    """Compile, simulate and verify with every scheduler, one row after the other."""
    pairs = [(network, arch) for network in networks for arch in archs]
    with tempfile.TemporaryDirectory() as folder:
        for network, arch in pairs:
            path = Path(folder) / f"{network}.onnx"
            if not path.exists():
                path.write_bytes(build(network, image_size=image_size).SerializeToString())
            for scheduler in GRAPH_SCHEDULERS:
                yield _row(path, arch, CompileOptions(scheduler=scheduler, mapper=mapper))


def _row(path: Path, arch: str, options: CompileOptions) -> Row:
    report = compile(path, arch=arch, options=options).report
    totals, plan = report.totals, report.graph_schedule
    assert plan is not None
    return Row(
        network=path.stem,
        arch=arch,
        scheduler=options.scheduler,
        planned=plan.objective_bytes,
        simulated=totals.offchip_bytes or 0,
        least=plan.bound_bytes,
        cycles=totals.cycles_simulated or 0,
        verdict=report.verification.status.value,
    )


def complain(rows: Iterable[Row]) -> Iterator[str]:
    """Yield what is not as it should be."""
    for (network, arch), group in groupby(rows, lambda row: (row.network, row.arch)):
        found = list(group)
        ours = next(row for row in found if row.scheduler == OURS)
        for row in found:
            what = f"{network} on {arch}, {row.scheduler}"
            if row.verdict != VerificationStatus.VERIFIED:
                yield f"{what}: {row.verdict}"
            if row.planned != row.simulated:
                yield f"{what}: {row.planned} byte planned, {row.simulated} moved"
            if row.simulated < ours.simulated:
                yield f"{what}: moves {ours.simulated - row.simulated} byte less than {OURS}"


def _line(row: Row) -> str:
    return "| " + " | ".join(_cell(value) for value in asdict(row).values()) + " |"


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write the table as Markdown and CSV."""
    names = [item.name for item in fields(Row)]
    lines = [f"| {' | '.join(names)} |", "|---|---|---|---:|---:|---:|---:|---|"]
    text = "\n".join([*lines, *(_line(row) for row in rows)]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cosma_end_to_end.md").write_text(text, encoding="utf-8")
    write_rows(folder / "cosma_end_to_end.csv", Row, rows)


if __name__ == "__main__":
    sys.exit(main())
