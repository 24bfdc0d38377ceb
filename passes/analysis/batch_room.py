"""Whether many nests fit; mirrors :meth:`accnn.ir.mapping.LoopNest.verify`."""

import numpy as np

from ...ir.workload import Operand
from .batch_geometry import Geometry
from .batch_stages import RELEVANT_INDEX
from .nest_batch import Bools, Floats, Ints


def overflow(geometry: Geometry) -> Floats:
    """Return how far the fullest memory or fan-out is exceeded ``[B]``; 1 fits."""
    worst = np.zeros(len(geometry.batch))
    for index, level in enumerate(geometry.arch.levels):
        if level.usable is None:
            continue
        taken = np.zeros(len(geometry.batch), np.int64)
        for operand in Operand:
            if level.name in geometry.batch.levels[operand]:
                taken = taken + _bytes(geometry, operand, index)
        worst = np.maximum(worst, taken / (level.usable or 0.5))  # a byte is too much for none
    for names, limit in (
        *(((fanout.name,), fanout.size) for fanout in geometry.arch.fanouts),
        *((group.fanouts, group.limit) for group in geometry.arch.groups),
    ):
        used = geometry.one
        for column, (name, _) in enumerate(geometry.batch.unrolled):
            if name in names:
                used = used * geometry.batch.unrolled_extents[:, column]
        worst = np.maximum(worst, used / limit)
    if Operand.O in geometry.placement and geometry.stages[Operand.O][0].child is not None:
        # Finished outputs lie in the scratchpad at their own width: no sums may come back.
        first = geometry.stages[Operand.O][0]
        worst = np.maximum(worst, np.where(first.visits > first.tiles, 2.0, 0.0))
    return worst


def _bytes(geometry: Geometry, operand: Operand, index: int) -> Ints:
    level = geometry.arch.levels[index].name
    position = geometry.batch.levels[operand].index(level)
    elements = geometry.tile(operand, geometry.batch.starts[operand][:, position], index)
    width: Ints | int = geometry.batch.workload.bits(operand)
    if operand is Operand.O:
        partial = _holds_psums(geometry, position, index)
        width = np.where(partial, max(width, geometry.arch.accumulator_bits), width)
    return -(-(elements * width) // 8)


def _holds_psums(geometry: Geometry, position: int, index: int) -> Bools:
    """Mirror :meth:`~accnn.ir.mapping.LoopNest.holds_psums`."""
    levels = geometry.batch.levels[Operand.O]
    if position + 1 == len(levels):
        return np.ones(len(geometry.batch), np.bool_)
    above = geometry.hops(Operand.O, 0, index).reductions
    relevant = RELEVANT_INDEX[Operand.O][geometry.batch.dims]
    start = geometry.batch.starts[Operand.O][:, position + 1]
    turning = relevant & (geometry.batch.extents > 1)
    place: Ints = np.arange(int(turning.shape[1]), dtype=np.int64)
    outside = place < start[:, None]
    turn = np.where(turning & outside, place + 1, 0).max(axis=1, initial=0)
    reducing = ~relevant & (geometry.batch.extents > 1) & (place < turn[:, None])
    found: Bools = (above > 1) | reducing.any(axis=1)
    return found
