"""Space for the tiles of a set: in place of equals, in free space, then by spilling (section 4.1).

A plan is made on a copy of the map and noted as a list of *takes*: a tile takes a run of segments,
whose tiles leave. It is then carried out, or forgotten.
"""

# pyright: reportArgumentType=false, reportReturnType=false

from .....ir.compiled import inner
from .arrays import (
    APART,
    AT,
    EAGER,
    LEFT,
    PINNED,
    SEGMENTS,
    SIZE,
    SMALL_SPILL,
    SPILLED,
    STAMP,
    TAKES,
    TILE,
    TOUCHED,
    ScheduleArrays,
    TilingArrays,
)
from .scratchpad import best_fit, carve, free_at, in_place, last_fit, reach, soonest
from .spills import smallest, spill_weight, victims
from .timing import dma_free


@inner
def _need(p: TilingArrays, s: ScheduleArrays, count: int) -> int:
    """Pin what a set uses and list the tiles that it misses; return how many."""
    accs = p.finish.shape[0]
    s.scalar[STAMP] += 1
    stamp, needed = s.scalar[STAMP], 0
    for k in range(count):
        for role in range(3):
            tile = p.reads[s.members[k], role]
            if p.resident[tile] or s.tile[tile, PINNED] == stamp:
                continue
            s.tile[tile, PINNED] = stamp
            if s.tile[tile, AT] < 0:
                s.needed[needed] = tile
                needed += 1
        acc = p.reads[s.members[k], 2]
        if s.tile[acc, LEFT] == 1 and not p.resident[acc + accs]:
            s.tile[acc + accs, PINNED] = stamp
            s.needed[needed] = acc + accs
            needed += 1
    return needed


@inner
def _note_take(
    s: ScheduleArrays, tile: int, low: int, high: int, position: int, at_end: int
) -> None:
    """Append to the plan."""
    row = s.take[s.scalar[TAKES]]
    row[0], row[1], row[2], row[3], row[4] = tile, low, high, position, at_end
    s.scalar[TAKES] += 1


@inner
def _is_empty(s: ScheduleArrays, count: int) -> bool:
    """Whether no tile is on chip."""
    used = 0
    for k in range(count):
        used += s.trial[k, TILE] >= 0
    return used == 0


@inner
def _place_free(
    p: TilingArrays, s: ScheduleArrays, count: int, needed: int, eager: bool, apart: bool
) -> tuple[int, int]:
    """Place needed tiles where nobody has to leave: in place of equals first, then best fit.

    If ``eager``, not in place of an equal where other space is free earlier, and then in the space
    that is free first. The space of an equal is often that of the operation just issued; waiting
    for it would leave no space to load ahead. If ``apart``, accumulators take the end of the last
    free space, so that tiles of other sizes, which come and go, lie side by side.

    Returns the number of segments and of tiles that are still without space, which stand at the
    front of ``needed`` then. An empty scratchpad is filled from the start, so that any set fits
    whose sizes do.
    """
    rest, quiet = 0, dma_free(s)
    is_empty = _is_empty(s, count)
    eager = eager and not is_empty
    for k in range(needed):
        tile = s.needed[k]
        low = -1 if is_empty else in_place(s.trial, count, p.size[tile])
        if low >= 0 and eager and s.trial[low, TOUCHED] > quiet:
            other = soonest(s.trial, count, p.size[tile], quiet)
            if free_at(s.trial, other, p.size[tile], quiet) < s.trial[low, TOUCHED]:
                low = -1
        if low < 0:
            s.needed[rest] = tile
            s.position[rest] = k
            rest += 1
            continue
        s.trial[low, TILE] = tile
        _note_take(s, tile, low, low, k, 0)
    needed, rest, high = rest, 0, -1
    first, end = p.first_acc, p.first_acc + p.finish.shape[0]
    for k in range(needed):
        tile = s.needed[k]
        at_end = apart and first <= tile < end
        if at_end:
            low, high = last_fit(s.trial, count, p.size[tile])
        elif eager:
            low = soonest(s.trial, count, p.size[tile], quiet)
        else:
            low = best_fit(s.trial, count, p.size[tile])
        if low < 0 or count + 2 >= s.trial.shape[0]:
            s.needed[rest] = tile
            s.position[rest] = s.position[k]
            rest += 1
            continue
        if not at_end:
            high = reach(s.trial, low, p.size[tile])
        _note_take(s, tile, low, high, s.position[k], at_end)
        count = carve(s.trial, count, low, high, p.size[tile], tile, at_end)
    return count, rest


@inner
def plan_space(
    p: TilingArrays, s: ScheduleArrays, count: int, rule: int
) -> tuple[bool, float, int, int, int]:
    """Work out what the set in ``members`` would do to memory, without doing it.

    Returns whether it fits, the spilled data weighted as in section 4.3, the bytes on chip
    afterwards, the cycles of its memory operations, and the bytes that they move.

    Args:
        p: The problem.
        s: State of the schedule.
        count: Operations of the set.
        rule: Which tiles leave first.
    """
    apart, eager, rule = rule >= APART, rule % APART >= EAGER, rule % EAGER
    segments, accs = s.scalar[SEGMENTS], p.finish.shape[0]
    for k in range(segments):
        for column in range(4):
            s.trial[k, column] = s.segment[k, column]
    s.scalar[TAKES] = 0
    needed = _need(p, s, count)
    overhead, moved = 0, 0
    for k in range(needed):
        tile = s.needed[k]
        if tile < p.first_acc or (tile < p.first_acc + accs and s.tile[tile, SPILLED] >= 0):
            overhead += p.startup + p.xfer[tile]
            moved += p.size[tile]
    segments, rest = _place_free(p, s, segments, needed, eager, apart)
    spilled = 0.0
    for k in range(rest):
        size = p.size[s.needed[k]]
        while True:
            if rule == SMALL_SPILL:
                low = best_fit(s.trial, segments, size)
                if low >= 0:
                    high = low - 1
                else:
                    low = smallest(p, s, segments)
                    high = low
            else:
                low, high = victims(p, s, segments, size, rule)
            if low < 0 or segments + 2 >= s.trial.shape[0]:
                return False, 0.0, 0, 0, 0
            for j in range(low, high + 1):
                tile = s.trial[j, TILE]
                if tile < 0:
                    continue
                s.trial[j, TILE] = -1
                if s.tile[tile, LEFT] > 0:
                    spilled += spill_weight(p.size[tile], s.tile[tile, LEFT], p.latency.shape[1])
                if tile >= p.first_acc and tile < p.first_acc + accs:
                    overhead += p.startup + p.xfer[tile]
                    moved += p.size[tile]
            if rule != SMALL_SPILL or high < low:
                break
            _note_take(s, -1, low, low, 0, 0)
        high = reach(s.trial, low, size)
        _note_take(s, s.needed[k], low, high, s.position[k], 0)
        segments = carve(s.trial, segments, low, high, size, s.needed[k], 0)
    used = 0
    for k in range(segments):
        if s.trial[k, TILE] >= 0:
            used += s.trial[k, SIZE]
    return True, spilled, used, overhead, moved
