"""What CoSA's program says of one mapping alone is what the cost model says, or a little less.

All factors are fixed, so that the solver has nothing left to choose but what is kept stationary.
What remains between both are tangents and chords: a little below, nowhere above.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.workload import OPERANDS, Dim, Operand, Workload
from accnn.passes.mapping.certificate.formulation import Formulation
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective
from accnn.passes.mapping.search.even.draws import draw_uniform
from accnn.passes.mapping.search.even.space import even_from_factors, even_space, with_all_orders
from accnn.passes.mip.model import MipLimits

from .test_certificates_attacked import minimising, spaces

CLOSE = {Objective.LATENCY: 0.98, Objective.ENERGY: 0.96, Objective.EDP: 0.88}
"""What tangents leave of the objective, at least."""

QUICK = (Phase.explicit, Phase.generate)
"""Making a failure smaller takes long, for each trial is a program."""

MIRROR = {Dim.P: Dim.Q, Dim.Q: Dim.P, Dim.R: Dim.S, Dim.S: Dim.R}


def counted(space, one):
    """Return the objective in the cost model, whatever is stationary; infinite if nothing fits."""
    every = with_all_orders(one)
    cost = every.cost()
    return np.where(cost.fits, space.problem.objective.of(cost), np.inf).min()


def said(space, one):
    """Return what the program says of given factors; infinite where it has no solution.

    A level has no loops in the program where they cannot matter; what has some is ``None``.
    """
    program = Formulation(space)
    variables = program.variables
    fixed = math.prod(int(part.prod()) for part in (one.temporal, one.spatial))
    for (slot, dim, prime), count in variables.counts.items():
        if isinstance(slot, str):
            extent = int(one.spatial[0, space.unrollable.index((slot, dim))])
        else:
            extent = int(one.temporal[0, space.slots.index(slot), space.dims.index(dim)])
        times = multiplicity(extent, prime)
        fixed //= prime**times
        program.model.add_equal(count, times)
    if fixed > 1:
        return None if len(variables.slots) < len(space.slots) else math.inf
    while True:
        result = program.model.solve(MipLimits())
        if not result.values or not program.sharpen(result):
            return program.in_units(result.bound)


def multiplicity(extent, prime):
    """Return how often a prime divides an extent."""
    return next(times for times in itertools.count() if extent % prime ** (times + 1))


def mirrored(space, one):
    """Return a mapping with rows and columns exchanged, where the workload has as many."""
    if any(space.extents[dim] != space.extents[other] for dim, other in MIRROR.items()):
        return one
    columns = [space.dims.index(MIRROR.get(dim, dim)) for dim in space.dims]
    pairs = [space.unrollable.index((name, MIRROR.get(dim, dim))) for name, dim in space.unrollable]
    return replace(one, temporal=one.temporal[:, :, columns], spatial=one.spatial[:, pairs])


@settings(max_examples=40, deadline=None, derandomize=True, phases=QUICK)
@given(spaces(), st.sampled_from(SEARCHED), st.integers(0, 99))
def test_the_program_says_what_the_cost_model_says(space, objective, seed):
    space = minimising(space, objective)
    drawn = draw_uniform(space, 3, np.random.default_rng(seed))

    for row in range(len(drawn)):
        one = drawn.take([row])
        found = said(space, one)
        if found == math.inf:
            found = said(space, mirrored(space, one))  # one of both is enough
        if found is not None:  # a level without loops of its own
            counts = counted(space, one)
            assert CLOSE[objective] * counts <= found <= counts * (1.0 + 1e-6)


def where_sums_are_dear_to_read() -> Architecture:
    """Return a machine whose scratchpad has the sums of four children, each with its own."""
    sums = (Operand.O,)
    return Architecture(
        name="dear-sums",
        scratchpad="gb",
        levels=(
            MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_energy=1.0),
            MemoryLevel(name="gb", holds=sums, capacity=1 << 16, read_energy=50.0),
            MemoryLevel(name="ab", holds=sums, capacity=1 << 16, read_energy=0.01),
        ),
        fanouts=(
            Fanout(name="pe", below="gb", size=4, multicast=(Operand.W, Operand.I), hop_energy=9.0),
        ),
    )


@pytest.mark.parametrize("inside", [{}, {(2, Dim.C): 2}])
def test_sums_that_come_back_to_several_children_are_read_once_for_each(inside):
    problem = MappingProblem(
        workload=Workload(P=8, C=4 * math.prod(inside.values())),
        arch=where_sums_are_dear_to_read(),
        objective=Objective.ENERGY,
    )
    space = even_space(problem)
    temporal = {(0, Dim.C): 4, (1, Dim.P): 2, **inside}
    one = even_from_factors(space, temporal, {("pe", Dim.P): 4}, [Operand.O] * len(space.slots))

    counts = counted(space, one)

    assert 0.9 * counts <= said(space, one) <= counts * (1.0 + 1e-6)  # a chord
