"""Networks of the zoo on the machines that count: verified?, cycles, traffic, energy, seconds.

    python -m benchmarks.networks
    python -m benchmarks.networks --network resnet50 --arch simba --image-size 64

The table is printed, and written to ``benchmarks/results/networks.md`` and ``.csv``. The exit code
is 1 if a network could not be verified.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.report import Report, VerificationStatus
from accnn.models.zoo.build import build
from accnn.models.zoo.registry import NETWORKS
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
ARCHS = ("simba", "edge-1m", "flexer-arch5")
CHOSEN = (
    "alexnet",
    "darknet19",
    "mobilenetv2",
    "resnet18",
    "resnet34",
    "resnet50",
    "squeezenet",
    "squeezenet1_1",
    "vgg16",
    "yolov2",
)
"""Networks that are measured where none is named; ``benchmarks.zoo`` compiles all."""

FLOAT = ("mobilenetv2", "edge-fp32")
"""The pair that is measured in floating point, too."""

_FRONT = ("read", "quantise", "import")
_JUDGE = ("simulate", "simulate layers", "verify")
_LOG = logging.getLogger("benchmarks.networks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine; seconds are those of a clock on the wall.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        verdict: What the comparison with onnxruntime says.
        wrong: Elements that differ, of ``elements``.
        elements: Elements compared.
        macs: Multiply-accumulates [10^6].
        cycles_model: Predicted [10^3 cycle].
        cycles_simulated: Counted [10^3 cycle].
        cycles_bound: Roofline [10^3 cycle].
        offchip_mb: Moved to and from off-chip memory [10^6 byte].
        compulsory_mb: Inputs, constants and outputs, once [10^6 byte].
        energy_mj: Simulated [mJ].
        front_s: Reading, quantising and importing [s].
        compile_s: Passes and lowering [s].
        judge_s: Simulation and comparison [s].
    """

    network: str
    arch: str
    verdict: str
    wrong: int
    elements: int
    macs: float
    cycles_model: float
    cycles_simulated: float
    cycles_bound: float
    offchip_mb: float
    compulsory_mb: float
    energy_mj: float
    front_s: float
    compile_s: float
    judge_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows = list(measure(chosen.network, chosen.arch, chosen.image_size, chosen.mapper))
    write(rows, chosen.output)
    sys.stdout.write(markdown(rows))
    return int(any(row.verdict != VerificationStatus.VERIFIED for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.networks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = [network.name for network in NETWORKS]
    parser.add_argument("--network", nargs="+", choices=names, default=list(CHOSEN))
    parser.add_argument("--arch", nargs="+", default=[*ARCHS, FLOAT[1]])
    parser.add_argument("--image-size", type=int, default=224, help="height and width [pixel]")
    parser.add_argument("--mapper", default=CompileOptions().mapper)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def pairs(networks: Iterable[str], archs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield networks with machines; the float machine gets one network only."""
    for network in networks:
        for arch in archs:
            if arch != FLOAT[1] or network == FLOAT[0]:
                yield network, arch


def measure(
    networks: Iterable[str], archs: Sequence[str], image_size: int, mapper: str
) -> Iterator[Row]:
    """Compile, simulate and verify, one row after the other."""
    with tempfile.TemporaryDirectory() as folder:
        for network, arch in pairs(networks, archs):
            path = Path(folder) / f"{network}.onnx"
            if not path.exists():
                path.write_bytes(build(network, image_size=image_size).SerializeToString())
            start = time.perf_counter()
            report = compile(path, arch=arch, options=CompileOptions(mapper=mapper)).report
            row = row_of(network, arch, report)
            yield row
            seconds = time.perf_counter() - start
            _LOG.info("%s on %s: %s, %.1f s", network, arch, row.verdict, seconds)


def row_of(network: str, arch: str, report: Report) -> Row:
    """Return the figures of a report."""
    totals, found = report.totals, report.verification
    seconds = {run.name: run.seconds for run in report.passes}
    front = sum(seconds.get(name, 0.0) for name in _FRONT)
    judge = sum(seconds.get(name, 0.0) for name in _JUDGE)
    return Row(
        network=network,
        arch=arch,
        verdict=found.status.value,
        wrong=found.mismatches,
        elements=found.elements,
        macs=totals.macs / 1e6,
        cycles_model=(totals.cycles_model or 0) / 1e3,
        cycles_simulated=(totals.cycles_simulated or 0) / 1e3,
        cycles_bound=(totals.cycles_lower_bound or 0) / 1e3,
        offchip_mb=(totals.offchip_bytes or 0) / 1e6,
        compulsory_mb=(totals.offchip_bytes_compulsory or 0) / 1e6,
        energy_mj=(totals.energy_pj or 0.0) / 1e9,
        front_s=front,
        compile_s=sum(seconds.values()) - front - judge,
        judge_s=judge,
    )


def markdown(rows: Iterable[Row]) -> str:
    """Return the table for people."""
    names = [item.name for item in fields(Row)]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * 3}{'---:|' * (len(names) - 3)}"]
    lines += [f"| {' | '.join(_cell(value) for value in asdict(row).values())} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: str | float) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write the table as Markdown and CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "networks.md").write_text(markdown(rows), encoding="utf-8")
    write_rows(folder / "networks.csv", Row, rows)


if __name__ == "__main__":
    sys.exit(main())
