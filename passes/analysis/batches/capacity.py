"""Whether many nests fit; mirrors :meth:`accnn.ir.mapping.LoopNest.verify`."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import OPERANDS, REDUCTION, Operand
from ..flows import Chains
from .coefficients import Index
from .counts import Counts
from .nest_batch import Bools, Floats, Ints
from .unrollings import Unrollings


def overflow(counts: Counts) -> Floats:
    """Return how far the fullest memory or fan-out is exceeded ``[B]``; 1 fits."""
    fanouts = _fanout_overflow(counts.batch.unrollings, counts.arch)
    worst = np.maximum(memory_overflow(counts), fanouts[counts.batch.which])
    first = counts.index.sums[0]
    if Operand.O in counts.placement and len(counts.index.sums) > 1:
        # Finished outputs lie in the scratchpad at their own width: no sums may come back.
        returns = counts.visits[first] > counts.tiles[first]
        worst = np.maximum(worst, np.where(returns, 2.0, 0.0))
    return worst


@lru_cache(maxsize=64)
def _fanout_overflow(unrollings: Unrollings, arch: Architecture) -> Floats:
    """Return how far the fullest fan-out is exceeded by each unrolling ``[U]``."""
    worst = np.zeros(len(unrollings))
    for names, limit in (
        *(((fanout.name,), fanout.size) for fanout in arch.fanouts),
        *((group.fanouts, group.limit) for group in arch.groups),
    ):
        worst = np.maximum(worst, unrollings.steps(names) / limit)
    return worst


def memory_overflow(counts: Counts) -> Floats:
    """Return how far the fullest memory is exceeded ``[B]``; 1 fits."""
    kept = _kept(counts.index, tuple(counts.batch.levels[operand] for operand in OPERANDS))
    if not kept.tiles:
        return np.zeros(len(counts.batch))
    bits = [_bits(counts, *tile) for tile in kept.tiles]
    taken = np.add.reduceat(-(-np.array(bits) // 8), kept.first, axis=0)
    worst: Floats = (taken / kept.usable).max(axis=0)
    return worst


@dataclass(frozen=True)
class _Kept:
    """The tiles that lie in memories of limited capacity, memory by memory.

    Attributes:
        tiles: Operand and memory of each.
        first: The first tile of each memory ``[memories]``.
        usable: Capacity of each memory ``[memories, 1]`` [byte].
    """

    tiles: tuple[tuple[Operand, str], ...]
    first: Ints
    usable: Floats


@lru_cache(maxsize=64)
def _kept(index: Index, chains: Chains) -> _Kept:
    """Return the tiles that lie in memories of limited capacity.

    Args:
        index: Of the flows on the machine.
        chains: Memories that keep W, I and O.
    """
    tiles: list[tuple[Operand, str]] = []
    first: list[int] = []
    usable: list[float] = []
    for level in index.table.arch.levels:
        own = [
            (operand, level.name)
            for operand, names in zip(OPERANDS, chains, strict=True)
            if level.name in names
        ]
        if own and level.usable is not None:
            first.append(len(tiles))
            usable.append(level.usable or 0.5)  # a byte is too much for none
            tiles += own
    return _Kept(tuple(tiles), np.array(first, np.int64), np.array(usable)[:, None])


def _bits(counts: Counts, operand: Operand, level: str) -> Ints:
    """Return the bits of a tile in a memory ``[B]``."""
    width: Ints | int = counts.batch.workload.bits(operand)
    if operand is Operand.O:
        partial = _holds_psums(counts, level)
        width = np.where(partial, max(width, counts.arch.accumulator_bits), width)
    return counts.tile(operand, level) * width


def _holds_psums(counts: Counts, level: str) -> Bools:
    """Mirror :meth:`~accnn.ir.mapping.LoopNest.holds_psums`."""
    batch, names = counts.batch, counts.batch.levels[Operand.O]
    if level == names[-1]:
        return np.ones(len(batch), np.bool_)
    above = {fanout.name for fanout in counts.arch.fanouts_above(level)}
    added = (batch.unrollings.steps(above, REDUCTION) > 1)[batch.which]
    inner = names[names.index(level) + 1]
    row = counts.index.row_above.get((Operand.O, inner))
    if row is not None:
        return (counts.visits[row] > counts.tiles[row]) | added
    turns, start = batch.turns(Operand.O), batch.starts[Operand.O][:, names.index(inner)]
    return (turns.visits(start) > turns.tiles(start)) | added
