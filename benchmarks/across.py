"""Tiles across operators against layer by layer: cycles, bytes, seconds.

    python -m benchmarks.across
    python -m benchmarks.across --network squeezenet --arch flexer-arch8 --tiles static

Both programs are lowered and run; the second one's outputs are compared with onnxruntime's. Rows
are appended to ``benchmarks/results/across.csv``, pairs that stand there are not run again.
Standard error names each row and the CPU seconds that it took: half a minute where tiles are
``static``, a minute or two where ``flexer`` orders them. The table is printed, and written beside
the rows. The exit code is 1 if outputs differ or if a network became slower.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from accnn.backend.lowering.lower import lower
from accnn.compiler.driver import Result, compile, run_program
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.verification.verdict import verify_run
from accnn.compiler.verification.verify import verification_inputs
from accnn.ir.isa.instructions import Unit
from accnn.ir.module import Module
from accnn.ir.report import VerificationStatus
from accnn.models.zoo.build import build
from accnn.passes.base import Context
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross
from accnn.runtime_sim.result import SimulationResult
from benchmarks.rows import append_rows, read_rows

RESULTS = Path(__file__).with_name("results")
IMAGE_SIZES = {"squeezenet": 224, "resnet18": 224, "yolov2": 416, "vgg16": 224}
"""Networks and their input [pixel]."""

ARCHS = ("flexer-arch1", "flexer-arch5", "flexer-arch8", "simba")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        scheduler: Who planned the scratchpad.
        tiles: Who ordered the tiles of each operator.
        verdict: What the comparison with onnxruntime says of the program across operators.
        in_turn: Simulated, layer by layer [cycle].
        across: Simulated, across operators [cycle].
        busiest: Work of the busiest kind of engine over its number: with these tiles no
            schedule is faster [cycle].
        mac_share: Of the time layer by layer, during which MAC arrays work.
        dma_share: Of the time layer by layer, during which DMA channels work.
        bytes_in_turn: Moved off chip layer by layer [byte].
        bytes_across: Moved off chip across operators [byte].
        events: Events of the schedule.
        cpu_seconds: Of the pass [s].
    """

    network: str
    arch: str
    scheduler: str
    tiles: str
    verdict: str
    in_turn: int
    across: int
    busiest: int
    mac_share: float
    dma_share: float
    bytes_in_turn: int
    bytes_across: int
    events: int
    cpu_seconds: float

    @property
    def key(self) -> tuple[str, ...]:
        """What was measured."""
        return self.network, self.arch, self.scheduler, self.tiles


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "across.csv"
    rows = read_rows(path, Row)
    done = {row.key for row in rows}
    keys = product(chosen.network, chosen.arch, (chosen.scheduler,), chosen.tiles)
    todo = [key for key in keys if key not in done]
    for number, key in enumerate(todo, start=1):
        sys.stderr.write(f"{number} of {len(todo)}: {' '.join(key)} ... ")
        sys.stderr.flush()
        begin = time.process_time()
        rows.append(measure(*key))
        append_rows(path, Row, rows[-1:])
        sys.stderr.write(f"{time.process_time() - begin:.0f} s\n")
    text = markdown(rows)
    (chosen.output / "across.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return int(any(row.verdict != "verified" or row.across > row.in_turn for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.across", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = list(IMAGE_SIZES)
    parser.add_argument("--network", nargs="+", choices=names, default=names)
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--scheduler", default="in-order", help="plans the scratchpad")
    parser.add_argument("--tiles", nargs="+", default=["static", "flexer"])
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(network: str, arch: str, scheduler: str, tiles: str) -> Row:
    """Compile one network both ways, simulate and compare."""
    options = CompileOptions(
        mapper="output-stationary", scheduler=scheduler, tiles=tiles, verify=VerifyMode.OFF
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        model = build(network, image_size=IMAGE_SIZES[network])
        path.write_bytes(model.SerializeToString())
        result = compile(path, arch=arch, options=options)
    begin = time.process_time()
    module = ScheduleAcross().run(replace(result.module, program=None), Context())
    seconds = time.process_time() - begin
    before, _ = _run(result, result.module, options)
    after, verdict = _run(result, module, options)
    busy = _work(before)
    return Row(
        network=network,
        arch=arch,
        scheduler=scheduler,
        tiles=tiles,
        verdict=verdict.value,
        in_turn=before.cycles,
        across=after.cycles,
        busiest=max(busy.values()),
        mac_share=busy[Unit.MX] / before.cycles,
        dma_share=busy[Unit.DMA] / before.cycles,
        bytes_in_turn=before.total.off_chip_bytes,
        bytes_across=after.total.off_chip_bytes,
        events=0 if module.tile_schedule is None else len(module.tile_schedule.events),
        cpu_seconds=seconds,
    )


def _run(
    result: Result, module: Module, options: CompileOptions
) -> tuple[SimulationResult, VerificationStatus]:
    """Lower and simulate a module, and compare its outputs."""
    lowered = lower(replace(module, program=None))
    constants = module.constants.with_arrays(lowered.derived)
    whole = replace(module, program=lowered.program, constants=constants)
    inputs = verification_inputs(result.network.model, options.seed, None)
    found = run_program(whole, inputs, result.network.imported.input_names, options)
    return found, verify_run(result.network, found, inputs).status


def _work(run: SimulationResult) -> dict[Unit, int]:
    """Return the cycles of work of each kind of engine, over the number of engines."""
    number: defaultdict[Unit, int] = defaultdict(int)
    for queue in run.program.queues:
        number[queue.unit] += 1
    return {item.unit: -(-item.cycles // number[item.unit]) for item in run.total.busy}


def markdown(rows: Sequence[Row]) -> str:
    """Return the table for people."""
    head = ("network", "machine", "plan", "tiles", "verdict", "layer by layer", "across")
    head += ("faster", "at most", "MAC busy", "DMA busy", "MB", "MB across", "CPU [s]")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * 5}{'---:|' * (len(head) - 5)}"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        *row.key,
        row.verdict,
        str(row.in_turn),
        str(row.across),
        f"{row.in_turn / row.across:.3f}",
        f"{row.in_turn / row.busiest:.3f}",
        f"{row.mac_share:.0%}",
        f"{row.dma_share:.0%}",
        f"{row.bytes_in_turn / 1e6:.2f}",
        f"{row.bytes_across / 1e6:.2f}",
        f"{row.cpu_seconds:.1f}",
    )


if __name__ == "__main__":
    sys.exit(main())
