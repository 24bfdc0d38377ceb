"""Give blocks of memory addresses so that none overlap in address x time.

A *block* takes some bytes over an inclusive range of steps. Blocks that share no step, directly
or through others, are packed apart. First fit in several orders packs most plans; where it
fails, the block that did not fit moves to the front and the fit is repeated. COSMA searches for
what still fails (``cosma/packing``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Bytes that are needed over steps ``first`` to ``last``, both included."""

    first: int
    last: int
    bytes: int

    @property
    def area(self) -> int:
        """Bytes times steps."""
        return self.bytes * (self.last - self.first + 1)


Packer: TypeAlias = Callable[[Sequence[Block]], tuple[Sequence[int] | None, bool]]
"""From blocks to an address each, or ``None``; and whether that is proven."""

_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda block: (-block.bytes, block.first),
    lambda block: (-block.area, block.first),
    lambda block: (block.first - block.last, -block.bytes, block.first),
    lambda block: (block.first, -block.last, -block.bytes),
    lambda block: (block.first, -block.bytes),
)


def pack_greedily(
    blocks: Sequence[Block], budget: int, *, repairs: int = 200
) -> tuple[int, ...] | None:
    """Return an address per block by first fit, or ``None`` where no order of placing fits.

    Args:
        blocks: What to place; zero bytes are allowed.
        budget: Size of the memory [byte].
        repairs: How often a block that did not fit may be moved to the front, per order.
    """
    return by_group(blocks, lambda group: (_pack_group(group, budget, repairs), False))[0]


def by_group(blocks: Sequence[Block], pack: Packer) -> tuple[tuple[int, ...] | None, bool]:
    """Return an address per block, each group of :func:`connected_groups` packed by itself.

    Args:
        blocks: What to place.
        pack: Packs the blocks of a group.

    Returns:
        The addresses, or ``None`` where one group is not packed; and whether that is proven.
    """
    addresses = [0] * len(blocks)
    for group in connected_groups(blocks):
        found, is_proven = pack([blocks[index] for index in group])
        if found is None:
            return None, is_proven
        for index, address in zip(group, found, strict=True):
            addresses[index] = address
    return tuple(addresses), True


def peak_bytes(blocks: Sequence[Block]) -> int:
    """Return the most bytes that are needed at any step: a lower bound of every packing."""
    return busiest_step(blocks)[1]


def busiest_step(blocks: Iterable[Block]) -> tuple[int, int]:
    """Return the first step at which most is needed, and how much [byte]."""
    changes: dict[int, int] = {}
    for block in blocks:
        changes[block.first] = changes.get(block.first, 0) + block.bytes
        changes[block.last + 1] = changes.get(block.last + 1, 0) - block.bytes
    used = busiest = peak = 0
    for step in sorted(changes):
        used += changes[step]
        if used > peak:
            busiest, peak = step, used
    return busiest, peak


def connected_groups(blocks: Sequence[Block]) -> list[list[int]]:
    """Return the indices of blocks in groups that share no step with each other."""
    groups: list[list[int]] = []
    end = -1
    for index in sorted(range(len(blocks)), key=lambda i: (blocks[i].first, blocks[i].last, i)):
        if not groups or blocks[index].first > end:
            groups.append([])
            end = blocks[index].last
        groups[-1].append(index)
        end = max(end, blocks[index].last)
    return groups


def neighbours(blocks: Sequence[Block]) -> list[list[int]]:
    """Return, for each block, the others that share a step with it."""
    found: list[list[int]] = [[] for _ in blocks]
    active: list[int] = []
    for index in sorted(range(len(blocks)), key=lambda i: (blocks[i].first, i)):
        active = [other for other in active if blocks[other].last >= blocks[index].first]
        for other in active:
            found[other].append(index)
            found[index].append(other)
        active.append(index)
    return found


def _pack_group(blocks: Sequence[Block], budget: int, repairs: int) -> list[int] | None:
    if peak_bytes(blocks) > budget:
        return None
    # Imported where it is needed: what has no scratchpad never comes here, and Numba is heavy.
    from .kernel.first_fit import Placing, first_fit

    near, near_from = listed(neighbours(blocks))
    numbers = range(len(blocks))
    ranked = [sorted(numbers, key=lambda number: key(blocks[number])) for key in _ORDERS]
    placing = Placing(
        sizes=np.asarray([block.bytes for block in blocks], np.int64),
        near=near,
        near_from=near_from,
        places=np.empty(len(blocks), np.int64),
        beside=np.empty(len(blocks), np.int64),
    )
    fits = first_fit(placing, np.asarray(ranked, np.int64), budget, repairs)
    return placing.places.tolist() if fits else None


def listed(near: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return neighbours for compiled code: one list after another, and where each begins.

    Args:
        near: Those of each block.

    Returns:
        The numbers, and for each block where its list begins, with the end.
    """
    lengths = np.asarray([0, *map(len, near)], np.int64)
    return np.asarray(list(chain.from_iterable(near)), np.int64), np.cumsum(lengths)
