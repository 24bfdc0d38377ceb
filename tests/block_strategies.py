"""Random blocks to pack."""

from collections.abc import Callable

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


def cut_rectangle(number: Callable[[int, int], int]) -> tuple[list[Block], int]:
    """Return the pieces of a rectangle of eight steps, and its height [byte]: they fill it.

    A cut goes through a piece from side to side, or four cuts leave a piece in the middle and go
    around it like the wings of a windmill; those pieces cannot be had by cuts from side to side.

    Args:
        number: Chooses one between two, both included.
    """
    height = number(5, 9)
    pieces = [(0, 7, 0, height)]
    for _ in range(number(5, 11)):
        first, last, low, high = pieces.pop(number(0, len(pieces) - 1))
        kind = number(0, 5)
        if kind > 3 and last - first >= 2 and high - low >= 3:
            left, right = sorted((number(first + 1, last - 1), number(first + 1, last - 1)))
            bottom = number(low + 1, high - 2)
            top = number(bottom + 1, high - 1)
            pieces += [
                (first, right, low, bottom),
                (right + 1, last, low, top),
                (left, last, top, high),
                (first, left - 1, bottom, high),
                (left, right, bottom, top),
            ]
        elif kind % 2 and last > first:
            at = number(first, last - 1)
            pieces += [(first, at, low, high), (at + 1, last, low, high)]
        elif high - low > 1:
            at = number(low + 1, high - 1)
            pieces += [(first, last, low, at), (first, last, at, high)]
        else:
            pieces.append((first, last, low, high))
    blocks = [Block(first=first, last=last, bytes=high - low) for first, last, low, high in pieces]
    return blocks, height


@st.composite
def rectangles(draw: st.DrawFn) -> tuple[list[Block], int]:
    """The pieces of a rectangle in any order, and its height [byte]: they can be packed."""
    blocks, height = cut_rectangle(lambda least, most: draw(st.integers(least, most)))
    return draw(st.permutations(blocks)), height


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
