"""Tiles come and go as they do when the loops run one step after the other."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.workload import REDUCTION, RELEVANT, Operand
from accnn.runtime_sim.array.counts import visits
from accnn.runtime_sim.array.nest import ArrayNest
from accnn.runtime_sim.noc.phases import Phases

from ...nest_strategies import nests
from .nests import machine


def steps(nest, leg, depth):
    """Run the outer loops; return the visits as (first, last, tile, is_final)."""
    loops = nest.temporal
    found = []
    for phase, at in enumerate(itertools.product(*(range(loop.extent) for loop in loops[:depth]))):
        inside = range(min(leg.start, depth))
        tile = tuple(at[place] for place in inside if loops[place].dim in RELEVANT[leg.operand])
        if not found or found[-1][2] != tile:
            found.append([phase, phase, tile, True])
        found[-1][1] = phase
        found[-1][3] = all(
            at[place] == loops[place].extent - 1
            for place in inside
            if loops[place].dim in REDUCTION
        )
    return found


@given(st.data())
@settings(max_examples=60)
def test_visits_are_those_of_the_loops(data):
    nest = data.draw(nests(machine()))
    on_array = ArrayNest(nest, machine())
    legs = tuple(
        leg for operand in Operand for leg in on_array.legs(operand) if leg.child is not None
    )
    phases = Phases(on_array, legs, 10**6)

    for leg in legs:
        found = phases.visits(leg)
        expected = steps(nest, leg, phases.depth)

        assert len(found) == len(expected) == visits(on_array, leg.operand, leg.start)
        assert phases.share(leg) * phases.all == len(found)
        assert found.first.tolist() == [first for first, *_ in expected]
        assert found.last.tolist() == [last for _, last, *_ in expected]
        assert len({tile for *_, tile, _ in expected}) == phases.different(leg)
        for number, (*_, tile, is_final) in enumerate(expected):
            before = [at for at in range(number) if expected[at][2] == tile]
            assert found.earlier[number] == (before[-1] if before else -1)
            if leg.operand is Operand.O:
                assert found.is_final[number] == is_final


@given(st.data(), st.integers(1, 9))
@settings(max_examples=30)
def test_the_first_phases_are_the_first_of_all(data, most):
    on_array = ArrayNest(data.draw(nests(machine())), machine())
    legs = tuple(leg for operand in Operand for leg in on_array.legs(operand) if leg.child)
    whole, part = Phases(on_array, legs, 10**6), Phases(on_array, legs, most)

    for leg in legs:
        some, every = part.visits(leg), whole.visits(leg)
        assert some.first.tolist() == every.first[: len(some)].tolist()
        assert some.at(some.last).tolist() == list(range(len(some)))
    assert part.count == min(most, whole.all)
