"""Better orders and tiles for a nest that another mapper found."""

from dataclasses import replace

from .....ir.errors import InfeasibleError
from .....ir.mapping import LoopNest
from ...problem import MappingProblem
from ..merging import merge_loops
from .engine import SearchOptions, search
from .machine import UnrolledProblem


def polish(
    nest: LoopNest,
    problem: MappingProblem,
    settings: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
) -> LoopNest:
    """Return a nest with the same unrolling whose order and tiles are at least as good.

    Args:
        nest: Where it comes from; returned itself where nothing better is found.
        problem: What it solves.
        settings: Of the search.
    """
    unrolled = UnrolledProblem(problem=problem, spatial=nest.spatial, extents=nest.extents)
    try:
        found = search(unrolled, replace(settings, seed=problem.seed))
    except InfeasibleError:
        return nest
    return merge_loops(found.nest) if found.value < problem.value(nest) else nest
