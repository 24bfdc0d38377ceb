"""ResNet-50 on a thread block of an NVIDIA K80, as CoSA's section V-D: mapped, not run.

    python -m benchmarks.gpu
    python -m benchmarks.gpu --layers 4 --check 2

Nothing runs on a GPU. Each layer, at 32 bits as in the paper, is mapped by ``cosa``, by the
published program (``cosa-paper``) and as a *tiled default*: a block of 32 channels by 32 positions,
as many input channels in shared memory as fit, one output a thread. What is shown is the cost
model's: latency over its bound, bytes off chip and of the second-level memory, threads of a block
over the 1024 that it may have, bytes of shared memory; and the CPU seconds of the mapper. A nest is
*valid* where the machine's limits hold and a CUDA kernel can be written from it. ``--check`` builds
the kernels of so many layers, the smallest first, as C and compares every element with NumPy.

References:
    Q. Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators.
    ISCA 2021, section V-D.
"""

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import Layer, read_layers
from accnn.compiler.mapping.solve import solve_all
from accnn.compiler.stores.mappings import MapJob, MappingCache
from accnn.compiler.stores.store import default_folder
from accnn.ir.arch import Architecture
from accnn.ir.errors import AccnnError
from accnn.ir.mapping import Loop, LoopNest, SpatialLoop, even_nest
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import CostReport, evaluate
from accnn.passes.mapping.cuda.kernel import write_cuda_kernel
from accnn.passes.mapping.mapper import MappingResult
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.cosa_paper import CosaPaper
from accnn.passes.mapping.registry import find_mapper

from .cosa import LAYERS, geomean
from .gpu_check import COMPILER, is_right

