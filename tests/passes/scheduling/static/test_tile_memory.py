"""Placing tiles in an address range, and who makes space."""

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.engine.address_space import AT_ONCE, NEVER
from accnn.passes.scheduling.static.tile_memory import TileRange
from tests.thinned import examples


def _memory(*occupants: tuple[int, int, int]) -> TileRange:
    memory = TileRange(100, 64)
    for tile, at, size in occupants:
        memory.add(tile, at, size, NEVER, is_result=False)
    return memory


def _find(memory: TileRange, size: int, *, high: bool = False, pinned: str = "", next_use=None):
    for tile, use in {**(next_use or {}), **{int(digit): AT_ONCE for digit in pinned}}.items():
        memory.needed(memory.occupants[tile], use)
    return memory.find(size, high=high, horizon=0)


def test_an_empty_range_gives_its_low_or_high_end():
    assert _find(_memory(), 10) == (100, ())
    assert _find(_memory(), 10, high=True) == (154, ())


def test_the_smallest_free_gap_is_taken():
    memory = _memory((1, 110, 10), (2, 126, 10))

    assert _find(memory, 6) == (120, ())


def test_the_tile_that_is_used_last_makes_space():
    memory = _memory((1, 100, 32), (2, 132, 32))

    address, gone = _find(memory, 32, next_use={1: 9, 2: 5})

    assert (address, [occupant.tile for occupant in gone]) == (100, [1])


def test_a_pinned_tile_stays():
    memory = _memory((1, 100, 32), (2, 132, 32))

    address, gone = _find(memory, 20, pinned="1", next_use={1: 9, 2: 5})

    assert (address, [occupant.tile for occupant in gone]) == (132, [2])


def test_no_space_between_pinned_tiles():
    assert _find(_memory((1, 120, 10)), 40, pinned="1") is None


def test_more_than_the_space_never_fits():
    assert _find(_memory(), 65) is None
    assert _find(_memory(), 64) == (100, ())


def test_sums_change_sides():
    memory = TileRange(100, 64)
    sides: list[int] = []
    for tile in range(4):
        address, _ = memory.find(24, high=memory.is_upper_next, horizon=0) or (-1, ())
        memory.add(tile, address, 24, AT_ONCE, is_result=True)
        sides.append(address)
        if tile:
            memory.remove(memory.occupants[tile - 1])

    assert sides == [140, 100, 140, 100]


def test_of_free_space_what_is_ready_first_is_taken():
    memory = _memory((1, 100, 32), (2, 132, 32))
    for tile, end in ((1, 90), (2, 70)):
        memory.space.use(memory.occupants[tile].claim, end)
        memory.remove(memory.occupants[tile])

    assert memory.find(32, high=False, horizon=0) == (100, ())  # one gap: its low end
    memory.add(3, 130, 2, AT_ONCE, is_result=False)
    assert memory.find(30, high=False, horizon=0) == (132, ())
    assert memory.find(30, high=False, horizon=0, quiet=90) == (100, ())


def test_a_tile_that_left_is_in_nobodys_way():
    memory = _memory((1, 100, 32), (2, 132, 32))

    memory.remove(memory.occupants[1])

    assert list(memory.occupants) == [2]
    assert _find(memory, 32, pinned="2") == (100, ())
    assert memory.space.live(100, 132) == []


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_what_is_kept_up_to_date_is_what_counting_gives(data: st.DataObject):
    memory, uses = TileRange(100, 64), st.sampled_from([AT_ONCE, 0, 1, 2, 5, 9, NEVER])
    for tile in range(data.draw(st.integers(1, 25))):
        there = sorted(memory.occupants)
        what = data.draw(st.sampled_from(["add", "needed", "remove"])) if there else "add"
        if what == "add":
            address, size = memory.space.earliest(4, [], 164) or 0, data.draw(st.integers(1, 4))
            memory.add(tile, address, size, data.draw(uses), is_result=data.draw(st.booleans()))
        elif what == "needed":
            memory.needed(memory.occupants[data.draw(st.sampled_from(there))], data.draw(uses))
        else:
            memory.remove(memory.occupants[data.draw(st.sampled_from(there))])
        horizon = data.draw(st.integers(-1, 10))

        items = memory.occupants.values()
        inputs = [item for item in items if not item.is_result]
        assert memory.result_bytes == sum(item.bytes for item in items if item.is_result)
        assert memory.input_bytes(horizon) == sum(
            item.bytes for item in inputs if item.next_use <= horizon
        )
        assert memory.unused == {
            tile: item for tile, item in memory.occupants.items() if item.next_use == NEVER
        }
