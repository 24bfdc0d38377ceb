"""What is counted at boundaries, against loops that run step by step."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.workload import DIMS, RELEVANT, Dim, Operand, Workload
from accnn.passes.analysis.batches.kernel.crossing import fill_crossings, fill_ends
from accnn.passes.analysis.batches.kernel.cutting import fill_cuts
from accnn.passes.analysis.batches.kernel.estimating import fill_estimates
from accnn.passes.analysis.batches.kernel.moving import (
    Boundaries,
    TemporalLoops,
    add_energies,
    fill_bits,
    fill_boundaries,
    fill_elements,
)
from accnn.passes.analysis.batches.kernel.transfers import fill_transfers
from accnn.passes.analysis.batches.nest_batch import shapes_of
from tests.thinned import examples

LOOPS = st.lists(st.tuples(st.sampled_from(range(8)), st.integers(1, 3)), max_size=5)
UNROLLED = st.lists(st.integers(1, 2), min_size=8, max_size=8)
STEPS = st.tuples(st.integers(1, 3), st.integers(1, 3))


def loops_of(*nests: list[tuple[int, int]]) -> TemporalLoops:
    """Return nests of equally many loops, each with an unrolling of its own."""
    table = np.array(nests, np.int64).reshape(len(nests), -1, 2)
    dims, extents = (np.ascontiguousarray(table[..., at]) for at in (0, 1))
    return TemporalLoops(dims, extents, np.arange(len(nests)))


def walked(loops: list[tuple[int, int]], start: int, operand: Operand) -> tuple[int, int, int]:
    """Return the steps outside of a tile, how often it changes, and how many there are."""
    outer, seen = loops[:start], []
    for index in product(*(range(extent) for _, extent in outer)):
        pairs = zip(index, outer, strict=True)
        seen.append(tuple(at for at, (dim, _) in pairs if DIMS[dim] in RELEVANT[operand]))
    changes = sum(one != other for one, other in zip(seen[1:], seen[:-1], strict=True))
    return len(seen), 1 + changes, len(set(seen))


def touched(
    loops: list[tuple[int, int]], unrolled: list[int], operand: Operand, work: Workload
) -> int:
    """Return how many different elements a tile of some loops has."""
    extent = dict(zip(DIMS, unrolled, strict=True))
    for dim, times in loops:
        extent[DIMS[dim]] *= times
    if operand is not Operand.I:
        return int(np.prod([extent[dim] for dim in RELEVANT[operand]]))
    axes = zip((Dim.P, Dim.Q), (Dim.R, Dim.S), work.stride, work.dilation, strict=True)
    found = extent[Dim.C] * extent[Dim.N] * extent[Dim.G]
    for window, tap, stride, dilation in axes:
        pairs = product(range(extent[window]), range(extent[tap]))
        found *= len({at * stride + other * dilation for at, other in pairs})
    return found


@settings(max_examples=examples(200), deadline=None)
@given(LOOPS, UNROLLED, st.sampled_from(Operand), STEPS, STEPS, st.data())
def test_tiles_are_those_of_loops_that_run(loops, unrolled, operand, stride, dilation, data):
    work = Workload(stride=stride, dilation=dilation)
    first, second = sorted(data.draw(st.integers(0, len(loops))) for _ in range(2))
    starts = np.array([[first], [second], [len(loops)]])
    counted = Boundaries(*(np.zeros((3, 1), np.int64) for _ in range(3)))

    fill_boundaries(
        loops_of(loops),
        shapes_of(work, (operand,) * 3),
        np.array([False, False, True]),
        starts,
        np.array([[unrolled]] * 3),
        counted,
    )

    for row, start in enumerate((first, second)):
        _, visits, tiles = walked(loops, start, operand)
        elements = touched(loops[start:], unrolled, operand, work)
        found = [item[row, 0] for item in (counted.visits, counted.tiles, counted.elements)]
        assert found == [visits, tiles, elements]
    steps, _, tiles = walked(loops, len(loops), operand)
    assert [item[2, 0] for item in (counted.visits, counted.tiles)] == [steps, tiles]
    assert counted.elements[2, 0] == 1


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(LOOPS, min_size=1, max_size=3), st.sampled_from(Operand), STEPS, st.data())
def test_tiles_from_each_loop_have_the_elements_that_they_touch(nests, operand, stride, data):
    length = min(map(len, nests))
    nests, work = [nest[:length] for nest in nests], Workload(stride=stride)
    unrolled = [data.draw(UNROLLED) for _ in nests]
    found = np.zeros((length + 1, len(nests)), np.int64)

    fill_elements(loops_of(*nests), shapes_of(work, (operand,)), np.array(unrolled), found)

    assert found.tolist() == [
        [touched(nest[at:], own, operand, work) for nest, own in zip(nests, unrolled, strict=True)]
        for at in range(length + 1)
    ]


def test_energies_are_added_up_access_by_access():
    bits = np.array([[64, 100], [24, 8], [7, 7]])
    found = np.array([0.5, 0.0])

    add_energies(bits, np.array([8.0, 24.0, 1.0]), np.array([0.1, 3.0, 0.0]), found)

    assert found.tolist() == [0.5 + 64 / 8 * 0.1 + 24 / 24 * 3.0, 100 / 8 * 0.1 + 8 / 24 * 3.0]


def test_arrays_are_laid_out_alike_so_that_all_is_compiled_once():
    loops = fill_boundaries, fill_elements, fill_bits, add_energies
    for function in (*loops, fill_crossings, fill_ends, fill_cuts, fill_transfers, fill_estimates):
        assert len(function.signatures) <= 1  # pyright: ignore