_SIDE = 32
"""Channels, and positions, of a block of the tiled default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """One layer, mapped in one way.

    Attributes:
        layer: The layer.
        nest: Its loops.
        cost: What the cost model says.
        seconds: CPU time of the mapper [s].
        kernel: Text of its kernel; empty where none can be written.
    """

    layer: Layer
    nest: LoopNest
    cost: CostReport
    seconds: float
    kernel: str

    @property
    def threads(self) -> int:
        """Of a block."""
        return math.prod(loop.extent for loop in self.nest.spatial)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 where a nest is not valid, or its numbers are wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--layers", type=int, default=24, help="how many of ResNet-50's [24]")
    parser.add_argument("--nodes", type=int, default=50, help="of each published program [50]")
    parser.add_argument("--check", type=int, default=3, help="layers whose kernels are run [3]")
    chosen = parser.parse_args(arguments)
    arch = load_architecture("gpu-k80")
    layers = _picked(chosen.layers)
    ways = {
        "cosa": _solved(layers, arch, None),
        "cosa-paper": _solved(layers, arch, CosaPaper(nodes=chosen.nodes, seconds=3600.0)),
        "tiled default": [_mapped(layer, tiled(layer.workload, arch), arch) for layer in layers],
    }
    sys.stdout.write(_text(ways, arch))
    wrong = list(_wrong(ways, chosen.check)) if COMPILER else []
    checked = min(chosen.check, len(layers)) if COMPILER else 0
    told = (
        f"{checked} layers, {3 * checked} kernels built as C; wrong: {', '.join(wrong) or 'none'}"
    )
    sys.stdout.write(f"\n{told}\n")
    lost = any(not item.kernel for found in ways.values() for item in found)
    return int(bool(wrong) or lost)


def _picked(count: int) -> list[Layer]:
    """Return evenly picked distinct layers, 32 bits wide."""
    own = {item.workload: item for item in read_layers(LAYERS) if item.name.startswith("resnet50/")}
    every = list(own.values())
    return [
        Layer(
            item.name,
            replace(item.workload, weight_bits=32, input_bits=32, output_bits=32, psum_bits=32),
        )
        for item in every[:: max(1, len(every) // count)][:count]
    ]


def _solved(layers: Sequence[Layer], arch: Architecture, mapper: CosaPaper | None) -> list[Mapped]:
    chosen = mapper or find_mapper("cosa")
    jobs = [MapJob(MappingProblem(workload=layer.workload, arch=arch), chosen) for layer in layers]
    answers = solve_all(jobs, MappingCache(default_folder()))
    return [
        _mapped(layer, answer.nest, arch, answer.cpu_seconds)
        for layer, answer in zip(layers, answers, strict=True)
        if isinstance(answer, MappingResult)
    ]


def _mapped(layer: Layer, nest: LoopNest, arch: Architecture, seconds: float = 0.0) -> Mapped:
    nest.verify(arch)
    try:
        kernel = write_cuda_kernel(nest, arch)
    except AccnnError as error:
        sys.stderr.write(f"{layer.name}: {error}\n")
        kernel = ""
    return Mapped(layer=layer, nest=nest, cost=evaluate(nest, arch), seconds=seconds, kernel=kernel)


def tiled(workload: Workload, arch: Architecture) -> LoopNest:
    """Return the tiled default: one output a thread, input channels of a tile in shared memory.

    Args:
        workload: Without groups.
        arch: A block of threads.
    """
    channels = min(_SIDE, workload.K)
    columns = min(_SIDE, workload.Q)
    rows = min(_SIDE // columns, workload.P)
    spatial = [
        SpatialLoop(Dim.K, channels, "thread_x"),
        SpatialLoop(Dim.Q, columns, "thread_y"),
        SpatialLoop(Dim.P, rows, "thread_z"),
    ]
    sizes = {Dim.K: channels, Dim.Q: columns, Dim.P: rows}
    outer = [
        Loop(dim, -(-workload.dims[dim] // size)) for dim, size in (*sizes.items(), (Dim.N, 1))
    ]
    taps = [Loop(Dim.R, workload.R), Loop(Dim.S, workload.S)]
    usable = arch.level("smem").usable or 0
    depth = workload.C
    while True:
        tile = {**sizes, Dim.R: workload.R, Dim.S: workload.S, Dim.C: depth}
        taken = sum(workload.elements(operand, tile) * 4 for operand in (Operand.W, Operand.I))
        if taken <= usable:
            break
        depth = -(-depth // 2)
    loops = {
        "dram": outer,
        "gb": [Loop(Dim.C, -(-workload.C // depth))],
        "smem": [Loop(Dim.C, depth), *taps],
    }
    nest = even_nest(workload, arch, loops, spatial)
    sums_from = len([loop for loop in outer if loop.extent > 1])
    kept = tuple(
        replace(item, start=sums_from) if (item.operand, item.level) == (Operand.O, "reg") else item
        for item in nest.allocations
    )
    return replace(nest, allocations=kept)


def _wrong(ways: dict[str, list[Mapped]], count: int) -> Sequence[str]:
    """Return the names of kernels of the smallest layers that compute something else."""
    found: list[str] = []
    for name, mapped in ways.items():
        for item in sorted(mapped, key=lambda one: one.layer.workload.macs)[:count]:
            with tempfile.TemporaryDirectory() as folder:
                if not is_right(item.kernel, item.layer.workload, Path(folder)):
                    found.append(f"{item.layer.name} by {name}")
    return found


def _text(ways: dict[str, list[Mapped]], arch: Architecture) -> str:
    usable = arch.level("smem").usable or 0
    lines = [
        f"# ResNet-50 on {arch.name}: mapped, not run on a GPU",
        "",
        "| mapping | layers | valid | over the bound | worst | of the default's latency "
        "| off chip MB | second level MB | threads of 1024 | shared memory | median s | most s |",
        "|---|" + "---:|" * 11,
    ]
    plain = {item.layer.name: item.cost.cycles for item in ways["tiled default"]}
    for name, found in ways.items():
        ratios = [item.cost.cycles / item.cost.cycles_lower_bound for item in found]
        gains = [item.cost.cycles / plain[item.layer.name] for item in found]
        filled = statistics.fmean(item.threads / 1024 for item in found)
        held = statistics.fmean(
            sum(taken for _, taken in item.nest.bytes_at(arch, "smem")) / usable for item in found
        )
        seconds = [item.seconds for item in found]
        valid = sum(bool(item.kernel) for item in found)
        cells = (
            f"{len(found)} | {valid} | {geomean(ratios):.3f} | {max(ratios):.2f} "
            f"| {geomean(gains):.3f} | {_moved(found, 'dram'):.1f} | {_moved(found, 'gb'):.1f} "
            f"| {filled:.0%} | {held:.0%} | {statistics.median(seconds):.2f} | {max(seconds):.2f}"
        )
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def _moved(found: Sequence[Mapped], level: str) -> float:
    """Return what all layers read and write at a level [MB]."""
    own = (part for item in found for part in item.cost.traffic if part.place == level)
    return sum(part.bits for part in own) / 8e6


if __name__ == "__main__":
    sys.exit(main())
