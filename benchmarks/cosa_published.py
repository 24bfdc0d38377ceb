"""CoSA's published program under every reading of it: matrix B, weights, and what bounds latency.

    python -m benchmarks.cosa_published
    python -m benchmarks.cosa_published --layers 4 --nodes 20

ResNet-50's layers on ``simba``, evenly picked. *B*: which tensors the loops of the network's level
make move again in eq. (9): all (as ``cosa-paper`` does), those of the machine's file (Table IV:
inputs and outputs), those of the authors' talk (weights and inputs). *Weights* of eq. (12): one,
or those that serve two small workloads best. The same nests are judged with all ports of the
machine, and with off-chip bandwidth alone, in Timeloop's counting, which is nearest to the paper's
platform. Beside them stand the best of five random mappings and Timeloop's hybrid search, which
minimise what they are judged by; also with threads that end after 10 mappings or one in vain: where
equal orders count, as in Timeloop, 500 are in vain within a factorisation or two. Geometric means
of latency over the lower bound.

References:
    Q. Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators.
    ISCA 2021, sections III-D and V-B.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from accnn.backend.load import load_architecture
from accnn.compiler.layers.read import read_layers
from accnn.compiler.mapping.solve import solve_all
from accnn.compiler.stores.mappings import MapJob, MappingCache
from accnn.compiler.stores.store import default_folder
from accnn.ir.arch import Architecture
from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.cost import Counting, evaluate
from accnn.passes.mapping.certificate.paper import PaperWeights, kept_at_network
from accnn.passes.mapping.mapper import Mapper, MappingResult
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.cosa_paper import CosaPaper, calibrated_weights
from accnn.passes.mapping.recipes.timeloop_hybrid import TimeloopHybrid
from accnn.passes.mapping.registry import find_mapper

from .cosa import LAYERS, geomean, only_off_chip

MICRO = (Workload(R=3, S=3, P=7, Q=7, C=32, K=32), Workload(P=14, Q=14, C=64, K=64))
"""Small layers that the weights are found by."""
BASELINES: Mapping[str, Mapper] = {
    "random": find_mapper("random"),
    "timeloop-hybrid": TimeloopHybrid(),
    "the same, 10 in vain": TimeloopHybrid(victory=10),
    "the same, 1 in vain": TimeloopHybrid(victory=1),
    "cosa": find_mapper("cosa"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Geometric means of one way to map.

    Attributes:
        name: Which way.
        ports: Latency over its bound, all ports of the machine.
        off_chip: The same with off-chip bandwidth alone, in Timeloop's counting.
        proven: Layers whose program was proven optimal, or ``-``.
    """

    name: str
    ports: float
    off_chip: float
    proven: str = "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.cosa_published", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--layers", type=int, default=24, help="how many of ResNet-50's [24]")
    parser.add_argument("--nodes", type=int, default=50, help="of each program [50]")
    parser.add_argument("--readings", type=int, default=6, help="how many of the six rows [6]")
    chosen = parser.parse_args(arguments)
    arch = load_architecture("simba")
    workloads = _picked(chosen.layers)
    rows = [_baseline(name, mapper, workloads, arch) for name, mapper in BASELINES.items()]
    for name, mapper in islice(_readings(arch, chosen.nodes), chosen.readings):
        rows.append(_judged(name, _solved(mapper, workloads, arch), arch))
    sys.stdout.write(_text(rows, len(workloads)))
    return 0


def _picked(count: int) -> list[Workload]:
    own = [item.workload for item in read_layers(LAYERS) if item.name.startswith("resnet50/")]
    own = list(dict.fromkeys(own))
    return own[:: max(1, len(own) // count)][:count]


def _readings(arch: Architecture, nodes: int) -> Iterator[tuple[str, CosaPaper]]:
    """Yield the ways to read the program; weights are found for each matrix by itself."""
    matrices = {
        "all": None,
        "machine": kept_at_network(arch),
        "talk": (Operand.W, Operand.I),
    }
    for name, moved in matrices.items():
        yield f"B: {name}, weights 1", CosaPaper(nodes=nodes, seconds=3600.0, moved=moved)
    for name, moved in matrices.items():
        small = CosaPaper(nodes=20, seconds=3600.0, gap=0.05, moved=moved)
        found = calibrated_weights(arch, MICRO, mapper=small)
        yield (
            f"B: {name}, {_shown(found)}",
            CosaPaper(nodes=nodes, seconds=3600.0, moved=moved, weights=found),
        )


def _shown(weights: PaperWeights) -> str:
    return f"weights {weights.utilization:g}, {weights.compute:g}, {weights.traffic:g}"


def _solved(
    mapper: Mapper, workloads: Sequence[Workload], arch: Architecture
) -> list[MappingResult]:
    problems = (MappingProblem(workload=work, arch=arch) for work in workloads)
    jobs = [MapJob(problem, mapper) for problem in problems]
    answers = solve_all(jobs, MappingCache(default_folder()))
    found = [answer for answer in answers if isinstance(answer, MappingResult)]
    if len(found) < len(jobs):
        raise AssertionError(f"{mapper.name} maps {len(found)} of {len(jobs)} layers")
    return found


def _baseline(
    name: str, mapper: Mapper, workloads: Sequence[Workload], arch: Architecture
) -> Judged:
    ported = _solved(mapper, workloads, arch)
    free = only_off_chip(arch)
    return Judged(
        name=name,
        ports=_over_bound(ported, arch, Counting.ACCNN),
        off_chip=_over_bound(_solved(mapper, workloads, free), free, Counting.TIMELOOP),
    )


def _judged(name: str, found: Sequence[MappingResult], arch: Architecture) -> Judged:
    proven = sum(not item.note.endswith("not proven") for item in found)
    return Judged(
        name=name,
        ports=_over_bound(found, arch, Counting.ACCNN),
        off_chip=_over_bound(found, only_off_chip(arch), Counting.TIMELOOP),
        proven=f"{proven} of {len(found)}",
    )


def _over_bound(found: Sequence[MappingResult], arch: Architecture, counting: Counting) -> float:
    costs = [evaluate(item.nest, arch, counting=counting) for item in found]
    return geomean(cost.cycles / cost.cycles_lower_bound for cost in costs)


def _text(rows: Sequence[Judged], layers: int) -> str:
    random, hybrid = rows[0], rows[1]
    lines = [
        f"# The published program, {layers} layers of ResNet-50 on simba",
        "",
        "| mapping | all ports | over random | over hybrid | off chip | off chip: over random "
        "| off chip: over hybrid | proven |",
        "|---|" + "---:|" * 7,
    ]
    for row in rows:
        values = (
            *(row.ports, random.ports / row.ports, hybrid.ports / row.ports),
            *(row.off_chip, random.off_chip / row.off_chip, hybrid.off_chip / row.off_chip),
        )
        shown = " | ".join(f"{value:.2f}" for value in values)
        lines.append(f"| {row.name} | {shown} | {row.proven} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
