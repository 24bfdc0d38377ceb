"""Issue turns: tiles are fetched, operations are executed, and transfers run ahead.

Before an operation is issued, the tiles of the next ones are fetched as far as there is space; the
tile whose next use is furthest away makes space. A channel that would be idle before the array is
fetches what later operations read, if that leaves space for outputs. Accumulator tiles that leave
unfinished are spilled and retrieved.
"""

# pyright: reportArgumentType=false, reportReturnType=false

import numpy as np

from .....ir.compiled import entry, inner, small
from .arrays import (
    ADDRESS,
    ADDS,
    BYTES,
    CLEARS,
    COMPUTE,
    CONTENT,
    FETCHED,
    FINISHES,
    FIRST,
    FIRST_EVENT,
    FIRST_WRITTEN,
    FULL,
    HORIZON,
    HURRIED,
    INWARDS,
    KIND,
    LACKING,
    LAST,
    LAST_EVENT,
    LAST_WRITTEN,
    LOAD,
    MEMORIES,
    MEMORY,
    MISSING,
    NO,
    NPU,
    OPS,
    OUT,
    OUTSIDE,
    OUTWARDS,
    OVERFLOW,
    PATIENT,
    PLACE,
    READ,
    READERS,
    READS,
    RESULT,
    RETRIEVE,
    SCHEDULED,
    SCOUT,
    SIZE,
    SPILL,
    SPILLED,
    STORE,
    SUMS,
    TENSOR,
    TILE,
    TILES,
    UNIT,
    WHOLE,
    WORK,
    WRITERS,
    WRITTEN,
    YES,
    Capacity,
    RunArrays,
    TileArrays,
    TurnArrays,
)
from .contents import claim_block, new_content, note_read, note_write, wait_to_read, wait_to_write
from .memory import (
    copy_of,
    end_all,
    end_copy,
    enter,
    find_place,
    is_here,
    leaves_space,
    memory_of,
    owner_of,
    passed,
    touch,
)
from .ranges import CONTENT as HELD
from .spaces import LEFT, NEVER, NEXT_USE, overlapping
from .timeline import append, dma_channel, free_at, is_inward, queue_of


@entry
def run_turns(t: TileArrays, o: TurnArrays, r: Capacity, s: RunArrays) -> int:
    """Issue all turns; return how that ends.

    Args:
        t: Tiles and operations.
        o: Their order.
        r: The space that tiles may use.
        s: The schedule, empty.
    """
    ready = np.int64(0)
    for position in range(len(o.turns) - 1):
        while ready < min(position + 1 + t.npus, len(o.turns) - 1):
            s.scalars[HORIZON] = ready
            if not _fetch(t, o, r, s, ready):
                break
            ready += 1
        if ready <= position:
            return OVERFLOW if s.scalars[FULL] else LACKING
        s.scalars[SCOUT] = max(s.scalars[SCOUT], ready)
        for k in range(o.turns[position, OPS], o.turns[position + 1, OPS]):
            _issue(t, o, r, s, o.ops[k], o.turns[position, NPU])
        passed(s, t, o, r, position)
        if s.scalars[FULL]:
            return OVERFLOW
    end_all(s, s.scalars[MEMORIES])
    return SCHEDULED


@small
def _fetch(t: TileArrays, o: TurnArrays, r: Capacity, s: RunArrays, position: int) -> bool:
    """Bring the tiles of a turn in and make space for its results; whether that was possible."""
    npu = o.turns[position, NPU]
    for k in range(o.turns[position, TILES], o.turns[position + 1, TILES]):
        tile = o.tiles[k]
        if t.tiles[tile, TENSOR] >= 0 or is_here(s, t, tile, npu):
            continue
        if t.tiles[tile, KIND] >= RESULT and _is_complete(t, s, tile):
            continue
        if not _bring(t, o, r, s, tile, npu, NO):
            s.scalars[MISSING] = copy_of(t, tile, npu)
            return False
    return True


@inner
def _is_complete(t: TileArrays, s: RunArrays, tile: int) -> bool:
    """Whether all operations that write a tile, or add to it, have been issued."""
    return s.tiles[tile, WRITTEN] == t.tiles[tile, WRITERS]


