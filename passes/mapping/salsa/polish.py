"""Better orders and tiles for a nest that another mapper found."""

from dataclasses import replace

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ....ir.workload import Operand
from ...analysis.cost import evaluate
from ..base import NOTHING_RESIDENT, MapOptions, held_resident
from ..merging import merge_loops
from .engine import SearchOptions, search
from .machine import Problem


def polish(
    nest: LoopNest,
    arch: Architecture,
    *,
    resident: frozenset[Operand] = NOTHING_RESIDENT,
    options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    settings: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
) -> LoopNest:
    """Return a nest with the same unrolling whose order and tiles are at least as good.

    Args:
        nest: Where it comes from; returned itself where nothing better is found.
        arch: The machine, its scratchpad already cut down to the workspace.
        resident: Operands that lie whole in the scratchpad.
        options: Objective and seed.
        settings: Of the search.
    """
    problem = Problem(
        workload=nest.workload,
        arch=arch,
        spatial=nest.spatial,
        extents=nest.extents,
        resident=held_resident(arch, resident),
        objective=options.objective,
        even=options.even,
    )
    before = options.objective.of(evaluate(nest, arch, placement=problem.resident))
    try:
        found = search(problem, replace(settings, seed=options.seed))
    except InfeasibleError:
        return nest
    return merge_loops(found.nest) if found.value < before else nest
