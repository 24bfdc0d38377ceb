"""Addresses of the scratchpad and until when they were held."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.scheduling.across.plain.address_space import AddressSpace


def held(*ranges: tuple[int, int, int]) -> AddressSpace:
    """Return a space whose ranges were held until some cycle."""
    space = AddressSpace()
    for low, high, end in ranges:
        space.use(space.claim(low, high), end)
    return space


def test_a_content_begins_when_all_that_it_covers_has_ended():
    space = held((0, 10, 5), (10, 20, 9), (20, 30, 70))

    assert space.claim(4, 16).begin == 9
    assert space.claim(30, 40).begin == 0


def test_what_sticks_out_of_a_claim_remains():
    space = held((0, 30, 50))
    space.use(space.claim(10, 20), 60)

    assert [space.free_at(low, low + 10) for low in (0, 10, 20)] == [50, 60, 50]


def test_the_space_that_is_free_first_is_taken():
    space = held((0, 10, 50), (10, 20, 20), (20, 40, 30))

    assert space.earliest(10, (), 40) == 10
    assert space.earliest(10, ((10, 20),), 40) == 20
    assert space.earliest(20, (), 40) == 10


def test_of_equal_spaces_the_tightest_gap_is_taken():
    assert AddressSpace().earliest(8, ((10, 20), (28, 60)), 100) == 20


def test_space_in_pieces_is_none():
    assert AddressSpace().earliest(11, ((10, 20),), 30) is None
    assert AddressSpace().earliest(10, ((10, 20),), 30) == 0


def test_live_contents_are_walls_until_they_leave():
    space = AddressSpace()
    claim = space.claim(10, 20, is_live=True)

    assert space.earliest(16, (), 30) is None
    assert space.earliest(8, (), 30) == 0
    assert space.leave(claim) == 0
    assert space.earliest(16, (), 30) == 0


def test_spaces_that_are_free_in_time_are_equal():
    space = held((0, 10, 50), (10, 20, 20), (20, 40, 30))

    assert space.earliest(10, (), 40, quiet=25) == 10
    assert space.earliest(10, (), 40, quiet=50) == 0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 9), st.booleans())))
def test_the_address_is_the_best_of_all(claims):
    """Every address is tried: none is free sooner, or as soon in a tighter gap."""
    space, live = AddressSpace(), np.zeros(40, np.bool_)
    held_until = np.zeros(40, np.int64)
    for low, size, end, remains in claims:
        if live[low : low + size].any():
            continue
        space.use(space.claim(low, low + size, is_live=remains), end)
        held_until[low : low + size] = max(end, held_until[low : low + size].max())
        live[low : low + size] = remains

    found = space.earliest(4, ((36, 38),), 40)

    live[36:38] = True
    fitting = [at for at in range(37) if not live[at : at + 4].any()]
    soonest = {at: int(held_until[at : at + 4].max()) for at in fitting}
    assert (found is None) == (not fitting)
    if found is not None:
        assert soonest[found] == min(soonest.values())


def test_there_is_space_for_any_number_of_contents():
    space = AddressSpace()
    for number in range(300):
        space.use(space.claim(2 * number, 2 * number + 1, is_live=number % 2 == 0), number)

    assert [space.free_at(2 * at, 2 * at + 2) for at in range(300)] == [*range(300)]
    assert space.earliest(3, (), 600) == 1
    assert space.earliest(4, (), 600) is None
