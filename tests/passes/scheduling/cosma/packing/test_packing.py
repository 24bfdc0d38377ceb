import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.cosma.packing.blocks import (
    Block,
    connected_groups,
    pack_greedily,
    peak_bytes,
)
from accnn.passes.scheduling.cosma.packing.exact import pack, pack_exactly
from tests.block_strategies import block_lists, meet

MINIMALLOC = Path(__file__).parents[4] / "data" / "minimalloc"


def overlaps(blocks: list[Block], addresses: tuple[int, ...], budget: int) -> bool:
    placed = list(zip(blocks, addresses, strict=True))
    for index, (block, address) in enumerate(placed):
        if address < 0 or address + block.bytes > budget:
            return True
        for other, place in placed[index + 1 :]:
            if (
                meet(block, other)
                and address < place + other.bytes
                and place < address + block.bytes
            ):
                return True
    return False


def fits_somehow(blocks: list[Block], budget: int) -> bool:
    """Try every address of every block."""
    placed: list[int] = []

    def extend() -> bool:
        if len(placed) == len(blocks):
            return True
        block = blocks[len(placed)]
        for address in range(budget - block.bytes + 1):
            placed.append(address)
            if not overlaps(blocks[: len(placed)], tuple(placed), budget) and extend():
                return True
            placed.pop()
        return False

    return extend()


@settings(max_examples=60, deadline=None)
@given(block_lists(6, 1, 5), st.integers(0, 2))
def test_packing_is_exact(blocks: list[Block], extra: int):
    budget = peak_bytes(blocks) + extra

    addresses, proven = pack(blocks, budget)

    assert proven
    assert (addresses is not None) == fits_somehow(blocks, budget)
    if addresses is not None:
        assert not overlaps(blocks, addresses, budget)


@settings(max_examples=40, deadline=None)
@given(block_lists(6, 1, 5))
def test_the_program_alone_packs_what_fits(blocks: list[Block]):
    budget = peak_bytes(blocks) + 1
    addresses, proven = pack_exactly(blocks, budget)

    assert proven
    assert (addresses is not None) == fits_somehow(blocks, budget)
    assert addresses is None or not overlaps(blocks, addresses, budget)


def test_what_exceeds_the_budget_at_one_step_is_refused():
    blocks = [Block(first=0, last=1, bytes=3), Block(first=1, last=2, bytes=3)]

    assert pack(blocks, 5) == (None, True)
    assert pack_greedily(blocks, 6) is not None


def test_blocks_apart_in_time_are_packed_apart():
    blocks = [Block(first=0, last=1, bytes=3), Block(first=2, last=3, bytes=3)]

    assert connected_groups(blocks) == [[0], [1]]
    assert pack_greedily(blocks, 3) == (0, 0)


@pytest.mark.parametrize("name", ["A", "B", "C", "D", "E"])
def test_minimalloc_shapes_pack_with_some_room_to_spare(name: str):
    with (MINIMALLOC / f"{name}.1048576.csv").open() as lines:
        blocks = [
            Block(first=int(row["lower"]), last=int(row["upper"]) - 1, bytes=int(row["size"]))
            for row in csv.DictReader(lines)
        ]
    budget = 1_048_576 * 5 // 4

    addresses = pack_greedily(blocks, budget)

    assert addresses is not None
    assert not overlaps(blocks, addresses, budget)
