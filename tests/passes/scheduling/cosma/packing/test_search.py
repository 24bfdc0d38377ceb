import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.cosma.packing.search import pack, pack_by_search
from accnn.passes.scheduling.engine.blocks import Block, pack_greedily, peak_bytes
from tests.block_strategies import block_lists, overlaps
from tests.thinned import examples, thinned

MINIMALLOC = Path(__file__).parents[4] / "data" / "minimalloc"
CAPACITY = 1_048_576


def fits_somehow(blocks: list[Block], budget: int) -> bool:
    """Try every address of every block."""
    taken = [0] * (1 + max((block.last for block in blocks), default=0))

    def extend(index: int) -> bool:
        if index == len(blocks):
            return True
        block = blocks[index]
        steps = range(block.first, block.last + 1)
        for address in range(budget - block.bytes + 1):
            mask = ((1 << block.bytes) - 1) << address
            if any(taken[step] & mask for step in steps):
                continue
            for step in steps:
                taken[step] |= mask
            if extend(index + 1):
                return True
            for step in steps:
                taken[step] &= ~mask
        return False

    return extend(0)


def minimalloc(name: str) -> list[Block]:
    with (MINIMALLOC / f"{name}.1048576.csv").open() as lines:
        return [
            Block(first=int(row["lower"]), last=int(row["upper"]) - 1, bytes=int(row["size"]))
            for row in csv.DictReader(lines)
        ]


def test_more_bytes_at_once_than_there_are_is_a_proof():
    blocks = [Block(first=0, last=2, bytes=5), Block(first=2, last=3, bytes=4)]

    assert pack_by_search(blocks, 8) == (None, True)
    assert pack_by_search(blocks, 9)[0] is not None


@settings(max_examples=examples(150), deadline=None)
@given(block_lists(5, 0, 6), st.integers(0, 2))
def test_the_search_packs_what_fits_and_proves_the_rest(blocks: list[Block], extra: int):
    budget = peak_bytes(blocks) + extra

    addresses, proven = pack_by_search(blocks, budget)

    assert proven
    assert (addresses is not None) == fits_somehow(blocks, budget)
    assert addresses is None or not overlaps(blocks, addresses, budget)


@st.composite
def full_block_lists(draw: st.DrawFn) -> tuple[list[Block], int]:
    """Blocks that leave no byte unused at any step: many cannot be packed."""
    budget = draw(st.integers(5, 8))
    free = [budget] * 7
    found: list[Block] = []
    for _ in range(draw(st.integers(3, 8))):
        first = draw(st.integers(0, 6))
        last = min(6, first + draw(st.integers(1, 3)))
        room = min(free[first : last + 1])
        if room:
            found.append(Block(first=first, last=last, bytes=draw(st.integers(1, room))))
            for step in range(first, last + 1):
                free[step] -= found[-1].bytes
    fillers = [Block(first=i, last=i, bytes=room) for i, room in enumerate(free) if room]
    return found + fillers, budget


@settings(max_examples=examples(300), deadline=None)
@given(full_block_lists(), st.integers(0, 1))
def test_the_search_is_exact_where_no_byte_is_left(case: tuple[list[Block], int], extra: int):
    blocks, budget = case
    addresses, proven = pack_by_search(blocks, budget + extra)

    assert proven
    assert (addresses is not None) == fits_somehow(blocks, budget + extra)
    assert addresses is None or not overlaps(blocks, addresses, budget + extra)


UNPACKABLE = {
    4: "012 002 121 141 231 241 331 452 552",
    6: "014 002 141 131 222 252 331 341 452 552",
    9: "356 562 242 451 131 025 004 113 221 667",
}
"""Bytes that are needed at most, and blocks as digits: first step, last step, bytes."""


def unpackable(budget: int) -> list[Block]:
    """Return blocks that need so many bytes at most, and fit no memory of that size."""
    return [
        Block(first=int(first), last=int(last), bytes=int(size))
        for first, last, size in UNPACKABLE[budget].split()
    ]


@pytest.mark.parametrize("budget", list(UNPACKABLE))
@pytest.mark.parametrize("spare", [0, 1])
def test_what_has_no_addresses_is_told_from_what_has(budget: int, spare: int):
    blocks = unpackable(budget)
    assert peak_bytes(blocks) == budget

    addresses, proven = pack_by_search(blocks, budget + spare)

    assert proven
    assert (addresses is not None) == fits_somehow(blocks, budget + spare) == bool(spare)


@pytest.mark.parametrize("name", [*thinned("AECBD")])
def test_minimalloc_shapes_pack_at_their_capacity(name: str):
    blocks = minimalloc(name)

    addresses, proven = pack_by_search(blocks, CAPACITY)

    assert proven
    assert addresses is not None
    assert not overlaps(blocks, addresses, CAPACITY)


def test_a_few_nodes_leave_a_hard_shape_open():
    assert pack_by_search(minimalloc("E"), CAPACITY, nodes=1000) == (None, False)


def test_the_same_blocks_get_the_same_addresses():
    blocks = minimalloc("C")

    assert pack_by_search(blocks, CAPACITY) == pack_by_search(blocks, CAPACITY)


def test_no_blocks_and_empty_blocks_are_packed():
    assert pack_by_search([], 0) == ((), True)
    assert pack_by_search([Block(first=0, last=3, bytes=0)], 0) == ((0,), True)


def test_more_than_fits_at_one_step_is_refused():
    blocks = [Block(first=0, last=1, bytes=3), Block(first=1, last=2, bytes=3)]

    assert pack_by_search(blocks, 5) == (None, True)
    assert pack_by_search(blocks, 6) == ((0, 3), True)


@pytest.mark.parametrize("nodes", [200, 10_000])
def test_what_first_fit_leaves_open_is_searched_for(nodes: int):
    blocks = minimalloc("C")

    addresses, proven = pack(blocks, CAPACITY, nodes=nodes)

    assert pack_greedily(blocks, CAPACITY) is None
    assert proven == (addresses is not None) == (nodes > 200)
    assert addresses is None or not overlaps(blocks, addresses, CAPACITY)


@settings(max_examples=60, deadline=None)
@given(block_lists(6, 1, 5), st.integers(0, 2))
def test_packing_is_exact(blocks: list[Block], extra: int):
    budget = peak_bytes(blocks) + extra

    addresses, proven = pack(blocks, budget)

    assert proven
    assert (addresses is not None) == fits_somehow(blocks, budget)
    assert addresses is None or not overlaps(blocks, addresses, budget)


def test_what_fits_is_not_denied_where_a_part_has_failed_behind_another():
    blocks = [
        Block(first=int(first), last=int(last), bytes=int(size))
        for first, last, size in ["574", "472", "023", "341", "342", "441", "003", "133"]
    ]

    addresses, proven = pack_by_search(blocks, 6, nodes=2000)

    assert proven
    assert addresses is not None and not overlaps(blocks, addresses, 6)


def test_more_blocks_than_calls_can_nest_are_left_open() -> None:
    blocks = [Block(first=step, last=step + 1, bytes=3 + step % 2) for step in range(2000)]

    assert pack_by_search(blocks, 7, nodes=5000) == (None, False)
