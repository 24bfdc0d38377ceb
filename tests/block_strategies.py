"""Random blocks to pack."""

from hypothesis import strategies as st

from accnn.passes.scheduling.cosma.packing.blocks import Block


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
