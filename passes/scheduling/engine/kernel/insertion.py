"""Insert the events of one operator after the other where their engine is idle first.

Engines are numbered: DMA channels, then those of each unit, by NPU. *Storages* hold one content at
a time: placed tiles, resident tensors, tensors off chip. Tiles of one operator in one memory are a
*layout*: they lie as they did, mirrored, or moved together.
"""

# pyright: reportArgumentType=false, reportReturnType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner, maker, small
from .gaps import Busy, first_gap, idle, occupy
from .spaces import AT_ONCE, END, LEFT, NEXT_USE, Spaces, claimed, earliest, empty_spaces, free_at

Ints = NDArray[np.int64]

UNIT, ENGINE, INWARDS, CYCLES, KIND, TOUCHES, WRITES, ENTERS, TURN = range(9)
"""Columns of events: the number of its unit's first engine, which channel or NPU it had, whether it
brings something in, how long it takes [cycle], the number of its length, the first of its touches,
and of those that write; whether it brings a whole tensor in; and the number of its queue in the
operator."""

STORAGE, FIRST, LAST = range(3)
"""Columns of touches: what holds the content, and its first cell in the list of cells, and past the
last; -1 where all of it is touched."""

(
    SORT,
    MEMORY,
    ADDRESS,
    SIZE,
    ROLLS,
    FIRST_CELL,
    PAST_CELL,
    LAST_EVENT,
    LAYOUT,
    MEMBER,
    SHARED,
    NPU,
    COPY,
) = range(13)
"""Columns of storages: what they are; memory of NPU 0; first byte and bytes; rows that are there at
once of a tile that rolls; their first cell, and past the last; last event of a tile, its layout,
and its place among its tiles; whether all NPUs share its memory; whose it was; and the number of
the copy of NPU 0."""

ELSEWHERE, TENSOR, TILE = range(3)
"""What storages are: off chip, resident tensors, placed tiles."""

MEMBERS, WALLS, LOW, HIGH, FROM, UPTO, TOP = range(7)
"""Columns of layouts: the first of its tiles; the first of the ranges that they must leave to
others; first byte that they took, and past the last; first byte that they may take, and past the
last, together; and past the last of the memory."""

FIRST_EVENT, LAST_OF_TILE, START, WHERE, BYTES = range(5)
"""Columns of tiles of layouts, by their first event: first and last event, when that one started
[cycle], first byte, and bytes."""

WRITTEN, READ = range(2)
"""Columns of cells: when they were written, and read [cycle]."""

CLAIM, BEGIN, PLACED, ALL_WRITTEN, OWNER = range(5)
"""Columns of storages in use: number of the content in its memory, or -1; when its space was free;
first byte; when all of it was written [cycle]; and the NPU whose memory it is."""

IS_CHOSEN, MIRRORED, SHIFT = range(3)
"""Columns of layouts in use: whether it was decided how they lie; whether they are mirrored; how
much further they lie [byte]."""


class InsertedArrays(NamedTuple):
    """Events in turn, and what they touch.

    Attributes:
        channels: Of the DMA engine.
        startup: Of every transfer [cycle].
        ports: Of off-chip memory: one for each direction, or one for both.
        lengths: How many lengths events have.
        events: See the columns; behind the last one, where touches end ``[events + 1, 9]``.
        touches: See the columns ``[., 3]``.
        cells: Numbers of cells ``[.]``.
        storages: See the columns ``[., 13]``.
        layouts: See the columns; behind the last one, where tiles and walls end ``[., 7]``.
        members: Tiles of the layouts, see the columns ``[., 5]``.
        walls: Ranges that others hold, ascending for each layout ``[., 2]``.
    """

    channels: int
    startup: int
    ports: int
    lengths: int
    events: Ints
    touches: Ints
    cells: Ints
    storages: Ints
    layouts: Ints
    members: Ints
    walls: Ints


class PolicyArrays(NamedTuple):
    """What insertion is free to do.

    Attributes:
        moves: Whether single tiles of a layout may lie elsewhere ``[layouts]``.
        ordered: Whether the events of a queue begin in their order ``[queues]``.
    """

    moves: NDArray[np.bool_]
    ordered: NDArray[np.bool_]


