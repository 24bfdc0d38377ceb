"""Where there is space in a memory, and who leaves for it."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.engine.kernel.spaces import (
    AT_ONCE,
    END,
    LEFT,
    NEVER,
    Spaces,
    claimed,
    empty_spaces,
    free_at,
    last_needed,
)

LOW, HIGH = 100, 164


def memory(*contents: tuple[int, int, int]) -> Spaces:
    """Return a memory with contents: first byte, byte past the last, next use."""
    spaces = empty_spaces(1, 64, 64)
    for number, (low, high, next_use) in enumerate(contents):
        assert claimed(spaces, 0, low, high, number, next_use) >= 0
    return spaces


def find(spaces: Spaces, size: int, *, high: bool = False, horizon: int = 0, quiet: int = 0) -> int:
    """Return the address of the space that is needed last, of those that are used later."""
    return last_needed(spaces, 0, size, LOW, HIGH, high, horizon, quiet)


def test_an_empty_range_gives_its_low_or_high_end():
    assert find(memory(), 10) == 100
    assert find(memory(), 10, high=True) == 154


def test_the_smallest_free_gap_is_taken():
    assert find(memory((110, 120, NEVER), (126, 136, NEVER)), 6) == 120


def test_the_content_that_is_used_last_makes_space():
    assert find(memory((100, 132, 9), (132, 164, 5)), 32) == 100
    assert find(memory((100, 132, 5), (132, 164, 9)), 32) == 132


def test_what_is_used_up_to_the_horizon_remains():
    spaces = memory((100, 132, 9), (132, 164, 5))

    assert find(spaces, 32, horizon=8) == 100
    assert find(spaces, 32, horizon=9) == -1


def test_pinned_contents_remain():
    assert find(memory((100, 132, AT_ONCE), (132, 164, 5)), 20) == 132
    assert find(memory((120, 130, AT_ONCE)), 40) == -1


def test_more_than_the_space_never_fits():
    assert find(memory(), 65) == -1
    assert find(memory(), 64) == 100


def test_of_free_space_what_is_ready_first_is_taken():
    spaces = memory((100, 132, LEFT), (132, 164, LEFT))
    spaces.contents[:2, END] = 90, 70

    assert find(spaces, 32) == 100  # one gap: its low end
    assert claimed(spaces, 0, 130, 132, 2, AT_ONCE) == 90
    assert find(spaces, 30) == 132
    assert find(spaces, 30, quiet=90) == 100


def test_no_content_comes_where_the_arrays_are_full():
    spaces = empty_spaces(1, 3, 4)

    assert claimed(spaces, 0, 100, 110, 0, NEVER) == 0
    assert claimed(spaces, 0, 110, 120, 1, NEVER) == 0
    assert claimed(spaces, 0, 120, 130, 2, NEVER) == -1
    assert spaces.counts.tolist() == [2]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 9))),
    st.integers(1, 12),
    st.integers(-1, 4),
    st.booleans(),
)
def test_what_leaves_is_needed_last_of_all(
    claims: list[tuple[int, int, int]], size: int, horizon: int, high: bool
):
    """Every address is tried: nowhere would only contents leave that are needed later."""
    contents, uses = list[tuple[int, int, int]](), [NEVER] * 40
    for low, extent, next_use in claims:
        end = min(40, low + extent)
        if all(use == NEVER for use in uses[low:end]):
            contents.append((low, end, next_use))
            uses[low:end] = [next_use] * (end - low)

    found = last_needed(memory(*contents), 0, size, 0, 40, high, horizon, 0)

    soonest = {at: min(uses[at : at + size]) for at in range(41 - size)}
    fitting = [use for use in soonest.values() if use > horizon]
    assert (found < 0) == (not fitting)
    if found >= 0:
        assert soonest[found] == max(fitting)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(0, 99))))
def test_bytes_know_the_last_use_of_their_last_content(claims: Sequence[tuple[int, int, int]]):
    spaces, ends = empty_spaces(1, 100, 100), [0] * 60
    for number, (low, size, use) in enumerate(claims):
        begin = claimed(spaces, 0, low, low + size, number, LEFT)
        spaces.contents[number, END] = end = begin + use

        assert begin == max(ends[low : low + size])
        ends[low : low + size] = [end] * size

    count = spaces.counts[0]
    assert all(free_at(spaces, 0, at, at + 1) == end for at, end in enumerate(ends))
    parts = spaces.parts[0, :count, :2].tolist()
    assert all(low < high for low, high in parts)
    assert all(one[1] <= other[0] for one, other in pairwise(parts))