@small
def _run_ahead(t: TileArrays, o: TurnArrays, r: Capacity, s: RunArrays, npu: int) -> None:
    """Fetch what later operations read while a channel is idle before the array.

    This comes before the store of what the array is at, which would keep its channel waiting.
    """
    while s.scalars[SCOUT] < len(o.turns) - 1 and not s.scalars[FULL]:
        position = s.scalars[SCOUT]
        s.scalars[HORIZON] = position
        for k in range(o.turns[position, TILES], o.turns[position + 1, TILES]):
            if not _fetch_ahead(t, o, r, s, o.tiles[k], o.turns[position, NPU], npu):
                return
        s.scalars[SCOUT] += 1


@small
def _fetch_ahead(
    t: TileArrays, o: TurnArrays, r: Capacity, s: RunArrays, tile: int, npu: int, busy: int
) -> bool:
    """Fetch a tile of a later operation, if it must be; whether to go on.

    Args:
        t: Tiles and operations.
        o: Their order.
        r: The space that tiles may use.
        s: The schedule.
        tile: The tile.
        npu: Who needs it.
        busy: NPU whose array works until later than the channel.
    """
    if t.tiles[tile, TENSOR] >= 0 or t.tiles[tile, KIND] != FETCHED or is_here(s, t, tile, npu):
        return True
    if r.tiles[tile, PATIENT]:
        return False
    if free_at(s, dma_channel(s, t)) >= free_at(s, queue_of(t, 0, busy)):
        return False
    return leaves_space(s, t, r, tile, npu) and _bring(t, o, r, s, tile, npu, YES)


@inner
def _bring(
    t: TileArrays, o: TurnArrays, r: Capacity, s: RunArrays, tile: int, npu: int, spare: int
) -> bool:
    """Bring a tile in, or make space for it; return whether that was possible.

    Args:
        t: Tiles and operations.
        o: Their order.
        r: The space that tiles may use.
        s: The schedule.
        tile: The tile.
        npu: The NPU that needs it.
        spare: Whether tiles that are used again may not leave for it.
    """
    address = find_place(s, t, r, tile, npu)
    if address < 0:
        return False
    memory, size = memory_of(s, t, r, tile, npu), t.tiles[tile, BYTES]
    first, last = overlapping(s.spaces, memory, address, address + size)
    for k in range(first, last):
        next_use = s.spaces.contents[s.spaces.parts[memory, k, HELD], NEXT_USE]
        if spare and next_use < NEVER:
            return False
    for k in range(first, last):
        content = s.spaces.parts[memory, k, HELD]
        if s.spaces.contents[content, NEXT_USE] != LEFT:
            _leave(t, o, s, s.holders[content])
    enter(s, t, o, r, tile, npu, address)
    place = t.tiles[tile, MEMORY] + owner_of(t, tile, npu)
    s.copies[copy_of(t, tile, npu), CONTENT] = claim_block(s, place, address, address + size)
    if t.tiles[tile, KIND] == FETCHED:
        _transfer(t, o, s, LOAD, copy_of(t, tile, npu))
    elif s.tiles[tile, SPILLED]:
        _transfer(t, o, s, RETRIEVE, copy_of(t, tile, npu))
        s.tiles[tile, SPILLED] = 0
    return True


@small
def _leave(t: TileArrays, o: TurnArrays, s: RunArrays, copy: int) -> None:
    """End the placement of a tile; unfinished accumulators are written off first."""
    tile, item = copy // t.npus, s.copies[copy]
    if t.tiles[tile, KIND] == FETCHED and item[LAST_EVENT] <= item[FIRST_EVENT]:
        s.tiles[tile, HURRIED] = 1
    if t.tiles[tile, KIND] == SUMS and s.tiles[tile, WRITTEN] > 0:
        _transfer(t, o, s, SPILL, copy)
        s.tiles[tile, SPILLED] = 1
    end_copy(s, copy)


@inner
def _transfer(t: TileArrays, o: TurnArrays, s: RunArrays, kind: int, copy: int) -> None:
    """Move a tile between off-chip memory and where it is placed.

    What an operator, or a group, stores is not loaded again for it, but for unfinished sums.
    """
    tile, is_inwards = copy // t.npus, is_inward(kind)
    chip, outside = s.copies[copy, CONTENT], _off_chip(t, s, tile)
    source, goal = (outside, chip) if is_inwards else (chip, outside)
    if source >= 0:
        wait_to_read(s, t, source, WHOLE, WHOLE)
    if goal >= 0:
        wait_to_write(s, t, goal, tile, kind, WHOLE, WHOLE)
    queue, work = dma_channel(s, t), o.copies[copy, INWARDS if is_inwards else OUTWARDS]
    event = append(s, t, o, kind, tile, queue, work, NO)
    if source >= 0:
        note_read(s, t, source, tile, queue, WHOLE, WHOLE)
    if goal >= 0:
        note_write(s, t, goal, kind, queue, WHOLE, WHOLE)
    touch(s, t, tile, copy % t.npus, event)


