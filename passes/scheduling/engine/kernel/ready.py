"""Issue the operations of stripes when they can start, on the engines that are free."""

# pyright: reportArgumentType=false, reportReturnType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner, small
from .arrays import UNIT, TileArrays
from .issue import empty_contents, latest, note

Ints = NDArray[np.int64]

EVEN, LATE, EARLY = map(np.int64, range(3))
"""Which accumulation is next, of several that can start at once: that of the lag of which most of
the turn's work is left; the one that lags most; the one that lags least."""

STEP, LAG, ACCUMULATIONS = range(3)
"""Columns of parts: the turn of the stripes; how many stripes they lag; the first accumulation."""

BEGIN, WORK = range(2)
"""Columns of accumulations: the first operation, and what all take [cycle]."""

NEXT, LEFT, WHOLE_WORK = range(3)
"""Columns of parts under way: the next accumulation; what is left, and what all take [cycle]."""


class Parts(NamedTuple):
    """Accumulations of the same turn of the stripes that lag as much, in their order.

    Attributes:
        parts: By turn, see the columns; behind the last one, where accumulations end
            ``[parts + 1, 3]``.
        accumulations: See the columns; behind the last one, where operations end ``[., 2]``.
        ops: Numbers of the operations ``[.]``.
        cycles: How long each operation takes, by NPU [cycle] ``[ops, npus]``.
    """

    parts: Ints
    accumulations: Ints
    ops: Ints
    cycles: Ints


class ReadyArrays(NamedTuple):
    """An order in the making; every array is mutable.

    Attributes:
        free: When each engine is free [cycle] ``[units, npus]``.
        contents: When they were written, and read [cycle] ``[contents, 2]``.
        left: See the columns ``[parts, 3]``.
        issued: Accumulation and NPU, in the order in which they are issued ``[accumulations, 2]``.
    """

    free: Ints
    contents: Ints
    left: Ints
    issued: Ints


def empty_order(t: TileArrays, p: Parts, units: int) -> ReadyArrays:
    """Return an order in which nothing has been issued.

    Args:
        t: Tiles and operations.
        p: Accumulations.
        units: How many kinds of engines there are.
    """
    return ReadyArrays(
        free=np.zeros((units, t.npus), np.int64),
        contents=empty_contents(t),
        left=np.zeros((len(p.parts) - 1, 3), np.int64),
        issued=np.zeros((len(p.accumulations) - 1, 2), np.int64),
    )


@entry
def run_ready(t: TileArrays, p: Parts, preference: int, r: ReadyArrays) -> int:
    """Issue all accumulations, turn by turn of the stripes; return when the last one ends [cycle].

    Of each turn, those that lag as much keep their order; that one is next which can start first,
    on the NPU that is done with it first.

    Args:
        t: Tiles and operations.
        p: Accumulations.
        preference: Which is next of those that can start at once.
        r: The order, empty.
    """
    first, count = 0, 0
    while first < len(p.parts) - 1:
        last = first
        while last < len(p.parts) - 1 and p.parts[last, STEP] == p.parts[first, STEP]:
            _begin(p, r, last)
            last += 1
        part = _next_part(t, p, preference, r, first, last)
        while part >= 0:
            _issue(t, p, r, part, count)
            count += 1
            part = _next_part(t, p, preference, r, first, last)
        first = last
    latest = 0
    for unit in range(len(r.free)):
        for npu in range(t.npus):
            latest = max(latest, r.free[unit, npu])
    return latest


@small
def _begin(p: Parts, r: ReadyArrays, part: int) -> None:
    """Note what a part has to do."""
    low, high = p.parts[part, ACCUMULATIONS], p.parts[part + 1, ACCUMULATIONS]
    r.left[part, NEXT] = low
    for number in range(low, high):
        r.left[part, LEFT] += p.accumulations[number, WORK]
    r.left[part, WHOLE_WORK] = r.left[part, LEFT]


@inner
def _next_part(
    t: TileArrays, p: Parts, preference: int, r: ReadyArrays, first: int, last: int
) -> int:
    """Return which part of a turn goes on; -1 if all are done.

    Args:
        t: Tiles and operations.
        p: Accumulations.
        preference: Which is next of those that can start at once.
        r: The order so far.
        first: First part of the turn.
        last: Past the last one.
    """
    found, best = np.int64(-1), (np.int64(0), 0.0, np.int64(0))
    for part in range(first, last):
        number, lag = r.left[part, NEXT], p.parts[part, LAG]
        if number == p.parts[part + 1, ACCUMULATIONS]:
            continue
        rank = -r.left[part, LEFT] / max(1, r.left[part, WHOLE_WORK])
        if preference != EVEN:
            rank = float(lag if preference == EARLY else -lag)
        op = p.ops[p.accumulations[number, BEGIN]]
        rating = max(latest(t, r.contents, op), _first_free(r, t.ops[op, UNIT])), rank, lag
        if found < 0 or rating < best:
            found, best = np.int64(part), rating
    return found


@inner
def _first_free(r: ReadyArrays, unit: int) -> int:
    """Return when the first engine of a kind is free [cycle]."""
    found = r.free[unit, 0]
    for npu in range(1, r.free.shape[1]):
        found = min(found, r.free[unit, npu])
    return found


@small
def _issue(t: TileArrays, p: Parts, r: ReadyArrays, part: int, place: int) -> None:
    """Issue the next accumulation of a part, on the NPU that is done first with how it begins.

    Args:
        t: Tiles and operations.
        p: Accumulations.
        r: The order so far.
        part: The part.
        place: How many accumulations have been issued.
    """
    number = r.left[part, NEXT]
    r.left[part, NEXT] += 1
    r.left[part, LEFT] -= p.accumulations[number, WORK]
    low, high = p.accumulations[number, BEGIN], p.accumulations[number + 1, BEGIN]
    npu = _taker(t, p, r, p.ops[low])
    for k in range(low, high):
        _execute(t, p, r, p.ops[k], npu)
    r.issued[place, 0], r.issued[place, 1] = number, npu


@inner
def _taker(t: TileArrays, p: Parts, r: ReadyArrays, op: int) -> int:
    """Return the NPU that would be done with an operation first."""
    ready, free, best = latest(t, r.contents, op), r.free[t.ops[op, UNIT]], 0
    for npu in range(1, t.npus):
        done = max(free[npu], ready) + p.cycles[op, npu], free[npu]
        if done < (max(free[best], ready) + p.cycles[op, best], free[best]):
            best = npu
    return best


@inner
def _execute(t: TileArrays, p: Parts, r: ReadyArrays, op: int, npu: int) -> None:
    """Note when an operation ends that is issued now."""
    unit = t.ops[op, UNIT]
    end = max(r.free[unit, npu], latest(t, r.contents, op)) + p.cycles[op, npu]
    r.free[unit, npu] = end
    note(t, r.contents, op, end)
