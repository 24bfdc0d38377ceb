"""Issue the operations of tiles: as accumulations, dealt out to NPUs in turn.

A *turn* is one operation, or the last one that adds to sums, what finishes these, and what goes on
with that at once. An *accumulation* is all turns of the same sums::

    operation            turn    accumulation
    x0 += a                 0               0
    x0 += b; y0 = x0        1               0
    x1 += a                 2               1
    x1 += b; y1 = x1        3               1
"""

# pyright: reportArgumentType=false, reportReturnType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner
from .arrays import (
    ADDS,
    CELL,
    FINISHES,
    FIRST,
    FIRST_WRITTEN,
    INNER,
    KIND,
    LAST,
    LAST_WRITTEN,
    NPU,
    OPS,
    OUT,
    READS,
    ROLLS,
    TENSOR,
    TILE,
    TILES,
    UNIT,
    IssueOrder,
    TileArrays,
)

Ints = NDArray[np.int64]

FROM_FIRST, ON, ON_BY_UNIT = map(np.int64, range(3))
"""Which NPUs get accumulations that are too few for all of them: the first ones; those after the
last one that got work; those after the last one that got work for the same unit."""

WRITER, TAKER = range(2)
TILE_COLUMNS = 2
"""Columns of what is known of tiles: the operation that alone writes it, or -1; the tile that all
operations write which read it, those aside that add to sums, or -1."""

WRITTEN, READ = range(2)
CONTENT_COLUMNS = 2
"""Columns of contents: when, or by which batch of accumulations, they were last written, and read.
"""


class Accumulations(NamedTuple):
    """Operations as turns, and these as accumulations, all in the order in which they begin.

    Attributes:
        ops: Numbers of the operations, turn by turn ``[.]``.
        turns: Of each turn the first of its operations; behind the last one, where they end
            ``[turns + 1]``.
        members: Numbers of the turns, accumulation by accumulation ``[turns]``.
        begins: Of each accumulation the first of its turns; behind the last one, where they end
            ``[accumulations + 1]``.
    """

    ops: Ints
    turns: Ints
    members: Ints
    begins: Ints


@entry
def find_turns(t: TileArrays, order: Ints, tiles: Ints, last: Ints, found: Ints) -> int:
    """Note of each operation its turn, and of each turn its accumulation; return how many turns.

    Args:
        t: Tiles and operations.
        order: Numbers of the operations, in their order.
        tiles: Is written to: what is known of them, see the columns ``[tiles, 2]``.
        last: Is written to: the last turn of the sums in each tile, or -1 ``[tiles]``.
        found: Is written to: the turn of each operation of the order, and the accumulation of each
            turn ``[2, order]``.
    """
    _note_hands(t, order, tiles)
    turn_of = np.full(len(t.ops) - 1, -1, np.int64)
    turn, turns, accumulations = np.int64(-1), 0, 0
    last[:] = -1
    for place, op in enumerate(order):
        if not _goes_on(t, tiles, turn_of, op, turn):
            sums = t.ops[op, OUT] if t.ops[op, ADDS] else np.int64(-1)
            if t.ops[op, FINISHES]:
                turn = last[t.reads[t.ops[op, READS], TILE]]
            else:
                turn = np.int64(turns)
                turns += 1
                if sums >= 0 and last[sums] >= 0:
                    found[1, turn] = found[1, last[sums]]
                else:
                    found[1, turn] = accumulations
                    accumulations += 1
                if sums >= 0:
                    last[sums] = turn
        turn_of[op] = found[0, place] = turn
    return turns


@inner
def _note_hands(t: TileArrays, order: Ints, tiles: Ints) -> None:
    """Note who alone writes each tile, and which tile is made of it."""
    missing, several = -1, -2
    for tile in range(len(tiles)):
        tiles[tile, WRITER] = tiles[tile, TAKER] = missing
    for op in order:
        out = t.ops[op, OUT]
        tiles[out, WRITER] = op if tiles[out, WRITER] == missing else several
        if t.ops[op, ADDS]:
            continue
        for k in range(t.ops[op, READS], t.ops[op + 1, READS]):
            read = t.reads[k, TILE]
            same = tiles[read, TAKER] == missing or tiles[read, TAKER] == out
            tiles[read, TAKER] = out if same else several


@inner
def _goes_on(t: TileArrays, tiles: Ints, turn_of: Ints, op: int, turn: int) -> bool:
    """Whether an operation takes up all that one of the turn before it has made.

    If several make different tiles of it, as the rows of a softmax of their sums, all of these
    would be needed at once: then none goes on.
    """
    if turn < 0 or t.ops[op, ADDS]:
        return False
    for k in range(t.ops[op, READS], t.ops[op + 1, READS]):
        read = t.reads[k, TILE]
        writer = tiles[read, WRITER]
        if t.tiles[read, KIND] != INNER or writer < 0:
            continue
        if turn_of[writer] == turn and tiles[read, TAKER] == t.ops[op, OUT]:
            return True
    return False