class InsertionArrays(NamedTuple):
    """A schedule in the making; every array is mutable.

    Attributes:
        spaces: Who lies where in each memory.
        engines: When they work.
        ports: When off-chip memory is busy.
        fruitless: Of each engine, then each port, then each channel with each port: the longest
            stretch of cycles at which work of some length cannot start ``[., lengths, 2]``.
        storages: See the columns ``[., 5]``.
        cells: See the columns ``[., 2]``.
        layouts: See the columns ``[., 3]``.
        left: When the last placement of each copy of a tile was over [cycle] ``[copies]``.
        begun: When each queue of an operator began its last event [cycle] ``[queues]``.
        times: Start of each event, and its engine ``[events, 2]``.
        contents: How many contents there are in memories ``[1]``.
    """

    spaces: Spaces
    engines: Busy
    ports: Busy
    fruitless: Ints
    storages: Ints
    cells: Ints
    layouts: Ints
    left: Ints
    begun: Ints
    times: Ints
    contents: Ints


def nothing_inserted(
    g: InsertedArrays, p: PolicyArrays, engines: int, memories: int, copies: int
) -> InsertionArrays:
    """Return a schedule without events; there is space for all of them.

    Args:
        g: The events.
        p: What is free.
        engines: How many there are, channels among them.
        memories: How many there are.
        copies: How many copies of tiles there can be.
    """
    count, contents = len(g.events), len(g.storages) + len(g.events)
    return InsertionArrays(
        spaces=empty_spaces(memories, 2 * contents + 2, contents),
        engines=idle(engines, count),
        ports=idle(2, count),
        fruitless=np.zeros((engines + 2 + 2 * g.channels, g.lengths, 2), np.int64),
        storages=np.tile(np.array([-1, 0, 0, 0, 0], np.int64), (len(g.storages), 1)),
        cells=np.zeros((max(1, int(g.storages[:, PAST_CELL].max(initial=0))), 2), np.int64),
        layouts=np.zeros((len(g.layouts), 3), np.int64),
        left=np.zeros(copies, np.int64),
        begun=np.zeros(len(p.ordered), np.int64),
        times=np.zeros((count, 2), np.int64),
        contents=np.zeros(1, np.int64),
    )


@entry
def insert_events(
    g: InsertedArrays, p: PolicyArrays, npus: Ints, numbers: Ints, s: InsertionArrays
) -> int:
    """Insert the events of an operator; return when the last one ends [cycle].

    Args:
        g: All events.
        p: What is free.
        npus: Which NPU works for each of the operator's.
        numbers: Of its events, in their order.
        s: The schedule so far.
    """
    latest = 0
    for queue in range(len(s.begun)):
        s.begun[queue] = 0
    for number in numbers:
        latest = max(latest, _insert(g, p, npus, s, number))
    return latest


@small
def _insert(g: InsertedArrays, p: PolicyArrays, npus: Ints, s: InsertionArrays, number: int) -> int:
    """Insert an event; return when it ends [cycle].

    It starts when what it reads is there, its space is free, and its engine idle long enough.
    """
    event = g.events[number]
    begin, writes, past = event[TOUCHES], event[WRITES], g.events[number + 1, TOUCHES]
    if event[ENTERS]:
        for k in range(writes, past):
            _forget(g, s, g.touches[k, STORAGE])
    ready = 0
    for k in range(begin, writes):
        ready = max(ready, _written(g, s, k))
    for k in range(writes, past):
        ready = max(ready, _replaced(g, s, k))
    if p.ordered[event[TURN]]:
        ready = max(ready, s.begun[event[TURN]])
    free = ready
    for k in range(begin, past):
        free = max(free, _free_from(g, p, npus, s, number, g.touches[k, STORAGE], ready))
    start, engine = _first_gap(g, npus, s, number, free)
    _occupy(g, s, number, start, engine)
    s.times[number, 0], s.times[number, 1] = start, engine
    s.begun[event[TURN]] = start
    end = start + event[CYCLES]
    for k in range(writes, past):
        _note_write(g, s, k, end)
    for k in range(begin, writes):
        _note_read(g, s, k, end)
    for k in range(begin, past):
        _use(g, s, number, g.touches[k, STORAGE], end)
    return end


