"""The compiled inner loops of the search for addresses (``search.py``).

Blocks are numbered by preference. ``floor`` and ``rank`` are the address and the number of the
block placed last: blocks are placed in the order of (address, number), so a block whose support
lies before that is *stale*. It has to wait until another block is placed beneath it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry

Ints = NDArray[np.int64]

PACKED, IMPOSSIBLE, EXHAUSTED = 1, 0, -1
"""What a search may answer; ``EXHAUSTED``: the nodes are used up."""

_FAR = 1 << 62


class PackingState(NamedTuple):
    """What the search reads and changes; the search restores what it changed where it fails.

    Attributes:
        budget: Size of the memory, one element.
        sizes: Of each block.
        first: First section of each block; a section is a maximal set of blocks that meet.
        last: The section after its last.
        near: Blocks that meet a block, one list after another.
        near_from: Where the list of each block begins, and the end.
        places: Address of each block, -1 where it is not placed.
        below: Highest top among the placed blocks that meet a block.
        lowest: Scratch: lower bound of the address of each block.
        loads: Scratch: bytes per section.
        trail: Raised blocks, and placed ones (plus the number of blocks), for undoing.
        former: What ``below`` was before.
        left: Nodes that are left, and the length of the trail.
    """

    budget: Ints
    sizes: Ints
    first: Ints
    last: Ints
    near: Ints
    near_from: Ints
    places: Ints
    below: Ints
    lowest: Ints
    loads: Ints
    trail: Ints
    former: Ints
    left: Ints


@entry
def solve(state: PackingState, members: Ints, floor: int, rank: int) -> int:
    """Place blocks that meet, directly or through others; they come by their first section.

    Args:
        state: Of the search.
        members: The blocks.
        floor: Least address.
        rank: Of the next block.
    """
    _bound_addresses(state, members, floor, rank)
    order = _by_bound(state, members)
    if not _fits(state, order):
        return IMPOSSIBLE
    ceiling = _FAR
    for block in members:
        ceiling = min(ceiling, max(state.below[block], floor) + state.sizes[block])
    for block in order:
        if _stale(state, block, floor, rank):
            continue
        if state.below[block] >= ceiling:
            break
        if state.left[0] <= 0:
            return EXHAUSTED
        state.left[0] -= 1
        mark = state.left[1]
        _place(state, block)
        answer = PACKED
        rest = members[members != block]
        start = 0
        while start < len(rest):
            stop = _end_of_part(state, rest, start)
            answer = solve(state, rest[start:stop], int(state.places[block]), block)
            if answer == EXHAUSTED:
                return EXHAUSTED
            if answer == IMPOSSIBLE:
                break
            start = stop
        if answer == PACKED:
            return PACKED
        _undo(state, mark)
    return IMPOSSIBLE


@entry
def _stale(state: PackingState, block: int, floor: int, rank: int) -> bool:
    below = state.below[block]
    return below < floor or (below == floor and block < rank)


@entry
def _bound_addresses(state: PackingState, members: Ints, floor: int, rank: int) -> None:
    """Bound the address of each block; a stale one lies above the lowest of those it meets."""
    for block in members:
        bound = max(state.below[block], floor)
        if _stale(state, block, floor, rank):
            bound = _FAR
            for other in members:
                if state.first[other] >= state.last[block]:
                    break
                if other != block and state.last[other] > state.first[block]:
                    bound = min(bound, max(state.below[other], floor) + state.sizes[other])
        state.lowest[block] = min(bound, state.budget[0] + 1)


@entry
def _by_bound(state: PackingState, members: Ints) -> Ints:
    """Return blocks by the bound of their address, then by preference."""
    return members[np.argsort(state.lowest[members] * len(state.sizes) + members)]


@entry
def _fits(state: PackingState, order: Ints) -> bool:
    """Whether, at each section, what must lie above an address fits there, for each address."""
    for block in order:
        state.loads[state.first[block] : state.last[block]] = 0
    for block in order[::-1]:
        room = state.budget[0] - state.lowest[block]
        for section in range(state.first[block], state.last[block]):
            state.loads[section] += state.sizes[block]
            if state.loads[section] > room:
                return False
    return True


@entry
def _end_of_part(state: PackingState, members: Ints, start: int) -> int:
    """Return where the blocks end that meet the first one, directly or through others."""
    end = state.last[members[start]]
    stop = start + 1
    while stop < len(members) and state.first[members[stop]] < end:
        end = max(end, state.last[members[stop]])
        stop += 1
    return stop


@entry
def _place(state: PackingState, block: int) -> None:
    """Put a block onto what lies below it, and raise the blocks that it meets."""
    state.places[block] = state.below[block]
    _note(state, block + len(state.sizes), 0)
    top = state.below[block] + state.sizes[block]
    for other in state.near[state.near_from[block] : state.near_from[block + 1]]:
        if state.places[other] < 0 and state.below[other] < top:
            _note(state, other, int(state.below[other]))
            state.below[other] = top


@entry
def _note(state: PackingState, what: int, former: int) -> None:
    length = state.left[1]
    state.trail[length] = what
    state.former[length] = former
    state.left[1] = length + 1


@entry
def _undo(state: PackingState, mark: int) -> None:
    """Take back everything since the trail was that long."""
    count = len(state.sizes)
    while state.left[1] > mark:
        state.left[1] -= 1
        what = state.trail[state.left[1]]
        if what >= count:
            state.places[what - count] = -1
        else:
            state.below[what] = state.former[state.left[1]]
