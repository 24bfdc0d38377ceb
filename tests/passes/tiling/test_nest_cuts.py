"""What of a nest becomes operations, against counting every index."""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import product, starmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.mapping import Loop, SpatialLoop, even_nest
from accnn.ir.workload import DIMS, REDUCTION, Dim, Operand, Workload
from accnn.passes.tiling.nest_cuts import NestCuts, Ranges

EDGE = load_architecture("edge-1m")
LEVELS = ("dram", "gb", "ab")
CUT = (Dim.P, Dim.K, Dim.C, Dim.R)


@st.composite
def nests(draw: st.DrawFn) -> NestCuts:
    """Return the cuts of a nest of a few loops, with padding or without, some resident."""
    loops = draw(st.lists(st.tuples(st.sampled_from(CUT), st.integers(2, 4)), max_size=6))
    places = sorted(draw(st.sampled_from(LEVELS)) for _ in loops)
    places.sort(key=LEVELS.index)
    temporal = {
        level: [Loop(*loop) for loop, place in zip(loops, places, strict=True) if place == level]
        for level in LEVELS
    }
    spatial = [SpatialLoop(Dim.K, draw(st.integers(1, 3)), EDGE.fanouts[-1].name)]
    covered = dict.fromkeys(DIMS, 1)
    for loop in (*(item for found in temporal.values() for item in found), *spatial):
        covered[loop.dim] *= loop.extent
    dims = {dim.value: draw(st.integers(max(1, n - 2), n)) for dim, n in covered.items()}
    nest = even_nest(Workload(**dims), EDGE, temporal, spatial)
    return NestCuts(nest, EDGE, draw(st.frozensets(st.sampled_from(Operand))))


def _indices(found: Ranges) -> Iterable[tuple[int, ...]]:
    return product(*(range(item.start, item.stop) for item in found.values()))


@given(nests())
def test_every_index_is_in_one_operation(cuts: NestCuts):
    found = list(filter(None, map(cuts.ranges, cuts.iterations())))
    counts = Counter(index for ranges in found for index in _indices(ranges))

    assert len(found) == cuts.operations
    assert len(counts) == math.prod(cuts.nest.workload.dims.values())
    assert set(counts.values()) == {1}


@given(nests())
def test_first_additions_and_the_others_make_the_whole_operation(cuts: NestCuts):
    for ranges in filter(None, map(cuts.ranges, cuts.iterations())):
        parts = cuts.first_apart(ranges)

        counts = Counter(index for part in parts for index in _indices(part))
        assert counts == Counter(_indices(ranges))
        for part in parts:
            outputs = [dim for dim in part if dim not in REDUCTION]
            assert [part[dim] for dim in outputs] == [ranges[dim] for dim in outputs]


@pytest.mark.parametrize(
    ("loops", "first"),
    [
        ([(Dim.C, 4), (Dim.P, 2)], 1),
        ([(Dim.C, 4), (Dim.P, 2), (Dim.R, 3)], 3),
        ([(Dim.C, 4), (Dim.R, 3), (Dim.P, 2)], 1),
        ([(Dim.P, 2), (Dim.C, 4)], 4),
        ([(Dim.C, 4), (Dim.R, 3)], 12),
    ],
)
def test_additions_before_the_next_sum_count_as_one(loops: list[tuple[Dim, int]], first: int):
    """What is apart adds to each sum as often as the loops behind all outputs do."""
    work = Workload(**{dim.value: extent for dim, extent in loops})
    cuts = NestCuts(even_nest(work, EDGE, {"ab": list(starmap(Loop, loops))}), EDGE)
    whole = cuts.ranges(())
    assert whole is not None

    part = cuts.first_apart(whole)[0]

    assert math.prod(part[dim].size for dim in REDUCTION) == first


def test_the_steps_of_a_nest_multiply_up():
    temporal = {
        "dram": [Loop(Dim.P, 2), Loop(Dim.K, 2)],
        "ab": [Loop(Dim.P, 4), Loop(Dim.Q, 8), Loop(Dim.C, 8), Loop(Dim.R, 3), Loop(Dim.S, 3)],
    }
    spatial = [SpatialLoop(Dim.K, 8, EDGE.fanouts[-1].name)]
    nest = even_nest(Workload(R=3, S=3, P=8, Q=8, C=8, K=16), EDGE, temporal, spatial)

    assert NestCuts(nest, EDGE).steps == (4, 8, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(("bypass", "operations"), [("gb", 4), ("ab", 2)])
def test_sums_come_in_tiles_where_inputs_and_weights_are_resident(bypass: str, operations: int):
    """Those in the scratchpad are cut by the loops outside of it, accumulators by all before."""
    temporal = {"dram": [Loop(Dim.K, 2)], "gb": [Loop(Dim.P, 2)], "ab": [Loop(Dim.Q, 3)]}
    without = frozenset({(Operand.O, bypass)})
    nest = even_nest(Workload(K=2, P=2, Q=3), EDGE, temporal, bypass=without)
    cuts = NestCuts(nest, EDGE, frozenset({Operand.W, Operand.I}))

    assert len(list(cuts.iterations())) == operations
