"""First fit as compiled, against a memory of which every byte is looked at in every step."""

import random

import numpy as np

from accnn.passes.scheduling.engine.blocks import Block, listed, neighbours, peak_bytes
from accnn.passes.scheduling.engine.kernel.first_fit import Placing, first_fit
from tests.thinned import examples


def drawn(rng: random.Random) -> list[Block]:
    """Return up to twelve blocks in a few steps; some have no bytes."""
    steps = rng.randint(1, 8)
    found: list[Block] = []
    for _ in range(rng.randint(1, 12)):
        first = rng.randrange(steps)
        last = min(steps - 1, first + rng.randrange(4))
        found.append(Block(first=first, last=last, bytes=rng.randint(0, 5)))
    return found


def compiled(
    blocks: list[Block], orders: list[list[int]], budget: int, repairs: int
) -> list[int] | None:
    near, near_from = listed(neighbours(blocks))
    count = len(blocks)
    placing = Placing(
        np.asarray([block.bytes for block in blocks], np.int64),
        near,
        near_from,
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )
    fits = first_fit(placing, np.asarray(orders, np.int64), budget, repairs)
    return placing.places.tolist() if fits else None


def byte_by_byte(
    blocks: list[Block], orders: list[list[int]], budget: int, repairs: int
) -> list[int] | None:
    for order in map(list, orders):
        for _ in range(repairs):
            found, failed = _placed(blocks, order, budget)
            if failed is None:
                return [found[number] for number in range(len(blocks))]
            order.remove(failed)
            order.insert(0, failed)
    return None


def _placed(
    blocks: list[Block], order: list[int], budget: int
) -> tuple[dict[int, int], int | None]:
    taken: set[tuple[int, int]] = set()
    found: dict[int, int] = {}
    for number in order:
        block = blocks[number]
        steps = range(block.first, block.last + 1)
        for place in range(budget - block.bytes + 1):
            cells = {(step, place + byte) for step in steps for byte in range(block.bytes)}
            if taken.isdisjoint(cells):
                break
        else:
            return found, number
        taken |= cells
        found[number] = place
    return found, None


def test_every_block_lies_as_low_as_it_can():
    outcomes: set[bool] = set()
    for seed in range(examples(600)):
        rng = random.Random(seed)
        blocks = drawn(rng)
        orders = [rng.sample(range(len(blocks)), len(blocks)) for _ in range(rng.randint(1, 3))]
        budget, repairs = max(0, peak_bytes(blocks) + rng.randint(-1, 2)), rng.randint(1, 4)

        found = compiled(blocks, orders, budget, repairs)

        assert found == byte_by_byte(blocks, orders, budget, repairs)
        outcomes.add(found is None)
    assert len(outcomes) == 2


def test_what_did_not_fit_is_placed_first_in_the_next_attempt():
    blocks = [
        Block(first=0, last=1, bytes=1),
        Block(first=1, last=2, bytes=1),
        Block(first=2, last=2, bytes=3),
    ]

    assert compiled(blocks, [[0, 1, 2]], budget=4, repairs=1) is None
    assert compiled(blocks, [[0, 1, 2]], budget=4, repairs=2) == [0, 3, 0]


def test_the_next_order_is_tried_where_one_fails():
    blocks = [
        Block(first=0, last=1, bytes=1),
        Block(first=1, last=2, bytes=1),
        Block(first=2, last=2, bytes=3),
    ]

    assert compiled(blocks, [[0, 1, 2], [0, 2, 1]], budget=4, repairs=1) == [0, 3, 0]
    assert compiled(blocks, [[0, 1, 2], [0, 2, 1]], budget=3, repairs=9) is None
