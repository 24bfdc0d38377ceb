"""Whole programs over the mesh: cycles between the lower bound and the serial sum, and their price.

    python -m benchmarks.noc_programs
    python -m benchmarks.noc_programs --network squeezenet --arch simba-8x8 --image-size 64

Networks of the zoo are compiled with ``--timing network`` and compared with onnxruntime. The table
has the network's lower bound, its cycles where bandwidths alone count, those over the mesh, those
of all instructions one after the other, the energy of the off-chip memory's commands beside the
flat price of its bytes, and the CPU time of both clocks. It is printed and written to
``benchmarks/results``; the exit code is 1 where a program was not verified or its cycles lie
outside of their bounds.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.driver import Result, compile
from accnn.compiler.options import CompileOptions
from accnn.ir.isa.program import Program
from accnn.ir.report import VerificationStatus
from accnn.models.zoo.build import build
from accnn.runtime_sim.timing.events import TimingModel, time_of
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
NETWORKS = ("resnet50", "mobilenetv2", "bert_tiny")
_LOG = logging.getLogger("benchmarks.noc_programs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network over the mesh of one machine.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        lower_bound: Of the network [cycle].
        analytical: Where bandwidths alone count [cycle].
        cycles: Over the mesh [cycle].
        serial: Of all instructions one after the other [cycle].
        commands_uj: Of the off-chip memory's commands [uJ].
        flat_uj: Of the same bytes at the level's price [uJ].
        analytical_seconds: CPU time of the clock without the mesh [s].
        network_seconds: CPU time of the clock with it [s].
        verified: Whether the outputs are onnxruntime's.
    """

    network: str
    arch: str
    lower_bound: int
    analytical: int
    cycles: int
    serial: int
    commands_uj: float
    flat_uj: float
    analytical_seconds: float
    network_seconds: float
    verified: bool

    @property
    def holds(self) -> bool:
        """Whether the program is right, and as long as it can be."""
        return self.verified and self.lower_bound <= self.cycles <= self.serial


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows = [
        measured(network, arch, chosen.image_size)
        for network in chosen.network.split(",")
        for arch in chosen.arch.split(",")
    ]
    write_rows(chosen.output, Row, rows)
    _LOG.info("%s", "\n".join(table(rows)))
    return 0 if all(row.holds for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--network", default=",".join(NETWORKS))
    parser.add_argument("--arch", default="simba")
    parser.add_argument("--image-size", type=int, help="of convolutional networks; the zoo's")
    parser.add_argument("--output", type=Path, default=RESULTS / "noc_programs.csv")
    return parser


def measured(network: str, arch: str, image_size: int | None = None) -> Row:
    """Compile a network and time its program both ways.

    Args:
        network: Name in the zoo.
        arch: Name in the catalogue.
        image_size: Height and width of its images; the zoo's where absent.
    """
    model = build(network) if image_size is None else build(network, image_size=image_size)
    options = CompileOptions(timing=TimingModel.NETWORK)
    result = compile(model, arch=arch, options=options)
    assert result.module.program is not None and result.report.mesh is not None
    seconds = [_seconds(result.module.program, timing) for timing in TimingModel]
    totals, mesh = result.report.totals, result.report.mesh
    return Row(
        network=network,
        arch=arch,
        lower_bound=totals.cycles_lower_bound or 0,
        analytical=mesh.analytical_cycles,
        cycles=mesh.cycles,
        serial=mesh.serial_cycles,
        commands_uj=0.0 if mesh.memory is None else mesh.memory.pj / 1e6,
        flat_uj=_flat_uj(result),
        analytical_seconds=seconds[0],
        network_seconds=seconds[1],
        verified=result.report.verification.status is VerificationStatus.VERIFIED,
    )


def _seconds(program: Program, timing: TimingModel) -> float:
    begun = time.process_time()
    time_of(program, timing=timing)
    return time.process_time() - begun


def _flat_uj(result: Result) -> float:
    """Return what the bytes of off-chip memory cost at the price of its level [uJ]."""
    level = result.arch.off_chip
    own = [item for item in result.report.totals.traffic if item.level == level.name]
    words = 8 / level.word_bits
    read = sum(item.read_bytes for item in own) * words * level.read_energy
    return (read + sum(item.written_bytes for item in own) * words * level.write_energy) / 1e6


def table(rows: Sequence[Row]) -> list[str]:
    """Return the rows as a table of Markdown."""
    return [
        "| network | machine | lower bound | analytical | network | x | serial sum "
        "| DRAM, commands | DRAM, flat | CPU, analytical | CPU, network |",
        "|---|---|" + "---:|" * 9,
        *(
            f"| {row.network} | {row.arch} | {row.lower_bound:,} | {row.analytical:,} "
            f"| {row.cycles:,} | {row.cycles / row.analytical:.2f} | {row.serial:,} "
            f"| {row.commands_uj / 1e3:.2f} mJ | {row.flat_uj / 1e3:.2f} mJ "
            f"| {row.analytical_seconds:.1f} | {row.network_seconds:.1f} |"
            for row in rows
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