@entry
def deal_out(
    t: TileArrays, a: Accumulations, dealing: int, contents: Ints, dealt: Ints, issued: Ints
) -> None:
    """Deal accumulations out to NPUs, interleaved where they run side by side.

    Args:
        t: Tiles and operations.
        a: The accumulations.
        dealing: Which NPUs get those that are too few for all.
        contents: Is written to; zeros, see the columns ``[contents, 2]``.
        dealt: Is written to: how many accumulations were dealt out, by unit; zeros ``[units]``.
        issued: Is written to: turn and NPU, in the order in which they are issued ``[turns, 2]``.
    """
    first, batch, count = 0, 1, 0
    for number in range(len(a.begins) - 1):
        if number - first == t.npus or _meets(t, a, contents, number, batch):
            count = _issue(t, a, dealing, dealt, issued, first, number, count)
            first, batch = number, batch + 1
        _note_batch(t, a, contents, number, batch)
    _issue(t, a, dealing, dealt, issued, first, len(a.begins) - 1, count)


@inner
def _meets(t: TileArrays, a: Accumulations, contents: Ints, number: int, batch: int) -> bool:
    """Whether an accumulation cannot run beside those of a batch.

    It reads what one of these writes, or writes where rows lie that one of these reads.
    """
    for place in a.members[a.begins[number] : a.begins[number + 1]]:
        for op in a.ops[a.turns[place] : a.turns[place + 1]]:
            if latest(t, contents, op) == batch:
                return True
    return False


@inner
def _note_batch(t: TileArrays, a: Accumulations, contents: Ints, number: int, batch: int) -> None:
    """Note what an accumulation writes and reads."""
    for place in a.members[a.begins[number] : a.begins[number + 1]]:
        for op in a.ops[a.turns[place] : a.turns[place + 1]]:
            note(t, contents, op, batch)


def empty_contents(t: TileArrays) -> Ints:
    """Return contents that nobody has touched.

    They are what operations hand on: tiles, then resident tensors, then cells, which are the rows
    of tiles that roll.

    Args:
        t: Tiles and operations.
    """
    contents = len(t.tiles) + len(t.tensors) + t.cell_count
    return np.zeros((contents, CONTENT_COLUMNS), np.int64)


@inner
def _content(t: TileArrays, tile: int) -> int:
    """Return the content of a tile that does not roll: its tensor's, if that is resident."""
    tensor = t.tiles[tile, TENSOR]
    return tile if tensor < 0 else len(t.tiles) + tensor


@inner
def latest(t: TileArrays, contents: Ints, op: int) -> int:
    """Return when what an operation reads was written, and what it writes over was read, at last.

    Args:
        t: Tiles and operations.
        contents: What was noted.
        op: The operation.
    """
    found, begin = 0, len(t.tiles) + len(t.tensors)
    for k in range(t.ops[op, READS], t.ops[op + 1, READS]):
        tile = t.reads[k, TILE]
        if t.tiles[tile, ROLLS] == 0:
            found = max(found, contents[_content(t, tile), WRITTEN])
            continue
        for cell in t.cells[t.reads[k, FIRST] : t.reads[k, LAST]]:
            found = max(found, contents[begin + cell, WRITTEN])
    out = t.tiles[t.ops[op, OUT]]
    if out[ROLLS]:
        for cell in t.cells[t.ops[op, FIRST_WRITTEN] : t.ops[op, LAST_WRITTEN]]:
            if cell - out[ROLLS] >= out[CELL]:
                found = max(found, contents[begin + cell - out[ROLLS], READ])
    return found


@inner
def note(t: TileArrays, contents: Ints, op: int, time: int) -> None:
    """Note what an operation writes, and what it reads of tiles that roll.

    Args:
        t: Tiles and operations.
        contents: What was noted; is written to.
        op: The operation.
        time: When, or in which batch.
    """
    begin, out = len(t.tiles) + len(t.tensors), t.ops[op, OUT]
    if t.tiles[out, ROLLS]:
        for cell in t.cells[t.ops[op, FIRST_WRITTEN] : t.ops[op, LAST_WRITTEN]]:
            contents[begin + cell, WRITTEN] = max(contents[begin + cell, WRITTEN], time)
    else:
        content = _content(t, out)
        contents[content, WRITTEN] = max(contents[content, WRITTEN], time)
    for k in range(t.ops[op, READS], t.ops[op + 1, READS]):
        if t.tiles[t.reads[k, TILE], ROLLS]:
            for cell in t.cells[t.reads[k, FIRST] : t.reads[k, LAST]]:
                contents[begin + cell, READ] = max(contents[begin + cell, READ], time)


