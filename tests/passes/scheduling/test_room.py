"""Placing tiles in an address range."""

from accnn.passes.scheduling.room import AT_ONCE, NEVER, Room, Stay


def _room(*stays: tuple[int, int, int]) -> Room:
    room = Room(100, 64)
    for tile, at, size in stays:
        room.add(Stay(tile, at, size, NEVER))
    return room


def _find(room: Room, size: int, *, high: bool = False, pinned: str = "", next_use=None):
    for tile, use in {**(next_use or {}), **{int(digit): AT_ONCE for digit in pinned}}.items():
        room.stays[tile].next_use = use
    return room.find(size, high=high, horizon=0)


def test_an_empty_room_gives_its_low_or_high_end():
    assert _find(_room(), 10) == (100, ())
    assert _find(_room(), 10, high=True) == (154, ())


def test_the_smallest_free_gap_is_taken():
    room = _room((1, 110, 10), (2, 126, 10))

    assert _find(room, 6) == (120, ())


def test_the_tile_that_is_used_last_makes_room():
    room = _room((1, 100, 32), (2, 132, 32))

    address, gone = _find(room, 32, next_use={1: 9, 2: 5})

    assert (address, [stay.tile for stay in gone]) == (100, [1])


def test_a_pinned_tile_stays():
    room = _room((1, 100, 32), (2, 132, 32))

    address, gone = _find(room, 20, pinned="1", next_use={1: 9, 2: 5})

    assert (address, [stay.tile for stay in gone]) == (132, [2])


def test_no_room_between_pinned_tiles():
    assert _find(_room((1, 120, 10)), 40, pinned="1") is None


def test_more_than_the_room_never_fits():
    assert _find(_room(), 65) is None
    assert _find(_room(), 64) == (100, ())


def test_what_overlaps_a_range():
    room = _room((3, 150, 10), (1, 100, 10), (2, 110, 32))

    assert [stay.tile for stay in room.between(109, 111)] == [1, 2]
    assert [stay.tile for stay in room.between(142, 150)] == []
    assert [stay.tile for stay in room.between(0, 999)] == [1, 2, 3]


def test_a_tile_that_left_is_in_nobodys_way():
    room = _room((1, 100, 32), (2, 132, 32))

    room.remove(room.stays[1])

    assert list(room.stays) == [2]
    assert _find(room, 32, pinned="2") == (100, ())
    assert list(room.between(100, 132)) == []
