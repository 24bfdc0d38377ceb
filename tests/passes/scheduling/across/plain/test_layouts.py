"""Tiles of one operator fit together as they lie, mirrored, and moved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.tiles.events import Placement
from tests.passes.scheduling.across.plain.address_space import AddressSpace
from tests.passes.scheduling.across.plain.layouts import Layout, PlacedTile


def tile(address: int, first: int, last: int) -> Placement:
    return Placement(tile=0, npu=0, address=address, first_event=first, last_event=last)


A, B, C = tile(10, 0, 4), tile(30, 1, 2), tile(30, 3, 5)
LAYOUT = Layout((PlacedTile(A, 20, 0), PlacedTile(B, 8, 5), PlacedTile(C, 30, 9)))


def test_tiles_lie_as_they_did_or_mirrored_or_at_either_end_of_what_they_may_use():
    ways = list(LAYOUT.ways((0, 100)))

    assert [way.place(A, 20) for way in ways] == [
        *((10, 30), (40, 60)),
        *((0, 20), (30, 50)),
        *((50, 70), (80, 100)),
    ]
    assert [way.place(C, 30) for way in ways] == [
        *((30, 60), (10, 40)),
        *((20, 50), (0, 30)),
        *((70, 100), (50, 80)),
    ]


def test_what_may_not_be_used_is_not():
    ways = list(LAYOUT.ways((20, 100)))

    assert [way.place(A, 20) for way in ways] == [(10, 30), (40, 60)]


def test_others_that_come_while_a_tile_is_there_keep_their_places():
    assert LAYOUT.beside(A).tolist() == [[30, 38], [30, 60]]
    assert LAYOUT.beside(B).tolist() == []
    mirrored = Layout(LAYOUT.tiles, is_mirrored=True, shift=30)
    assert mirrored.beside(A).tolist() == [[62, 70], [40, 70]]


def test_those_count_that_come_before_one_leaves():
    space = AddressSpace()
    for low, high, end in ((10, 20, 7), (36, 50, 9)):
        space.use(space.claim(low, high), end)

    assert LAYOUT.wait(space) == (7, 7 + 9)
    assert Layout(LAYOUT.tiles, shift=40).wait(space) == (0, 0)


def test_a_later_tile_may_have_its_place_later():
    space = AddressSpace()
    space.use(space.claim(30, 60), 11)
    together = Layout((PlacedTile(A, 20, 2), PlacedTile(B, 8, 5)))

    assert together.wait(space) == (11 - 5, 11)
    assert Layout(together.tiles, is_mirrored=True).wait(space) == (11 - 2, 11)


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 9), st.integers(0, 9), st.integers(0, 5)),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 20),
)
def test_tiles_that_fit_together_do_so_mirrored_and_moved(drawn, spare: int):
    """Those of the drawn tiles that are apart: in addresses, or in events."""
    items: list[tuple[Placement, int]] = []
    for address, size, first, length in drawn:
        item = tile(address, first, first + length)
        if all(_apart(item, size, *other) for other in items):
            items.append((item, size))
    ordered = sorted(items, key=lambda pair: pair[0].first_event)
    layout = Layout(tuple(PlacedTile(item, size, item.first_event) for item, size in ordered))
    top = max(item.address + size for item, size in items) + spare

    for way in layout.ways((0, top)):
        moved = [
            (tile(way.place(item, size)[0], item.first_event, item.last_event), size)
            for item, size in items
        ]
        assert all(0 <= item.address <= top - size for item, size in moved)
        assert all(_apart(*one, *other) for at, one in enumerate(moved) for other in moved[:at])


def _apart(one: Placement, size: int, other: Placement, others: int) -> bool:
    in_time = one.last_event < other.first_event or other.last_event < one.first_event
    below = one.address + size <= other.address
    return in_time or below or other.address + others <= one.address


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_tile_is_not_beside_itself(is_mirrored: bool):
    assert Layout((PlacedTile(A, 20, 0),), is_mirrored).beside(A).tolist() == []