@inner
def _forget(g: InsertedArrays, s: InsertionArrays, storage: int) -> None:
    """Note that a tensor is about to be brought in anew."""
    s.storages[storage, CLAIM] = -1
    for cell in range(g.storages[storage, FIRST_CELL], g.storages[storage, PAST_CELL]):
        s.cells[cell, WRITTEN] = 0


@small
def _written(g: InsertedArrays, s: InsertionArrays, touch: int) -> int:
    """Return when all that is read was written; 0 for what was there before [cycle]."""
    row = g.touches[touch]
    if row[FIRST] < 0:
        return s.storages[row[STORAGE], ALL_WRITTEN]
    found = 0
    for k in range(row[FIRST], row[LAST]):
        found = max(found, s.cells[g.cells[k], WRITTEN])
    return found


@small
def _replaced(g: InsertedArrays, s: InsertionArrays, touch: int) -> int:
    """Return when the rows were last touched whose place a write of new ones takes [cycle]."""
    row, found = g.touches[touch], 0
    storage = g.storages[row[STORAGE]]
    if storage[ROLLS]:
        for k in range(row[FIRST], row[LAST]):
            old = g.cells[k] - storage[ROLLS]
            if old >= storage[FIRST_CELL]:
                found = max(found, s.cells[old, WRITTEN], s.cells[old, READ])
    return found


@small
def _note_write(g: InsertedArrays, s: InsertionArrays, touch: int, end: int) -> None:
    """Note that something is written at a cycle."""
    row = g.touches[touch]
    if row[FIRST] < 0:
        state = s.storages[row[STORAGE]]
        state[ALL_WRITTEN] = max(state[ALL_WRITTEN], end)
    for k in range(row[FIRST], row[LAST]):
        s.cells[g.cells[k], WRITTEN] = max(s.cells[g.cells[k], WRITTEN], end)


@small
def _note_read(g: InsertedArrays, s: InsertionArrays, touch: int, end: int) -> None:
    """Note that something is read until a cycle; of what does not roll, nothing changes."""
    row = g.touches[touch]
    if g.storages[row[STORAGE], ROLLS]:
        for k in range(row[FIRST], row[LAST]):
            s.cells[g.cells[k], READ] = max(s.cells[g.cells[k], READ], end)


@small
def _use(g: InsertedArrays, s: InsertionArrays, number: int, storage: int, end: int) -> None:
    """Note until when a content on chip is used, and who leaves with that."""
    state, kept = s.storages[storage], g.storages[storage]
    if state[CLAIM] < 0:
        return
    content = s.spaces.contents[state[CLAIM]]
    content[END] = max(content[END], end, state[BEGIN])
    if kept[SORT] == TILE and kept[LAST_EVENT] == number:
        content[NEXT_USE] = LEFT
        s.left[kept[COPY] + state[OWNER]] = content[END]


# -- engines --------------------------------------------------------------------------------------


@inner
def _first_gap(
    g: InsertedArrays, npus: Ints, s: InsertionArrays, number: int, ready: int
) -> tuple[int, int]:
    """Return when and on which engine an event could run, as far as that is concerned [cycle]."""
    event = g.events[number]
    if event[UNIT] > 0:
        engine = event[UNIT] + npus[event[ENGINE]]
        return _gap(s, s.engines, engine, engine, event[KIND], ready, event[CYCLES]), engine
    best, taken = np.int64(-1), np.int64(0)
    for channel in range(g.channels):
        start = _transfer_gap(g, s, event, ready, channel)
        if best < 0 or start < best:
            best, taken = start, channel
    return best, taken


