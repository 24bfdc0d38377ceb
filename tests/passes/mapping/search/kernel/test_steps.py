"""Steps from nests, told from those that lists of loops tell."""

import random
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
import pytest

from accnn.passes.mapping.search.kernel.steps import LoopOrders, fill_steps, most_steps

Nest = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
"""Loops with their dimensions and extents, and where tiles start."""


def orders_of(nests: Sequence[Nest]) -> LoopOrders:
    longest = max(len(loops) for loops, _ in nests)
    filled = [(*loops, *[(0, 1)] * (longest - len(loops))) for loops, _ in nests]
    loops = np.array(filled, np.int64).reshape(len(nests), longest, 2)
    return LoopOrders(
        np.ascontiguousarray(loops[..., 0]),
        np.ascontiguousarray(loops[..., 1]),
        np.array([starts for _, starts in nests], np.int64),
        np.arange(len(nests)),
    )


def steps_from(nests: Sequence[Nest], is_first: Sequence[bool], *, carry: bool) -> list[list[Nest]]:
    """Return what is one step away from each nest."""
    orders = orders_of(nests)
    most = most_steps(orders)
    found = LoopOrders(*(np.full((most, *item.shape[1:]), -1, np.int64) for item in orders))
    steps: list[list[Nest]] = [[] for _ in nests]
    count = fill_steps(orders, np.array(is_first, np.bool_), carry, found)
    for dims, extents, starts, nest in zip(*(item[:count].tolist() for item in found), strict=True):
        loops = tuple(loop for loop in zip(dims, extents, strict=True) if loop[1] > 1)
        steps[nest].append((loops, tuple(starts)))
    assert found.nest[:count].tolist() == sorted(found.nest[:count])
    return steps


def restarted(nest: Nest, is_first: Sequence[bool]) -> Iterator[Nest]:
    loops, starts = nest
    for column in range(len(starts)):
        for start in range(len(loops) + 1):
            changed = (*starts[:column], start, *starts[column + 1 :])
            begun = [at for at, first in enumerate(is_first) if first]
            ends = (*begun[1:], len(starts))
            parts = [changed[first:end] for first, end in zip(begun, ends, strict=True)]
            if changed != starts and all(list(part) == sorted(part) for part in parts):
                yield loops, changed


def moved(nest: Nest, *, carry: bool) -> Iterator[Nest]:
    loops, starts = nest
    for source, target in permutations(range(len(loops)), 2):
        order = list(loops)
        order.insert(target, order.pop(source))
        if tuple(order) == loops:
            continue
        yield tuple(order), starts
        if carry:
            along = tuple(
                start - 1
                if source < start <= target
                else start + 1
                if target < start <= source
                else start
                for start in starts
            )
            yield tuple(order), along


@pytest.mark.parametrize("carry", [False, True])
def test_steps_are_those_of_lists_of_loops(carry: bool) -> None:
    generator = random.Random(3)
    for _ in range(100):
        is_first = [True, *(generator.random() < 0.5 for _ in range(generator.randrange(5)))]
        nests: list[Nest] = []
        for _ in range(3):
            count = generator.randrange(9)
            loops = tuple((generator.randrange(3), generator.choice((2, 3))) for _ in range(count))
            starts: list[int] = []
            for first in is_first:
                low = 0 if first else starts[-1]
                starts.append(generator.randint(low, count))
            nests.append((loops, tuple(starts)))

        found = steps_from(nests, is_first, carry=carry)

        for nest, steps in zip(nests, found, strict=True):
            expected = dict.fromkeys((*restarted(nest, is_first), *moved(nest, carry=carry)))
            assert list(dict.fromkeys(steps)) == list(expected)


def test_of_equal_loops_one_moves() -> None:
    a, b = (0, 2), (1, 3)

    (steps,) = steps_from([((a, a, b, b), ())], [], carry=False)

    assert [loops for loops, _ in steps] == [(a, b, a, b), (a, b, b, a), (b, a, a, b)]


def test_a_nest_without_loops_is_where_it_is() -> None:
    assert steps_from([((), (0, 0))], [True, False], carry=True) == [[]]