@inner
def _off_chip(t: TileArrays, s: RunArrays, tile: int) -> int:
    """Return what a tile is off chip, if somebody may have to wait for it; else -1."""
    if t.tiles[tile, KIND] != SUMS:
        return -1
    if s.tiles[tile, OUTSIDE] == 0:
        s.tiles[tile, OUTSIDE] = new_content(s) + 1
    return s.tiles[tile, OUTSIDE] - 1


@inner
def _content(t: TileArrays, s: RunArrays, tile: int, npu: int) -> int:
    """Return the content of a tile, or of the resident tensor that it is part of."""
    number = t.tiles[tile, TENSOR]
    if number < 0:
        return s.copies[copy_of(t, tile, npu), CONTENT]
    if s.contents.tensors[number] < 0:
        tensor = t.tensors[number]
        low, high = tensor[ADDRESS], tensor[ADDRESS] + tensor[SIZE]
        s.contents.tensors[number] = claim_block(s, tensor[PLACE], low, high)
    return s.contents.tensors[number]


@small
def _issue(t: TileArrays, o: TurnArrays, r: Capacity, s: RunArrays, number: int, npu: int) -> None:
    """Issue an operation, and the store of what it completes."""
    op = t.ops[number]
    event = _execute(t, o, s, number, npu)
    for k in range(t.ops[number, READS], t.ops[number + 1, READS]):
        touch(s, t, t.reads[k, TILE], npu, event)
    touch(s, t, op[OUT], npu, event)
    s.tiles[op[OUT], WRITTEN] += 1
    _end_read(t, s, number, npu)
    if op[ADDS]:
        _run_ahead(t, o, r, s, npu)
        return
    if op[FINISHES]:
        end_copy(s, copy_of(t, t.reads[op[READS], TILE], npu))
    tile = t.tiles[op[OUT]]
    if tile[KIND] == RESULT and tile[TENSOR] < 0 and _is_complete(t, s, op[OUT]):
        _transfer(t, o, s, STORE, copy_of(t, op[OUT], npu))
        if tile[READERS] == 0:
            end_copy(s, copy_of(t, op[OUT], npu))


@small
def _execute(t: TileArrays, o: TurnArrays, s: RunArrays, number: int, npu: int) -> int:
    """Append an operation; return the number of its event."""
    op, clears = t.ops[number], o.does[number, CLEARS]
    for k in range(t.ops[number, READS], t.ops[number + 1, READS]):
        content = _content(t, s, t.reads[k, TILE], npu)
        wait_to_read(s, t, content, t.reads[k, FIRST], t.reads[k, LAST])
    out, first, last = _content(t, s, op[OUT], npu), op[FIRST_WRITTEN], op[LAST_WRITTEN]
    if op[ADDS] and not clears:
        wait_to_read(s, t, out, first, last)
    wait_to_write(s, t, out, op[OUT], COMPUTE, first, last)
    queue = queue_of(t, op[UNIT], npu)
    event = append(s, t, o, COMPUTE, number, queue, o.does[number, WORK], clears)
    for k in range(t.ops[number, READS], t.ops[number + 1, READS]):
        read = t.reads[k]
        content = _content(t, s, read[TILE], npu)
        note_read(s, t, content, read[TILE], queue, read[FIRST], read[LAST])
    if op[ADDS] and not clears:
        note_read(s, t, out, op[OUT], queue, first, last)
    note_write(s, t, out, COMPUTE, queue, first, last)
    return event


@small
def _end_read(t: TileArrays, s: RunArrays, number: int, npu: int) -> None:
    """End the tiles of what was made here that nobody reads after an operation."""
    begin = t.ops[number, READS]
    for k in range(begin, t.ops[number + 1, READS]):
        tile = t.reads[k, TILE]
        is_first = True
        for other in range(begin, k):
            is_first &= t.reads[other, TILE] != tile
        if is_first and t.tiles[tile, KIND] >= RESULT and t.tiles[tile, TENSOR] < 0:
            s.tiles[tile, READ] += 1
            if s.tiles[tile, READ] == t.tiles[tile, READERS]:
                end_copy(s, copy_of(t, tile, npu))
