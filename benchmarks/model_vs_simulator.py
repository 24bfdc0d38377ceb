"""How well the model tells the time of networks, and what operators take more than alone.

    python -m benchmarks.model_vs_simulator
    python -m benchmarks.model_vs_simulator --network squeezenet --arch simba

A network is *exact* if its program ends in the cycle that its tile schedule predicts. *Alone* is
what the tiles of one operator take by themselves, *in the run* the operator within its network,
where others share its ports and overlap with it. The table is printed, and written to
``benchmarks/results/model_vs_simulator.md`` and ``.csv``. The exit code is 1 if a network is not
exact, or if an operator differs without a known reason.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.isa.program import Program
from accnn.ir.report import NOTICEABLE, Cause, OperatorReport
from accnn.ir.tiles.schedule import TileSchedule
from accnn.models.zoo.build import build
from accnn.runtime_sim.timing.events import time_of
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
NETWORKS = ("resnet50", "mobilenetv2", "squeezenet")
ARCHS = ("simba", "edge-1m", "flexer-arch5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        exact: Whether the program ends when the tile schedule says.
        operators: How many there are.
        within: Those that differ by at most 1 % in the run.
        worst: Largest difference in the run [%].
        worst_operator: Of which operator.
        reasons: How many of the others differ most for which reason.
        unknown: Those of which nobody knows why.
        predicted: Sum of the predicted times [10^3 cycle].
        simulated: Duration of the run [10^3 cycle].
    """

    network: str
    arch: str
    exact: bool
    operators: int
    within: int
    worst: float
    worst_operator: str
    reasons: str
    unknown: int
    predicted: float
    simulated: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    rows: list[Row] = []
    for network in chosen.network:
        for arch in chosen.arch:
            rows.append(measure(network, arch, chosen.tiles))
            sys.stderr.write(f"{rows[-1]}\n")
    write(rows, chosen.output)
    sys.stdout.write(markdown(rows))
    return int(any(not row.exact or row.unknown for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.model_vs_simulator", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--network", nargs="+", default=list(NETWORKS))
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--tiles", default="static", help="orders tiles on the NPUs")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(network: str, arch: str, tiles: str) -> Row:
    """Compile and run one network."""
    options = CompileOptions(
        mapper="output-stationary", scheduler="in-order", tiles=tiles, verify=VerifyMode.OUTPUTS
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        path.write_bytes(build(network).SerializeToString())
        result = compile(path, arch=arch, options=options)
    report, module = result.report, result.module
    assert module.tile_schedule is not None and module.program is not None
    exact = is_exact(module.tile_schedule, module.program)
    return row_of(network, arch, report.operators, report.totals.cycles_simulated or 0, exact=exact)


def is_exact(schedule: TileSchedule, program: Program) -> bool:
    """Whether a program ends when its schedule says."""
    ends = [issue.end for queue in time_of(program).queues for issue in queue[:-1]]
    return max(ends) == schedule.cycles


def row_of(
    network: str, arch: str, operators: Sequence[OperatorReport], simulated: int, *, exact: bool
) -> Row:
    """Return the figures of one network."""
    known = [item for item in operators if item.difference is not None]
    apart = [item for item in known if abs(item.difference or 0.0) > NOTICEABLE]
    worst = max(known, key=lambda item: abs(item.difference or 0.0))
    causes = Counter(str(item.reasons[0]) for item in apart)
    return Row(
        network=network,
        arch=arch,
        operators=len(known),
        exact=exact,
        within=len(known) - len(apart),
        worst=round(100 * (worst.difference or 0.0), 1),
        worst_operator=worst.name,
        reasons=", ".join(f"{count} {cause}" for cause, count in causes.most_common()),
        unknown=causes[str(Cause.UNKNOWN.value)],
        predicted=round(sum(item.cycles_predicted or 0 for item in known) / 1e3, 1),
        simulated=round(simulated / 1e3, 1),
    )


def markdown(rows: Iterable[Row]) -> str:
    """Return the rows as a table."""
    lines = [
        "| network | arch | exact | operators | within 1 % in the run | worst "
        "| others differ by | alone, added up | simulated |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.network} | {row.arch} | {'yes' if row.exact else 'no'} | {row.operators} "
        f"| {row.within} "
        f"| {row.worst:+.1f} % | {row.reasons or '-'} | {row.predicted:,.1f} k "
        f"| {row.simulated:,.1f} k |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write the table, and the rows as ``.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_vs_simulator.md").write_text(markdown(rows), encoding="utf-8")
    write_rows(folder / "model_vs_simulator.csv", Row, rows)


if __name__ == "__main__":
    sys.exit(main())
