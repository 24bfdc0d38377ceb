"""Pack blocks by depth-first search over canonical packings.

In a canonical packing every block lies on another one or on the floor, and the blocks can be
placed in the order of their addresses. The search places one block at a time, each on top of
what is below it, never below the block placed last. A branch ends where, at some step, the
blocks that are still to come no longer fit above. A block is not placed where another one would
fit wholly beneath it.

References:
    Moffitt. MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
    Learning. ASPLOS, 2023.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...engine.blocks import Block, neighbours, peak_bytes

_Ints = NDArray[np.int64]

_PREFERENCES: tuple[Callable[[Block, int], tuple[int, ...]], ...] = (
    lambda block, load: (-load, -block.area, block.first),
    lambda block, load: (block.first - block.last, -block.bytes, -load),
    lambda block, load: (-block.area, -load, block.first),
    lambda block, load: (-block.bytes, block.first - block.last, block.first),
)


def pack_by_search(
    blocks: Sequence[Block], budget: int, *, nodes: int
) -> tuple[tuple[int, ...] | None, bool]:
    """Return addresses by depth-first search, or ``None``; and whether the answer is proven.

    Args:
        blocks: What to place.
        budget: Size of the memory [byte].
        nodes: Placements to try per order of preference.
    """
    if peak_bytes(blocks) > budget:
        return None, True
    near = neighbours(blocks)
    loads = [sum(blocks[other].bytes for other in others) for others in near]
    for preference in _PREFERENCES:
        order = sorted(
            range(len(blocks)), key=lambda index: (*preference(blocks[index], loads[index]), index)
        )
        found = _Search([blocks[index] for index in order], budget).run(nodes)
        if found is None:
            continue
        if not found:
            return None, True
        addresses = [0] * len(blocks)
        for index, address in zip(order, found, strict=True):
            addresses[index] = address
        return tuple(addresses), True
    return None, False


_DEEPEST = 280
"""Blocks placed one after the other up to which calls nest, three deep for each; a group of more
blocks, none of which splits it into parts that share no step, is left open."""


class _Exhausted(Exception):  # noqa: N818 - it is a signal, not an error
    """The nodes are used up, or calls would nest too deep."""


class _Search:
    """The search for one order of preference; blocks come in that order."""

    def __init__(self, blocks: Sequence[Block], budget: int) -> None:
        self._blocks = blocks
        times = sorted({block.first for block in blocks})
        first = np.searchsorted(times, [block.first for block in blocks])
        last = np.searchsorted(times, [block.last for block in blocks], side="right")
        self._first, self._last = first.astype(np.int64), last.astype(np.int64)
        self._sizes = np.asarray([block.bytes for block in blocks], dtype=np.int64)
        self._near: list[_Ints] = [
            np.asarray(others, dtype=np.int64) for others in neighbours(blocks)
        ]
        self._budget = budget
        self._placed = np.full(len(blocks), -1, dtype=np.int64)
        self._below = np.zeros(len(blocks), dtype=np.int64)
        self._tops = np.zeros(len(times), dtype=np.int64)
        self._left = np.zeros(len(times), dtype=np.int64)
        for start, stop, size in zip(first, last, self._sizes, strict=True):
            self._left[start:stop] += size
        self._nodes = self._depth = 0

    def run(self, nodes: int) -> list[int] | None:
        """Return addresses, an empty list where there are none, ``None`` at the limit."""
        self._nodes = nodes
        try:
            solved = self._solve(np.arange(len(self._sizes)), 0)
        except _Exhausted:
            return None
        return [int(place) for place in self._placed] if solved else []

    def _solve(self, members: _Ints, floor: int) -> bool:
        """Place blocks at or above a floor; leave nothing behind where that fails."""
        parts = self._parts(members)
        for number, part in enumerate(parts):
            if not self._solve_connected(part, floor):
                for done in parts[:number]:
                    self._remove(done)
                return False
        return True

    def _parts(self, members: _Ints) -> list[_Ints]:
        """Split blocks into parts that share no step, those with the least room first."""
        by_start = members[np.argsort(self._first[members], kind="stable")]
        ends = np.maximum.accumulate(self._last[by_start])
        cuts = np.flatnonzero(self._first[by_start][1:] >= ends[:-1]) + 1
        parts = [np.sort(part) for part in np.split(by_start, cuts)]
        return sorted(parts, key=self._room)

    def _room(self, part: _Ints) -> int:
        span = slice(int(self._first[part].min()), int(self._last[part].max()))
        return self._budget - int((self._tops[span] + self._left[span]).max())

    def _solve_connected(self, members: _Ints, floor: int) -> bool:
        for index in self._candidates(members, floor):
            self._nodes -= 1
            if self._nodes < 0 or self._depth == _DEEPEST:
                raise _Exhausted
            self._depth += 1
            solved = self._try(index, members, floor)
            self._depth -= 1
            if solved:
                return True
        return False

    def _candidates(self, members: _Ints, floor: int) -> list[int]:
        """Return the blocks that may be placed next, lowest first, then by preference."""
        below = self._below[members]
        ceiling = (np.maximum(below, floor) + self._sizes[members]).min()
        allowed = (below >= floor) & (below < ceiling)
        chosen, heights = members[allowed], below[allowed]
        return [int(index) for index in chosen[np.argsort(heights, kind="stable")]]

    def _try(self, index: int, members: _Ints, floor: int) -> bool:
        """Place a block and all others after it, or restore everything."""
        address = int(self._below[index])
        top = address + int(self._sizes[index])
        span = slice(int(self._first[index]), int(self._last[index]))
        near = self._near[index]
        tops, below = self._tops[span].copy(), self._below[near]
        self._placed[index] = address
        self._tops[span] = top
        self._left[span] -= self._sizes[index]
        self._below[near] = np.maximum(below, top)
        rest = members[members != index]
        if self._fits(members, address) and (not len(rest) or self._solve(rest, address)):
            return True
        self._placed[index], self._below[index] = -1, address
        self._tops[span] = tops
        self._left[span] += self._sizes[index]
        self._below[near] = below
        return False

    def _fits(self, members: _Ints, floor: int) -> bool:
        """Whether what is still to come fits at every step, as a sum."""
        span = slice(int(self._first[members].min()), int(self._last[members].max()))
        left = self._left[span]
        height = np.where(left > 0, np.maximum(self._tops[span], floor), self._tops[span])
        return bool((height + left <= self._budget).all())

    def _remove(self, members: _Ints) -> None:
        """Take blocks out again, in any order: recompute what they lay under."""
        self._placed[members] = -1
        for index in members:
            self._left[int(self._first[index]) : int(self._last[index])] += self._sizes[index]
        span = slice(int(self._first[members].min()), int(self._last[members].max()))
        self._tops[span] = 0
        for index in np.flatnonzero(self._placed >= 0):
            top = self._placed[index] + self._sizes[index]
            own = slice(int(self._first[index]), int(self._last[index]))
            self._tops[own] = np.maximum(self._tops[own], top)
        for index in members:
            self._below[index] = self._support(self._near[int(index)])

    def _support(self, near: _Ints) -> int:
        """Return the highest top of placed blocks among some, 0 where none is placed."""
        tops = np.where(self._placed[near] >= 0, self._placed[near] + self._sizes[near], 0)
        return int(tops.max(initial=0))
