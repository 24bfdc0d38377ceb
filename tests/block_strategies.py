"""Random blocks to pack."""

from hypothesis import strategies as st

from accnn.passes.scheduling.engine.blocks import Block


@st.composite
def block_lists(draw: st.DrawFn, latest: int, least: int, most: int) -> list[Block]:
    """Up to seven blocks that begin at ``latest`` at the latest, of ``least`` to ``most`` bytes."""
    found: list[Block] = []
    for _ in range(draw(st.integers(1, 7))):
        first = draw(st.integers(0, latest))
        last, size = first + draw(st.integers(0, 4)), draw(st.integers(least, most))
        found.append(Block(first=first, last=last, bytes=size))
    return found


def meet(block: Block, other: Block) -> bool:
    """Whether two blocks share a step."""
    return block.first <= other.last and other.first <= block.last


def overlaps(blocks: list[Block], addresses: tuple[int, ...], budget: int) -> bool:
    """Whether two blocks share a byte at a step, or one lies outside of the budget."""
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
