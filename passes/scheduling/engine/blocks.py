"""Give blocks of memory addresses so that none overlap in address x time.

A *block* takes some bytes over an inclusive range of steps. Blocks that share no step, directly
or through others, are packed apart. First fit in several orders packs most plans; where it
fails, the block that did not fit moves to the front and the fit is repeated. COSMA searches for
what still fails (``cosma/packing``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


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
    near, sizes = neighbours(blocks), [block.bytes for block in blocks]
    for order in _ORDERS:
        ranked = sorted(range(len(blocks)), key=lambda index: order(blocks[index]))
        for _ in range(repairs):
            placed, failed = _first_fit(sizes, near, ranked, budget)
            if failed is None:
                return placed
            ranked.remove(failed)
            ranked.insert(0, failed)
    return None


def _first_fit(
    sizes: Sequence[int], near: list[list[int]], ranked: list[int], budget: int
) -> tuple[list[int], int | None]:
    """Place blocks in turn at the lowest address; return the first that does not fit."""
    placed = [-1] * len(sizes)
    for index in ranked:
        size, address = sizes[index], 0
        here = [other for other in near[index] if placed[other] >= 0]
        taken = sorted([(placed[other], placed[other] + sizes[other]) for other in here])
        for start, end in taken:
            if start - address >= size:
                break
            address = max(address, end)
        if address + size > budget:
            return placed, index
        placed[index] = address
    return placed, None
