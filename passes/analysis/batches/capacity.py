"""Whether many nests fit; mirrors :meth:`accnn.ir.mapping.LoopNest.verify`."""

import numpy as np

from ....ir.workload import OPERANDS, REDUCTION, Operand
from .counts import Counts
from .nest_batch import Bools, Floats, Ints


def overflow(counts: Counts) -> Floats:
    """Return how far the fullest memory or fan-out is exceeded ``[B]``; 1 fits."""
    batch, arch, worst = counts.batch, counts.arch, memory_overflow(counts)
    for names, limit in (
        *(((fanout.name,), fanout.size) for fanout in arch.fanouts),
        *((group.fanouts, group.limit) for group in arch.groups),
    ):
        worst = np.maximum(worst, batch.unrolled_in(names) / limit)
    first = counts.index.sums[0]
    if Operand.O in counts.placement and len(counts.index.sums) > 1:
        # Finished outputs lie in the scratchpad at their own width: no sums may come back.
        returns = counts.visits[first] > counts.tiles[first]
        worst = np.maximum(worst, np.where(returns, 2.0, 0.0))
    return worst


def memory_overflow(counts: Counts) -> Floats:
    """Return how far the fullest memory is exceeded ``[B]``; 1 fits."""
    worst = np.zeros(len(counts.batch))
    for level in counts.arch.levels:
        if level.usable is None:
            continue
        kept = [item for item in OPERANDS if level.name in counts.batch.levels[item]]
        taken = sum((_bytes(counts, item, level.name) for item in kept), np.zeros_like(worst))
        worst = np.maximum(worst, taken / (level.usable or 0.5))  # a byte is too much for none
    return worst


def _bytes(counts: Counts, operand: Operand, level: str) -> Ints:
    batch = counts.batch
    position = batch.levels[operand].index(level)
    elements = counts.tile(operand, level)
    width: Ints | int = batch.workload.bits(operand)
    if operand is Operand.O:
        partial = _holds_psums(counts, position, level)
        width = np.where(partial, max(width, counts.arch.accumulator_bits), width)
    return -(-(elements * width) // 8)


def _holds_psums(counts: Counts, position: int, level: str) -> Bools:
    """Mirror :meth:`~accnn.ir.mapping.LoopNest.holds_psums`."""
    batch = counts.batch
    starts = batch.starts[Operand.O]
    if position + 1 == starts.shape[1]:
        return np.ones(len(batch), np.bool_)
    above = {fanout.name for fanout in counts.arch.fanouts_above(level)}
    inner, turns = starts[:, position + 1], batch.turns(Operand.O)
    return (turns.visits(inner) > turns.tiles(inner)) | (batch.unrolled_in(above, REDUCTION) > 1)