@inner
def _gap(
    s: InsertionArrays, busy: Busy, engine: int, row: int, kind: int, ready: int, cycles: int
) -> int:
    """Return the first cycle from which on an engine is idle long enough.

    It never gets idle again: where no gap was long enough, none will be. So it is not looked
    through again and again.
    """
    low, high = _around(s.fruitless[row, kind], ready)
    start = first_gap(busy, engine, high, cycles)
    _keep(s.fruitless[row, kind], low, start)
    return start


@inner
def _around(longest: Ints, ready: int) -> tuple[int, int]:
    """Return the stretch without a gap that holds a cycle: looking can go on at its end."""
    if longest[0] <= ready <= longest[1]:
        return longest[0], longest[1]
    return ready, ready


@inner
def _keep(longest: Ints, low: int, high: int) -> None:
    """Keep a stretch without a gap if it is longer than the one that is known."""
    if high - low > longest[1] - longest[0]:
        longest[0], longest[1] = low, high


@small
def _transfer_gap(
    g: InsertedArrays, s: InsertionArrays, event: Ints, ready: int, channel: int
) -> int:
    """Return when a transfer finds both its channel and, past start-up, the port idle [cycle]."""
    port, kind, cycles = _port(g, event), event[KIND], event[CYCLES]
    first_port = s.engines.counts.shape[0]
    known = s.fruitless[first_port + 2 + 2 * channel + port, kind]
    low, at = _around(known, ready)
    while True:
        start = _gap(s, s.engines, channel, channel, kind, at, cycles)
        begin = start + g.startup
        moving = _gap(s, s.ports, port, first_port + port, kind, begin, cycles - g.startup)
        if moving == begin:
            break
        at = moving - g.startup
    _keep(known, low, start)
    return start


@inner
def _port(g: InsertedArrays, event: Ints) -> int:
    """Return the port that a transfer takes."""
    return event[INWARDS] if g.ports == 2 else 0


@small
def _occupy(g: InsertedArrays, s: InsertionArrays, number: int, start: int, engine: int) -> None:
    """Let an engine work for an event."""
    event = g.events[number]
    if event[UNIT] == 0:
        begin = start + g.startup
        occupy(s.ports, _port(g, event), begin, event[CYCLES] - g.startup)
    occupy(s.engines, engine, start, event[CYCLES])


# -- space ----------------------------------------------------------------------------------------


@inner
def _free_from(
    g: InsertedArrays,
    p: PolicyArrays,
    npus: Ints,
    s: InsertionArrays,
    number: int,
    storage: int,
    ready: int,
) -> int:
    """Return when a content's space is free, given at its first use; 0 off chip [cycle]."""
    kept, state = g.storages[storage], s.storages[storage]
    if state[CLAIM] < 0 and kept[SORT] != ELSEWHERE:
        state[PLACED], state[OWNER], next_use = kept[ADDRESS], 0, LEFT
        if kept[SORT] == TILE:
            state[OWNER] = 0 if kept[SHARED] else npus[kept[NPU]]
            state[PLACED], next_use = _place(g, p, npus, s, number, storage, ready), AT_ONCE
        memory, high = kept[MEMORY] + state[OWNER], state[PLACED] + kept[SIZE]
        state[CLAIM] = s.contents[0]
        s.contents[0] += 1
        begin = claimed(s.spaces, memory, state[PLACED], high, state[CLAIM], next_use)
        if kept[SORT] == TILE:
            begin = max(begin, s.left[kept[COPY] + state[OWNER]])
        state[BEGIN] = begin
    return 0 if kept[SORT] == ELSEWHERE else state[BEGIN]


@small
def _place(
    g: InsertedArrays,
    p: PolicyArrays,
    npus: Ints,
    s: InsertionArrays,
    number: int,
    storage: int,
    ready: int,
) -> int:
    """Return where a tile goes: with the others of its layout, or where it is free first."""
    kept = g.storages[storage]
    memory, layout = kept[MEMORY] + s.storages[storage, OWNER], kept[LAYOUT]
    if not s.layouts[layout, IS_CHOSEN]:
        _choose(g, s, memory, layout)
    way = s.layouts[layout]
    low = _where(g, layout, kept[MEMBER], way[MIRRORED], way[SHIFT])
    if not p.moves[layout]:
        return low
    quiet, _ = _first_gap(g, npus, s, number, ready)
    if free_at(s.spaces, memory, low, low + kept[SIZE]) <= quiet:
        return low
    return _elsewhere(g, s, memory, storage, low, quiet)


