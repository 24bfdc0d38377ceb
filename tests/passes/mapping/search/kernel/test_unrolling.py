"""Ways to fill a fan-out, against all combinations of extents."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.mapping.search.kernel.unrolling import Ways, fill_ways
from tests.thinned import examples

STATES = st.lists(
    st.tuples(st.tuples(*[st.integers(1, 30)] * 3), st.integers(1, 20)), min_size=1, max_size=3
)


def choices(extent: int, size: int, *, padding: bool) -> list[int]:
    """Return the extents of a loop that make sense."""
    if not padding:
        return [item for item in range(1, min(extent, size) + 1) if extent % item == 0]
    every = range(1, min(extent, size) + 1)
    return sorted({math.ceil(extent / math.ceil(extent / item)) for item in every})


def ways_of(left: tuple[int, ...], size: int, *, padding: bool) -> list[tuple[int, ...]]:
    """Return the ways in which no loop can be made longer, what is left over rounded down."""
    offered, found = [choices(extent, size, padding=padding) for extent in left], []
    for way in product(*offered):
        space = size
        for extent in way:
            space //= extent
        longer = (
            min((item for item in own if item > extent), default=math.inf)
            for own, extent in zip(offered, way, strict=True)
        )
        grows = (more <= extent * space for more, extent in zip(longer, way, strict=True))
        if space and not any(grows):
            found.append(way)
    return found


@pytest.mark.parametrize("padding", [False, True])
@settings(max_examples=examples(100), deadline=None)
@given(STATES)
def test_ways_are_all_those_in_which_no_loop_can_be_made_longer(padding, states):
    left = np.array([extents for extents, _ in states], np.int64)
    size = np.array([size for _, size in states], np.int64)
    expected = [
        (state, *way)
        for state, (extents, most) in enumerate(states)
        for way in ways_of(extents, most, padding=padding)
    ]
    few = Ways(np.zeros(2, np.int64), np.zeros((2, 3), np.int64))

    count = fill_ways(left, size, padding, few)
    found = Ways(np.zeros(count, np.int64), np.zeros((count, 3), np.int64))
    assert fill_ways(left, size, padding, found) == count == len(expected)

    rows = np.column_stack(found).tolist()
    assert [tuple(row) for row in rows] == expected
    assert np.column_stack(few).tolist()[:count] == rows[:2]
