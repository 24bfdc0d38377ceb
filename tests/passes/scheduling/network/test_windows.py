"""What an operation sees of a resident tile, along whatever axes."""

from dataclasses import replace

import pytest

from accnn.ir.isa.instructions import Space
from accnn.ir.operators.access import Box, View
from accnn.ir.tiles.graph import Range, Role, Tile
from accnn.ir.tiles.regions import region_of
from accnn.passes.scheduling.network.windows import Seen, window


def whole(*shape: int) -> Tile:
    """A resident tensor of two bytes an element, along its own axes."""
    return Tile(
        tensor="t",
        role=Role.I,
        view=View.dense(shape).strides,
        box=tuple(Range(0, size) for size in shape),
        element_bytes=2,
        space=Space.GB,
        address=100,
    )


def box(*ends: tuple[int, int]) -> Box:
    return tuple(Range(start, stop) for start, stop in ends)


@pytest.mark.parametrize(
    ("tile", "shape", "seen", "first", "count"),
    [
        (whole(64, 1), (1, 8, 8, 1), box((0, 1), (3, 5), (0, 8), (0, 1)), 24, 16),
        (whole(1, 8, 8, 1), (64, 1), box((24, 40), (0, 1)), 24, 16),
        (whole(16, 4), (4, 16), box((1, 3), (0, 16)), 16, 32),  # as many axes, but others
    ],
)
def test_what_a_reshape_sees_is_where_it_lies(
    tile: Tile, shape: tuple[int, ...], seen: Box, first: int, count: int
):
    part = window(tile, Seen(seen, View.dense(shape)))

    assert part.address == 100 + 2 * first
    assert region_of(part).offset == first
    assert region_of(part).end == first + count
    assert part.box == seen


@pytest.mark.parametrize("view", [None, View((8, 1, 6), (6, 6, 1)), View((8, 1, 6), (6, 99, 1))])
def test_along_its_own_axes_a_tile_keeps_its_view_and_its_steps(view: View | None):
    """The distance along an axis of one element is of no matter."""
    tile = whole(8, 1, 6)
    tile = replace(tile, box=(Range(0, 8, 2), *tile.box[1:]))

    part = window(tile, Seen(box((2, 6), (0, 1), (0, 6)), view))

    assert part.view == tile.view
    assert part.box == (Range(2, 6, 2), Range(0, 1), Range(0, 6))
    assert part.address == 100 + 2 * 12
