"""From tiles at addresses to strided accesses."""

import math
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from accnn.backend.lowering.addressing import off_chip, on_chip, squeeze
from accnn.ir.isa.instructions import Access, Space
from accnn.ir.tiles.graph import Range, Role, Tile


def tile(address: int | None = None, space: Space = Space.GB) -> Tile:
    return Tile(
        tensor="x",
        role=Role.I,
        view=(100, 10, 1),
        box=(Range(0, 2), Range(1, 8, 3), Range(4, 9)),
        element_bytes=2,
        space=space,
        address=address,
    )


def offsets(shape: tuple[int, ...], access: Access) -> list[int]:
    """Return the byte offsets of an access in loop order."""
    return [
        access.address + sum(i * stride for i, stride in zip(index, access.strides, strict=True))
        for index in product(*map(range, shape))
    ]


def test_a_placed_tile_is_dense():
    access = on_chip(tile(), 0, 64, tile().box)

    assert access == Access(Space.GB, 0, 64, (30, 10, 2))


def test_a_part_of_a_placed_tile_begins_inside():
    box = (Range(1, 2), Range(4, 5), Range(6, 9))

    assert on_chip(tile(), 0, 64, box).address == 64 + 30 + 10 + 4


def test_a_resident_tile_keeps_the_strides_of_its_tensor():
    whole = tile(address=8)

    assert on_chip(whole, 0, 8, whole.box).strides == (200, 60, 2)


def test_private_spaces_belong_to_an_npu():
    assert on_chip(tile(space=Space.WB), 3, 0, tile().box).npu == 3
    assert on_chip(tile(), 3, 0, tile().box).npu == 0


def test_off_chip_a_tile_lies_in_its_tensor():
    access = off_chip(tile(), 1000)

    assert access == Access(Space.DRAM, 0, 1000 + 2 * (10 + 4), (200, 60, 2))


def test_loops_without_gaps_are_joined():
    dense = Access(Space.GB, 0, 0, (12, 4, 1))
    outside = Access(Space.DRAM, 0, 0, (100, 4, 1))

    shape, accesses = squeeze((2, 3, 4), dense, outside)

    assert shape == (2, 12)
    assert [access.strides for access in accesses] == [(12, 1), (100, 1)]


@given(st.data())
def test_squeezed_loops_visit_the_same_elements_in_the_same_order(data: st.DataObject):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    dense = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    accesses = [
        Access(
            Space.GB,
            0,
            7,
            tuple(data.draw(st.sampled_from((0, stride, 5 * stride))) for stride in dense),
        )
        for _ in range(2)
    ]

    fewer, squeezed = squeeze(shape, *accesses)

    assert len(fewer) <= len(shape)
    for before, after in zip(accesses, squeezed, strict=True):
        assert offsets(fewer, after) == offsets(shape, before)
