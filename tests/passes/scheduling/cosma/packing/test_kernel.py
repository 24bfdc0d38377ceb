"""The search for addresses on few blocks, against all orders; quick without a compiler."""

import random
from itertools import pairwise

import pytest

from accnn.passes.scheduling.cosma.packing.search import pack_by_search
from accnn.passes.scheduling.engine.blocks import Block, peak_bytes
from tests.block_strategies import cut_rectangle
from tests.passes.scheduling.cosma.packing.test_search import unpackable

NODES = 3000


def drawn(seed: int) -> list[Block]:
    """Return blocks that leave no byte unused at any step; some lists cannot be packed."""
    rng = random.Random(seed)
    free = [rng.randint(4, 7)] * 7
    found: list[Block] = []
    for _ in range(rng.randint(5, 8)):
        first = rng.randint(0, 6)
        last = min(6, first + rng.randint(1, 3))
        room = min(free[first : last + 1])
        if room:
            found.append(Block(first=first, last=last, bytes=rng.randint(1, min(3, room))))
            for step in range(first, last + 1):
                free[step] -= found[-1].bytes
    fillers = [Block(first=i, last=i, bytes=room) for i, room in enumerate(free) if room]
    return found + fillers


def cut(seed: int) -> tuple[list[Block], int]:
    """Return the pieces of a rectangle of steps and bytes, and its height: they can be packed."""
    rng = random.Random(seed)
    blocks, height = cut_rectangle(rng.randint)
    return rng.sample(blocks, len(blocks)), height


def lowest(blocks: list[Block], budget: int) -> bool:
    """Whether some order of blocks, each on top of what is there, stays within a budget.

    Orders in which addresses never fall are enough: every packing that has settled has one.
    """

    def extend(placed: tuple[tuple[Block, int], ...], left: frozenset[int], floor: int) -> bool:
        if not left:
            return True
        for index in left:
            block = blocks[index]
            place = _place(block, placed)
            if floor <= place <= budget - block.bytes:
                after = (*placed, (block, place))
                if extend(after, left - {index}, place):
                    return True
        return False

    return extend((), frozenset(range(len(blocks))), 0)


def _place(block: Block, placed: tuple[tuple[Block, int], ...]) -> int:
    """Return the top of what is there at the same time."""
    return max(
        (
            place + other.bytes
            for other, place in placed
            if other.first <= block.last and block.first <= other.last
        ),
        default=0,
    )


def is_right(blocks: list[Block], addresses: tuple[int, ...], budget: int) -> bool:
    """Whether at every step blocks lie apart, within the budget."""
    for step in range(max(block.last for block in blocks) + 1):
        used = sorted(
            (place, place + block.bytes)
            for block, place in zip(blocks, addresses, strict=True)
            if block.first <= step <= block.last
        )
        if used and (used[0][0] < 0 or used[-1][1] > budget):
            return False
        if any(one[1] > two[0] for one, two in pairwise(used)):
            return False
    return True


def judge(blocks: list[Block], budget: int) -> bool:
    """Pack, compare with all orders, and return whether there are addresses."""
    addresses, proven = pack_by_search(blocks, budget, nodes=NODES)

    assert proven
    assert (addresses is not None) == lowest(blocks, budget)
    assert addresses is None or is_right(blocks, addresses, budget)
    return addresses is not None


@pytest.mark.parametrize("seed", range(8, 27))
def test_the_search_finds_what_some_order_finds(seed: int):
    blocks = drawn(seed)

    assert judge(blocks, peak_bytes(blocks) + 1)
    judge(blocks, peak_bytes(blocks))


@pytest.mark.parametrize("budget", [4, 6])
def test_the_search_proves_that_no_order_fits(budget: int):
    blocks = unpackable(budget)

    assert not judge(blocks, budget)
    assert judge(blocks, budget + 1)


@pytest.mark.parametrize("budget", [4, 6])
def test_nothing_is_proven_with_too_few_nodes(budget: int):
    blocks = unpackable(budget)

    assert pack_by_search(blocks, budget, nodes=32) == (None, False)
    assert pack_by_search(blocks, budget, nodes=NODES) == (None, True)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_pieces_of_a_rectangle_are_never_denied_and_mostly_found(first: int):
    found = 0
    for seed in range(first, first + 50):
        blocks, height = cut(seed)
        addresses, proven = pack_by_search(blocks, height, nodes=NODES)

        assert addresses is not None or not proven
        assert addresses is None or is_right(blocks, addresses, height)
        found += addresses is not None
    assert found >= 45
