"""Neighbours of a nest, told from those that lists of loops tell."""

import random
from itertools import permutations

import numpy as np
import pytest

from accnn.passes.mapping.search.uneven import States, moved

Plain = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
"""Loops with their dimensions and extents, and where tiles start."""


def plain(states: States) -> list[Plain]:
    rows = zip(states.dims.tolist(), states.extents.tolist(), states.starts.tolist(), strict=True)
    return [
        (tuple(zip(dims, extents, strict=True)), tuple(starts)) for dims, extents, starts in rows
    ]


def by_lists(state: Plain, *, carry: bool) -> set[Plain]:
    loops, starts = state
    found: set[Plain] = set()
    for source, target in permutations(range(len(loops)), 2):
        order = list(loops)
        order.insert(target, order.pop(source))
        if tuple(order) == loops:
            continue
        found.add((tuple(order), starts))
        along = tuple(
            start - 1
            if source < start <= target
            else start + 1
            if target < start <= source
            else start
            for start in starts
        )
        if carry:
            found.add((tuple(order), along))
    return found


@pytest.mark.parametrize("carry", [False, True])
def test_moves_are_those_of_lists_of_loops(carry: bool) -> None:
    generator = random.Random(3)
    for _ in range(100):
        count = generator.randrange(9)
        loops = tuple((generator.randrange(3), generator.choice((2, 3))) for _ in range(count))
        starts = tuple(generator.randrange(count + 1) for _ in range(generator.randrange(5)))
        columns = ([dim for dim, _ in loops], [extent for _, extent in loops], starts)
        state = States(*(np.array([column], np.int64) for column in columns))

        options = moved(state, carry=carry)

        assert set(plain(options)) == by_lists((loops, starts), carry=carry)
        assert len(set(plain(options.distinct))) == len(options.distinct) <= len(options)
        assert list(dict.fromkeys(plain(options))) == plain(options.distinct)
