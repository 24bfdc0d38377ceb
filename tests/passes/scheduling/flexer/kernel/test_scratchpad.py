"""Segments of the scratchpad against bytes, looked at one by one."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.flexer.kernel import scratchpad
from accnn.passes.scheduling.flexer.kernel.arrays import (
    ADDRESS,
    SCALARS,
    SEGMENTS,
    SIZE,
    TILE,
    TOUCHED,
)
from tests.thinned import examples

NEW = 99
"""Number of the tile that is put down."""


def python(function):
    """Return a function as Python has it: these are compiled for compiled callers alone."""
    return getattr(function, "py_func", function)


carve, find, reach = (python(f) for f in (scratchpad.carve, scratchpad.find, scratchpad.reach))
tidy = python(scratchpad.tidy)
best_fit, last_fit, in_place = (
    python(f) for f in (scratchpad.best_fit, scratchpad.last_fit, scratchpad.in_place)
)


@st.composite
def segments(draw: st.DrawFn) -> np.ndarray:
    """Draw segments without a gap between them; two of three are free."""
    count = draw(st.integers(1, 6))
    found = np.zeros((count, 4), np.int64)
    address = 0
    for k in range(count):
        size = draw(st.integers(1, 4))
        tile = k if draw(st.integers(0, 2)) == 0 else -1
        found[k, [ADDRESS, SIZE, TILE, TOUCHED]] = address, size, tile, draw(st.integers(0, 9))
        address += size
    return found


def in_bytes(segment: np.ndarray) -> list[tuple[int, int]]:
    """Return tile and last touch of every byte."""
    found: list[tuple[int, int]] = []
    for row in segment:
        assert row[ADDRESS] == len(found)
        assert row[SIZE] > 0
        found += [(int(row[TILE]), int(row[TOUCHED]))] * int(row[SIZE])
    return found


def free_runs(segment: np.ndarray) -> list[tuple[int, int]]:
    """Return first and last segment of all neighbours that are free, maximal or not."""
    count = len(segment)
    return [
        (low, high)
        for low in range(count)
        for high in range(low, count)
        if (segment[low : high + 1, TILE] < 0).all()
    ]


def total(segment: np.ndarray, low: int, high: int) -> int:
    return int(segment[low : high + 1, SIZE].sum())


def is_maximal(segment: np.ndarray, low: int, high: int) -> bool:
    runs = free_runs(segment)
    return (low - 1, high) not in runs and (low, high + 1) not in runs


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(segments(), st.booleans(), st.data())
def test_a_tile_takes_its_bytes_and_leaves_the_rest(
    segment: np.ndarray, at_end: bool, data: st.DataObject
):
    assume(free_runs(segment))
    low, high = data.draw(st.sampled_from(free_runs(segment)))
    cut = int(segment[low if at_end else high, SIZE])
    whole = total(segment, low, high)
    size = data.draw(st.integers(whole - cut + 1, whole))
    before, count = in_bytes(segment), len(segment)
    room = np.vstack([segment, np.zeros((1, 4), np.int64)])

    now = carve(room, count, low, high, size, NEW, int(at_end))

    begin = int(segment[low, ADDRESS]) + (whole - size if at_end else 0)
    touched = int(segment[low : high + 1, TOUCHED].max())
    wanted = [*before[:begin], *[(NEW, touched)] * size, *before[begin + size :]]
    assert in_bytes(room[:now]) == wanted


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(segments(), st.integers(1, 9))
def test_the_last_run_that_is_large_enough_is_taken_from_its_end(segment: np.ndarray, size: int):
    count = len(segment)
    ends = [
        (high, low)
        for low, high in free_runs(segment)
        if (high + 1 == count or segment[high + 1, TILE] >= 0) and total(segment, low, high) >= size
    ]

    found = last_fit(segment, count, size)

    assert tuple(found) == (max(ends)[::-1] if ends else (-1, -1))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(segments(), st.integers(1, 9))
def test_the_smallest_run_that_is_large_enough_is_the_best(segment: np.ndarray, size: int):
    fits = [
        (total(segment, low, high), low)
        for low, high in free_runs(segment)
        if is_maximal(segment, low, high) and total(segment, low, high) >= size
    ]

    found = best_fit(segment, len(segment), size)

    if not fits:
        assert found == -1
        return
    assert found in [low for whole, low in fits if whole == min(fits)[0]]


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(segments(), st.data())
def test_so_many_bytes_reach_the_segment_of_their_last_one(
    segment: np.ndarray, data: st.DataObject
):
    low = data.draw(st.integers(0, len(segment) - 1))
    begin = int(segment[low, ADDRESS])
    size = data.draw(st.integers(1, total(segment, low, len(segment) - 1)))

    high = reach(segment, low, size)

    last = begin + size - 1
    assert segment[high, ADDRESS] <= last < segment[high, ADDRESS] + segment[high, SIZE]
    assert find(segment, len(segment), int(segment[high, ADDRESS])) == high


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(segments(), st.integers(1, 4))
def test_of_holes_of_exactly_that_size_the_one_touched_first(segment: np.ndarray, size: int):
    holes = [
        (int(row[TOUCHED]), k)
        for k, row in enumerate(segment)
        if row[TILE] < 0 and row[SIZE] == size
    ]

    assert in_place(segment, len(segment), size) == (min(holes)[1] if holes else -1)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(segments(), st.integers(0, 9))
def test_free_neighbours_are_joined_where_nobody_can_tell_their_touches(
    segment: np.ndarray, quiet: int
):
    scalar = np.zeros(SCALARS, np.int64)
    scalar[SEGMENTS] = len(segment)
    arrays = SimpleNamespace(segment=segment.copy(), scalar=scalar)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratchpad, "quiet_until", lambda s: quiet)
        tidy(arrays)
    kept = arrays.segment[: scalar[SEGMENTS]]

    for (tile, touched), (was, before) in zip(in_bytes(kept), in_bytes(segment), strict=True):
        assert tile == was
        assert touched == before or max(touched, before) <= quiet
    still = (kept[:, TILE] < 0) & (kept[:, TOUCHED] <= quiet)
    assert not (still[1:] & still[:-1]).any()