@inner
def _issue(
    t: TileArrays,
    a: Accumulations,
    dealing: int,
    dealt: Ints,
    issued: Ints,
    first: int,
    last: int,
    count: int,
) -> int:
    """Issue the turns of accumulations that run side by side, in turn; return how many are issued.

    Args:
        t: Tiles and operations.
        a: The accumulations.
        dealing: Which NPUs get those that are too few for all.
        dealt: How many accumulations were dealt out, by unit.
        issued: Turn and NPU so far.
        first: The first accumulation.
        last: Past the last one.
        count: How many turns were issued before.
    """
    longest = 0
    for number in range(first, last):
        longest = max(longest, a.begins[number + 1] - a.begins[number])
    for step in range(longest):
        for number in range(first, last):
            place = a.begins[number] + step
            if place < a.begins[number + 1]:
                issued[count, 0] = a.members[place]
                issued[count, 1] = _taker(t, a, dealing, dealt, first, number)
                count += 1
    for number in range(first, last):
        dealt[_unit(t, a, dealing, number)] += 1
    return count


@inner
def _taker(
    t: TileArrays, a: Accumulations, dealing: int, dealt: Ints, first: int, number: int
) -> int:
    """Return the NPU that works through an accumulation of those that begin at ``first``."""
    if dealing == FROM_FIRST:
        return number - first
    unit = _unit(t, a, dealing, number)
    found = dealt[unit]
    for before in range(first, number):
        found += _unit(t, a, dealing, before) == unit
    return found % t.npus


@inner
def _unit(t: TileArrays, a: Accumulations, dealing: int, number: int) -> int:
    """Return by what accumulations are counted: the unit with which they begin, or all as one."""
    if dealing != ON_BY_UNIT:
        return 0
    return t.ops[a.ops[a.turns[a.members[a.begins[number]]]], UNIT]


@entry
def lay_out(t: TileArrays, a: Accumulations, issued: Ints, found: IssueOrder, seen: Ints) -> int:
    """Write turns down in the order in which they are issued; return how many tiles they name.

    Args:
        t: Tiles and operations.
        a: The turns.
        issued: Turn and NPU, in order ``[turns, 2]``.
        found: Is written to; its tiles may be more than are needed.
        seen: Is written to: the last turn that named each tile, -1 none ``[tiles]``.
    """
    ops, tiles = 0, 0
    for place, (turn, npu) in enumerate(issued):
        found.turns[place, NPU] = npu
        found.turns[place, OPS], found.turns[place, TILES] = ops, tiles
        for op in a.ops[a.turns[turn] : a.turns[turn + 1]]:
            found.ops[ops] = op
            ops += 1
            for k in range(t.ops[op, READS], t.ops[op + 1, READS]):
                tiles = _name(t.reads[k, TILE], place, found, seen, tiles)
            tiles = _name(t.ops[op, OUT], place, found, seen, tiles)
    found.turns[len(issued), OPS], found.turns[len(issued), TILES] = ops, tiles
    return tiles


@inner
def _name(tile: int, place: int, found: IssueOrder, seen: Ints, tiles: int) -> int:
    """Name a tile of a turn once; return how many are named."""
    if seen[tile] == place:
        return tiles
    seen[tile] = place
    found.tiles[tiles] = tile
    return tiles + 1


@entry
def makespan(t: TileArrays, o: IssueOrder, cycles: Ints, free: Ints, ready: Ints) -> int:
    """Return when the last operation ends if all wait for their engine and what they read alone.

    Args:
        t: Tiles and operations.
        o: The order.
        cycles: How long each operation takes [cycle] ``[ops]``.
        free: Is written to: when each engine is free; zeros [cycle] ``[units, npus]``.
        ready: Is written to: when each tile is there; zeros [cycle] ``[tiles]``.
    """
    latest = 0
    for place in range(len(o.turns) - 1):
        npu = o.turns[place, NPU]
        for op in o.ops[o.turns[place, OPS] : o.turns[place + 1, OPS]]:
            unit, out = t.ops[op, UNIT], t.ops[op, OUT]
            start = max(free[unit, npu], ready[out] if t.ops[op, ADDS] else 0)
            for k in range(t.ops[op, READS], t.ops[op + 1, READS]):
                start = max(start, ready[t.reads[k, TILE]])
            free[unit, npu] = start + cycles[op]
            ready[out] = max(ready[out], free[unit, npu])
            latest = max(latest, free[unit, npu])
    return latest
