"""Rooms of the scratchpad and until when they were held."""

from accnn.passes.scheduling.across.occupancy import AddressSpace


def held(*ranges: tuple[int, int, int]) -> AddressSpace:
    """Return a space whose ranges were held until some cycle."""
    space = AddressSpace()
    for low, high, end in ranges:
        space.claim(low, high).end = end
    return space


def test_a_content_begins_when_all_that_it_covers_has_ended():
    space = held((0, 10, 5), (10, 20, 9), (20, 30, 70))

    assert space.claim(4, 16).begin == 9
    assert space.claim(30, 40).begin == 0


def test_what_sticks_out_of_a_claim_stays():
    space = held((0, 30, 50))
    space.claim(10, 20).end = 60

    assert [space.free_at(low, low + 10) for low in (0, 10, 20)] == [50, 60, 50]


def test_the_room_that_is_free_first_is_taken():
    space = held((0, 10, 50), (10, 20, 20), (20, 40, 30))

    assert space.earliest(10, (), 40) == 10
    assert space.earliest(10, ((10, 20),), 40) == 20
    assert space.earliest(20, (), 40) == 10


def test_of_equal_rooms_the_tightest_gap_is_taken():
    assert AddressSpace().earliest(8, ((10, 20), (28, 60)), 100) == 20


def test_room_in_pieces_is_no_room():
    assert AddressSpace().earliest(11, ((10, 20),), 30) is None
    assert AddressSpace().earliest(10, ((10, 20),), 30) == 0
