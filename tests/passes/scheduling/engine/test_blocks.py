"""Fast packings of blocks."""

import csv
from pathlib import Path

import pytest

from accnn.passes.scheduling.engine.blocks import Block, connected_groups, pack_greedily
from tests.block_strategies import overlaps

MINIMALLOC = Path(__file__).parents[3] / "data" / "minimalloc"


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
