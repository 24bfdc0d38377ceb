"""The even mappings nearest to a nest, for local search to start from."""

from collections.abc import Callable, Sequence

from .....ir.mapping import Loop, LoopNest
from .....ir.workload import RELEVANT, Dim, Operand
from .space import EvenBatch, EvenSpace, even_from_factors, joined


def evened(nest: LoopNest, space: EvenSpace) -> EvenBatch:
    """Return even mappings of the loops and the unrolling of a nest; they need not fit.

    All tiles of a level start where the first of them starts in the nest, or the last.

    Args:
        nest: Any nest of the space's extents.
        space: What is mapped.
    """
    return joined([_evened(nest, space, chosen) for chosen in (min, max)])


def _evened(nest: LoopNest, space: EvenSpace, chosen: Callable[[Sequence[int]], int]) -> EvenBatch:
    starts = _starts(nest, space, chosen)
    temporal: dict[tuple[int, Dim], int] = {}
    stationary: list[Operand] = []
    for level, start, end in zip(
        space.slots, starts, [*starts[1:], len(nest.temporal)], strict=True
    ):
        own = nest.temporal[start:end]
        stationary.append(_stationary(own))
        for loop in own:
            temporal[level, loop.dim] = temporal.get((level, loop.dim), 1) * loop.extent
    spatial = {(loop.fanout, loop.dim): loop.extent for loop in nest.spatial}
    return even_from_factors(space, temporal, spatial, stationary)


def _starts(nest: LoopNest, space: EvenSpace, chosen: Callable[[Sequence[int]], int]) -> list[int]:
    """Return where the loops of each slot start; the outermost has the first loop."""
    starts = [0]
    for level in space.slots[1:]:
        own = [item.start for item in nest.allocations if space.arch.index(item.level) == level]
        starts.append(max(starts[-1], chosen(own) if own else 0))
    return starts


def _stationary(loops: Sequence[Loop]) -> Operand:
    """Return an operand that the innermost of some loops does not index."""
    if not loops:
        return Operand.W
    return next((item for item in Operand if loops[-1].dim not in RELEVANT[item]), Operand.W)
