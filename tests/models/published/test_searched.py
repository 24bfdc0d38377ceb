"""The walk over a searched cell's pairs."""

import pytest

from accnn.models.published.searched import AMOEBANET_D, DARTS, SearchedCell

PAIRS = (((0, "f"), (1, "g")), ((2, "h"), (0, "f")))


def walk(cell):
    """Grow a cell of texts that say how they were made."""
    return cell.grow(
        ("x", "y"),
        lambda state, part, function, stride: f"{part}:{function}{stride}({state})",
        lambda left, right, name: f"{name}[{left} {right}]",
    )


def test_a_state_is_the_sum_of_a_pair():
    first = "add2[2l:f1(x) 2r:g1(y)]"

    assert walk(SearchedCell(PAIRS, (1, 2, 3))) == ["y", first, f"add3[3l:h1({first}) 3r:f1(x)]"]


def test_a_reduction_halves_what_reads_an_input():
    first = "add2[2l:f2(x) 2r:g2(y)]"

    assert walk(SearchedCell(PAIRS, (3,), is_reduction=True)) == [f"add3[3l:h1({first}) 3r:f2(x)]"]


@pytest.mark.parametrize("cells", [AMOEBANET_D, DARTS])
def test_every_state_is_read_or_joined(cells):
    for cell in (cells.normal, cells.reduction):
        read = {source for pair in cell.pairs for source, _ in pair}
        assert read | set(cell.joined) >= set(range(2, 2 + len(cell.pairs)))
        assert all(source < 2 + n for n, pair in enumerate(cell.pairs) for source, _ in pair)


def test_the_cells_reduce_by_the_right_one():
    assert AMOEBANET_D.reduction.is_reduction and not AMOEBANET_D.normal.is_reduction
    assert DARTS.reduction.is_reduction and not DARTS.normal.is_reduction
