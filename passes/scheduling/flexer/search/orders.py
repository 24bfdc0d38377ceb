"""Orders that no loop nest has: blocks of accumulations, walked to and fro.

``npus = across K times across positions`` operations of a set share tiles in two directions. A
*block* of sets accumulates at a time, so that an input serves several weights and a weight several
inputs while both are there. Every loop turns back at its end, and starts with the tiles that are
still on chip. Such orders are where the out-of-order search starts beside its list scheduler.

References:
    Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication. ACM TOMS 34(3), 2008
    (blocks of accumulators).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .....ir.workload import Dim
from ..bounds import Bound
from ..kernel.arrays import Ints
from ..problem import TimedTiling
from ..tilings import Tiling

_GROWTH = (1, 2, 4)
_MOST_SETS = 4
"""Sets of a block at most; more accumulators than these rarely fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOrder:
    """A pattern of blocks.

    Attributes:
        across: NPUs side by side along ``K``; the others along positions.
        channels: Tiles of ``K`` in a block.
        positions: Tiles of ``P`` and ``Q`` in a block.
        channels_outside: Whether blocks follow each other along positions first.
    """

    across: int
    channels: int
    positions: int
    channels_outside: bool


def block_orders(tiling: Tiling, npus: int) -> Iterator[BlockOrder]:
    """Yield the distinct patterns that suit a tiling."""
    trips = tiling.trips
    most, spots = trips[Dim.K], trips[Dim.P] * trips[Dim.Q]
    found: dict[tuple[int, int, int], None] = {}
    for across in range(1, npus + 1):
        along = npus // across
        if across > most or along > spots or (along + 1) * across <= npus:
            continue
        for grow in _GROWTH:
            for rise in _GROWTH:
                if grow * rise <= _MOST_SETS:
                    key = across, min(most, grow * across), min(spots, rise * along)
                    found[key] = None
    for across, channels, positions in found:
        for outside in (False, True):
            if outside and (channels == most or positions == spots):
                continue
            yield BlockOrder(
                across=across,
                channels=channels,
                positions=positions,
                channels_outside=outside,
            )


def in_blocks(tiling: Tiling, pattern: BlockOrder, npus: int) -> tuple[Ints, Ints]:
    """Return canonical numbers of the operations in the order of a pattern, and the sets.

    Args:
        tiling: The operations.
        pattern: The pattern.
        npus: How many.
    """
    trips, index = tiling.trips, tiling.indices
    along = npus // pattern.across
    k, c = index[Dim.K], index[Dim.C]
    s = index[Dim.P] * trips[Dim.Q] + index[Dim.Q]
    block = _to_and_fro(
        *(
            (k // pattern.channels, s // pattern.positions)
            if pattern.channels_outside
            else (s // pattern.positions, k // pattern.channels)
        )
    )
    step = np.where(block % 2, trips[Dim.C] - 1 - c, c)
    inside = _to_and_fro(k % pattern.channels // pattern.across, s % pattern.positions // along)
    inside = np.where((block + step) % 2, inside.max(initial=0) - inside, inside)
    keys = (index[Dim.G], index[Dim.N], block, step, inside)
    order = np.lexsort((s, k, *keys[::-1])).astype(np.int64)
    ranks = np.stack(keys)[:, order]
    starts = np.flatnonzero(np.any(ranks[:, 1:] != ranks[:, :-1], axis=0)) + 1
    return order, np.diff(np.concatenate([[0], starts, [len(order)]])).astype(np.int64)


def _to_and_fro(outer: Ints, inner: Ints) -> Ints:
    """Return one number for two nested loops whose inner one turns back at its end."""
    width = int(inner.max(initial=0)) + 1
    return outer * width + np.where(outer % 2, width - 1 - inner, inner)


def estimate(timing: TimedTiling, pattern: BlockOrder) -> Bound | None:
    """Return about what a pattern takes, ``None`` where its accumulators do not fit.

    Weights come once per block of positions, inputs once per block of channels. Where tiles of the
    next set do not fit beside those of this one, transfers and work do not overlap.
    """
    tiling, arch, problem = timing.tiling, timing.site.arch, timing.problem
    trips, size = tiling.trips, tiling.tile_bytes
    inputs, weights, accs = tiling.counts
    npus = timing.latency.shape[1]
    along = npus // pattern.across
    x, w = int(size[0]), int(size[inputs])
    sums, out = int(size[inputs + weights]), int(size[-1])
    spots = trips[Dim.P] * trips[Dim.Q]
    held = pattern.channels * pattern.positions * sums
    once = pattern.across * w + along * x
    if held + once > problem.capacity:
        return None
    turns = -(-spots // pattern.positions) * trips[Dim.N]
    again = -(-trips[Dim.K] // pattern.channels)
    moved = (
        turns * int(size[inputs : inputs + weights].sum())
        + again * int(size[:inputs].sum())
        + int(size[-accs:].sum())
    )
    sets = trips[Dim.G] * trips[Dim.N] * trips[Dim.C]
    sets *= -(-trips[Dim.K] // pattern.across) * -(-spots // along)
    work = sets * int(timing.latency.max())
    bandwidth = arch.off_chip.read_bandwidth
    moving = 0 if bandwidth is None else int(moved / bandwidth)
    if held + once + npus * out + pattern.across * w + along * x > problem.capacity:
        return Bound(work + moving, moved)
    return Bound(max(work, moving), moved)
