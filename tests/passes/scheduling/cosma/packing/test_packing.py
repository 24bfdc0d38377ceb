from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.cosma.packing.exact import pack, pack_exactly
from accnn.passes.scheduling.engine.blocks import Block, pack_greedily, peak_bytes
from tests.block_strategies import block_lists, overlaps


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
