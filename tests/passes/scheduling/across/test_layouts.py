"""Tiles of one operator: as they lie, and mirrored, they fit together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.tiles.events import Placement
from accnn.passes.scheduling.across.layouts import Layout
from accnn.passes.scheduling.engine.address_space import AddressSpace


def tile(address: int, first: int, last: int) -> Placement:
    return Placement(tile=0, npu=0, address=address, first_event=first, last_event=last)


A, B, C = tile(10, 0, 4), tile(30, 1, 2), tile(30, 3, 5)
LAYOUT = Layout(((A, 20), (B, 8), (C, 30)))


def test_tiles_are_mirrored_in_what_they_may_use():
    turned = LAYOUT.mirrored((0, 100))

    assert turned.place(A, 20) == (70, 90)
    assert turned.place(C, 30) == (40, 70)


def test_what_may_not_be_used_is_not():
    turned = LAYOUT.mirrored((20, 100))

    assert turned.place(A, 20) == (40, 60)
    assert turned.place(C, 30) == (10, 40)


def test_others_that_come_while_a_tile_is_there_keep_their_places():
    assert sorted(LAYOUT.beside(A)) == [(30, 38), (30, 60)]
    assert list(LAYOUT.beside(B)) == []
    assert list(LAYOUT.mirrored((0, 100)).beside(A)) == [(62, 70), (40, 70)]


def test_those_count_that_come_before_one_leaves():
    space = AddressSpace()
    for low, high, end in ((10, 20, 7), (36, 50, 9)):
        space.use(space.claim(low, high), end)

    assert LAYOUT.wait(space) == 7 + 9
    assert LAYOUT.mirrored((0, 100)).wait(space) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 9), st.integers(0, 9), st.integers(0, 5)),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 20),
)
def test_tiles_that_fit_together_do_so_mirrored(drawn, spare: int):
    """Those of the drawn tiles that are apart: in addresses, or in events."""
    items: list[tuple[Placement, int]] = []
    for address, size, first, length in drawn:
        item = tile(address, first, first + length)
        if all(_apart(item, size, *other) for other in items):
            items.append((item, size))
    layout = Layout(tuple(sorted(items, key=lambda pair: pair[0].first_event)))
    top = max(item.address + size for item, size in items) + spare

    turned = layout.mirrored((0, top))

    moved = [
        (tile(turned.place(item, size)[0], item.first_event, item.last_event), size)
        for item, size in items
    ]
    assert all(0 <= item.address <= top - size for item, size in moved)
    assert all(_apart(*one, *other) for at, one in enumerate(moved) for other in moved[:at])


def _apart(one: Placement, size: int, other: Placement, others: int) -> bool:
    in_time = one.last_event < other.first_event or other.last_event < one.first_event
    below = one.address + size <= other.address
    return in_time or below or other.address + others <= one.address


@pytest.mark.parametrize("turn", [None, 40])
def test_a_tile_is_not_beside_itself(turn: int | None):
    assert list(Layout(((A, 20),), turn).beside(A)) == []
