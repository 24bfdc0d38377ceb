"""Placing tiles in an address range."""

from accnn.passes.scheduling.room import AT_ONCE, NEVER, Room, Stay


def _room(*stays: tuple[int, int, int]) -> Room:
    return Room(100, 64, {tile: Stay(tile, at, size, []) for tile, at, size in stays})


def _find(room: Room, size: int, *, high: bool = False, pinned: str = "", next_use=None):
    uses = {int(digit): AT_ONCE for digit in pinned}
    return room.find(
        size,
        high=high,
        next_use=lambda stay: uses.get(stay.tile, (next_use or {}).get(stay.tile, NEVER)),
        horizon=0,
    )


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