@maker
def _elsewhere(
    g: InsertedArrays, s: InsertionArrays, memory: int, storage: int, low: int, quiet: int
) -> int:
    """Return where a tile is free first beside all that come while it is there."""
    kept = g.storages[storage]
    layout, member = kept[LAYOUT], kept[MEMBER]
    first, last = g.layouts[layout, WALLS], g.layouts[layout + 1, WALLS]
    begin, end = g.layouts[layout, MEMBERS], g.layouts[layout + 1, MEMBERS]
    walls, count = np.empty((last - first + end - begin, 2), np.int64), 0
    for k in range(first, last):
        walls[count, 0], walls[count, 1] = g.walls[k, 0], g.walls[k, 1]
        count += 1
    own = g.members[member]
    for k in range(begin, end):
        item = g.members[k]
        if own[FIRST_EVENT] <= item[FIRST_EVENT] <= own[LAST_OF_TILE] and k != member:
            at = _where(g, layout, k, s.layouts[layout, MIRRORED], s.layouts[layout, SHIFT])
            place = count
            while place > 0 and walls[place - 1, 0] > at:
                walls[place, 0], walls[place, 1] = walls[place - 1, 0], walls[place - 1, 1]
                place -= 1
            walls[place, 0], walls[place, 1] = at, at + item[BYTES]
            count += 1
    top = g.layouts[layout, TOP]
    other = earliest(s.spaces, memory, walls[:count], kept[SIZE], top, quiet)
    return low if other < 0 else other


@inner
def _where(g: InsertedArrays, layout: int, member: int, mirrored: int, shift: int) -> int:
    """Return the first byte of a tile of a layout that is mirrored, or moved."""
    item, address = g.members[member], g.members[member, WHERE]
    if mirrored:
        address = g.layouts[layout, LOW] + g.layouts[layout, HIGH] - address - item[BYTES]
    return address + shift


@small
def _choose(g: InsertedArrays, s: InsertionArrays, memory: int, layout: int) -> None:
    """Decide how a layout lies: so that it waits least, as it was, or moved to either end."""
    row, found = g.layouts[layout], s.layouts[layout]
    down, up = row[FROM] - row[LOW], row[UPTO] - row[HIGH]
    if down > 0 or up < 0:
        down, up = 0, 0
    first, second = (down, up) if -down <= up else (up, down)
    best = 0, 0
    for k in range(6):
        mirrored, shift = k % 2, 0 if k < 2 else first if k < 4 else second
        if k >= 2 and shift == 0:
            continue
        wait = _wait(g, s, memory, layout, mirrored, shift)
        if k == 0 or wait < best:
            best = wait
            found[MIRRORED], found[SHIFT] = mirrored, shift
    found[IS_CHOSEN] = 1


@inner
def _wait(
    g: InsertedArrays, s: InsertionArrays, memory: int, layout: int, mirrored: int, shift: int
) -> tuple[int, int]:
    """Return how late an operator is for its places, and how long its tiles wait for them.

    Those count that come before the first one leaves: when the operator could begin as it did, so
    that each of them has its place in time, and the sum of the cycles from which on they have them.
    """
    begin, end = g.layouts[layout, MEMBERS], g.layouts[layout + 1, MEMBERS]
    first = g.members[begin, LAST_OF_TILE]
    for k in range(begin, end):
        first = min(first, g.members[k, LAST_OF_TILE])
    late, free = np.int64(-(1 << 62)), np.int64(0)
    for k in range(begin, end):
        item = g.members[k]
        if item[FIRST_EVENT] <= first:
            low = _where(g, layout, k, mirrored, shift)
            at = free_at(s.spaces, memory, low, low + item[BYTES])
            late, free = max(late, at - item[START]), free + at
    return late, free
