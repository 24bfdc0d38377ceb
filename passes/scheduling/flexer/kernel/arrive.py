"""Carry out a plan of space: tiles leave, tiles get their space and are brought in."""

# pyright: reportArgumentType=false, reportReturnType=false

from .....ir.compiled import inner
from .arrays import (
    ADDRESS,
    AT,
    BY,
    BYTES_LEFT,
    LAST_TOUCH,
    LOAD,
    READY,
    RETRIEVE,
    SEEN,
    SEGMENTS,
    SPILLED,
    TAKES,
    TILE,
    TOUCHED,
    XFER_LEFT,
    ScheduleArrays,
    TilingArrays,
)
from .leaving import evict
from .scratchpad import carve
from .timing import move


@inner
def _arrive(p: TilingArrays, s: ScheduleArrays, tile: int, touched: int) -> None:
    """Bring a placed tile in, or clear the space of a new one."""
    s.tile[tile, READY] = touched
    s.tile[tile, BY] = -1
    s.tile[tile, LAST_TOUCH] = touched
    if tile < p.first_acc:
        s.tile[tile, READY] = move(p, s, int(LOAD), tile, touched, p.xfer[tile], p.size[tile])
        if not s.tile[tile, SEEN]:
            s.tile[tile, SEEN] = 1
            s.scalar[BYTES_LEFT] -= p.size[tile]
            s.scalar[XFER_LEFT] -= p.xfer[tile]
    elif s.tile[tile, SPILLED] >= 0:
        begin = max(touched, s.tile[tile, SPILLED])
        s.tile[tile, READY] = move(p, s, int(RETRIEVE), tile, begin, p.xfer[tile], p.size[tile])
        s.tile[tile, SPILLED] = -1


@inner
def _carry_out(p: TilingArrays, s: ScheduleArrays, k: int) -> int:
    """Carry out one take; return when its space was last touched."""
    tile, low, high = s.take[k, 0], s.take[k, 1], s.take[k, 2]
    for j in range(low, high + 1):
        if s.segment[j, TILE] >= 0:
            evict(p, s, s.segment[j, TILE])
    if tile < 0:
        return 0
    size, at_end, count = p.size[tile], s.take[k, 4], s.scalar[SEGMENTS]
    s.scalar[SEGMENTS] = carve(s.segment, count, low, high, size, tile, at_end)
    if s.segment[low, TILE] != tile:
        low += 1
    s.tile[tile, AT] = s.segment[low, ADDRESS]
    return s.segment[low, TOUCHED]


@inner
def _is_written_off(p: TilingArrays, s: ScheduleArrays, k: int) -> bool:
    """Whether a take makes a tile leave whose content is nowhere else."""
    count = 0
    for j in range(s.take[k, 1], s.take[k, 2] + 1):
        count += s.segment[j, TILE] >= p.first_acc
    return count > 0


@inner
def _wait_in_line(s: ScheduleArrays, count: int, time: int, tile: int, position: int) -> None:
    """Put a tile whose space is free at a time among the ``count`` that are to be brought in."""
    j = count
    while j > 0 and (
        s.arrival[j - 1, 0] > time
        or (s.arrival[j - 1, 0] == time and s.arrival[j - 1, 2] > position)
    ):
        for column in range(3):
            s.arrival[j, column] = s.arrival[j - 1, column]
        j -= 1
    s.arrival[j, 0], s.arrival[j, 1], s.arrival[j, 2] = time, tile, position


@inner
def make_space(p: TilingArrays, s: ScheduleArrays) -> None:
    """Carry out the plan: give every missing tile its space, and issue spills and loads.

    Where nothing has to be written off, tiles come in by the time at which their space is free.
    """
    waiting = 0
    for k in range(s.scalar[TAKES]):
        tile, is_written_off = s.take[k, 0], _is_written_off(p, s, k)
        if is_written_off:
            for j in range(waiting):
                _arrive(p, s, s.arrival[j, 1], s.arrival[j, 0])
            waiting = 0
        time = _carry_out(p, s, k)
        if tile < 0:
            continue
        if is_written_off:
            _arrive(p, s, tile, time)
        else:
            _wait_in_line(s, waiting, time, tile, s.take[k, 3])
            waiting += 1
    for j in range(waiting):
        _arrive(p, s, s.arrival[j, 1], s.arrival[j, 0])
