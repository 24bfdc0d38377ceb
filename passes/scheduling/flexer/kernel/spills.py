"""Who makes space (Algorithm 2), and the other rules of Table 2.

Args:
    p: The problem.
    s: State of the schedule.
    count: Segments.
    size: Bytes that are needed [byte].
    rule: Which tiles leave first.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Section 4.1.
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from .....ir.compiled import inner, small
from .arrays import (
    END,
    FIRST_FIT,
    FURTHEST,
    LEFT,
    NEVER,
    NEXT,
    PINNED,
    SIZE,
    STAMP,
    TILE,
    ScheduleArrays,
    TilingArrays,
)


@small
def _next_use(s: ScheduleArrays, tile: int) -> int:
    """Return the position in the known order at which a tile is used next."""
    if s.tile[tile, NEXT] >= s.tile[tile, END]:
        return NEVER
    return s.uses[s.tile[tile, NEXT]]


@small
def spill_weight(size: int, left: int, npus: int) -> float:
    """Return what it counts in the priority of a set that a tile leaves (section 4.3) [byte].

    This is the formula as printed. The paper's own sentence, to keep data with a high reuse count
    on chip, and six of seven rows of its Figure 7 take a product instead. Measured, the product
    changes nothing that is taken, and makes what the list scheduler finds worse (docs/flexer.md).

    Args:
        size: Of the tile [byte].
        left: Operations that still use it, one at least.
        npus: Operations of a set.
    """
    return size / min(npus, left)


@inner
def victims(
    p: TilingArrays, s: ScheduleArrays, count: int, size: int, rule: int
) -> tuple[int, int]:
    """Return first and last segment of the run that makes space; -1 where there is none.

    For every start the shortest run of neighbours that is large enough is looked at (Algorithm 2).
    ``BALANCED`` takes the one with the smallest rest, then with the smallest sum of size times
    remaining uses, then with the fewest tiles. ``FIRST_FIT`` takes the first single tile that is
    large enough, else the first run. ``FURTHEST`` takes the run with the fewest bytes of partial
    sums, which would leave and come back, then the one whose soonest use is furthest away, then the
    one that loses the fewest bytes.

    Deviation: the printed algorithm never resets ``pick`` inside its loop, so every longer run
    would replace a better shorter one; it breaks out of the outer loop; its end runs one past the
    list; and it knows only allocated blocks, though free space between them is part of a run. Free
    segments count here as blocks without uses.
    """
    best_low, best_high = -1, -1
    best_a, best_b, best_c = np.inf, np.inf, np.inf
    stamp = s.scalar[STAMP]
    for low in range(count):
        total = 0
        disadvantage, lost, soonest, tiles, dirty = 0, 0, NEVER, 0, 0
        for high in range(low, count):
            tile = s.trial[high, TILE]
            if tile >= 0:
                if s.tile[tile, PINNED] == stamp:
                    break
                disadvantage += s.trial[high, SIZE] * s.tile[tile, LEFT]
                tiles += 1
                if s.tile[tile, LEFT] > 0:
                    lost += s.trial[high, SIZE]
                    if tile >= p.first_acc:
                        dirty += s.trial[high, SIZE]
                if rule == FURTHEST:
                    soonest = min(soonest, _next_use(s, tile))
            total += s.trial[high, SIZE]
            if total < size:
                continue
            if rule == FURTHEST:
                a, b, c = float(dirty), -float(soonest), float(lost)
            elif rule == FIRST_FIT:
                a, b, c = float(high - low), float(low), 0.0
            else:
                a, b, c = float(total - size), float(disadvantage), float(tiles)
            if a < best_a or (a == best_a and (b < best_b or (b == best_b and c < best_c))):
                best_low, best_high = low, high
                best_a, best_b, best_c = a, b, c
            break
    return best_low, best_high


@inner
def smallest(p: TilingArrays, s: ScheduleArrays, count: int) -> int:
    """Return the segment of the smallest tile that may go, -1 if none."""
    best = -1
    for k in range(count):
        tile = s.trial[k, TILE]
        if tile < 0 or s.tile[tile, PINNED] == s.scalar[STAMP]:
            continue
        if best < 0 or s.trial[k, SIZE] < s.trial[best, SIZE]:
            best = k
    return best
