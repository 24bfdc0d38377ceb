"""Placing tiles in an address range."""

from accnn.passes.scheduling.allocator import AT_ONCE, NEVER, Allocator, Occupant


def _allocator(*occupants: tuple[int, int, int]) -> Allocator:
    allocator = Allocator(100, 64)
    for tile, at, size in occupants:
        allocator.add(Occupant(tile, at, size, NEVER))
    return allocator


def _find(allocator: Allocator, size: int, *, high: bool = False, pinned: str = "", next_use=None):
    for tile, use in {**(next_use or {}), **{int(digit): AT_ONCE for digit in pinned}}.items():
        allocator.occupants[tile].next_use = use
    return allocator.find(size, high=high, horizon=0)


def test_an_empty_range_gives_its_low_or_high_end():
    assert _find(_allocator(), 10) == (100, ())
    assert _find(_allocator(), 10, high=True) == (154, ())


def test_the_smallest_free_gap_is_taken():
    allocator = _allocator((1, 110, 10), (2, 126, 10))

    assert _find(allocator, 6) == (120, ())


def test_the_tile_that_is_used_last_makes_space():
    allocator = _allocator((1, 100, 32), (2, 132, 32))

    address, gone = _find(allocator, 32, next_use={1: 9, 2: 5})

    assert (address, [occupant.tile for occupant in gone]) == (100, [1])


def test_a_pinned_tile_stays():
    allocator = _allocator((1, 100, 32), (2, 132, 32))

    address, gone = _find(allocator, 20, pinned="1", next_use={1: 9, 2: 5})

    assert (address, [occupant.tile for occupant in gone]) == (132, [2])


def test_no_space_between_pinned_tiles():
    assert _find(_allocator((1, 120, 10)), 40, pinned="1") is None


def test_more_than_the_space_never_fits():
    assert _find(_allocator(), 65) is None
    assert _find(_allocator(), 64) == (100, ())


def test_what_overlaps_a_range():
    allocator = _allocator((3, 150, 10), (1, 100, 10), (2, 110, 32))

    assert [occupant.tile for occupant in allocator.between(109, 111)] == [1, 2]
    assert [occupant.tile for occupant in allocator.between(142, 150)] == []
    assert [occupant.tile for occupant in allocator.between(0, 999)] == [1, 2, 3]


def test_a_tile_that_left_is_in_nobodys_way():
    allocator = _allocator((1, 100, 32), (2, 132, 32))

    allocator.remove(allocator.occupants[1])

    assert list(allocator.occupants) == [2]
    assert _find(allocator, 32, pinned="2") == (100, ())
    assert list(allocator.between(100, 132)) == []
