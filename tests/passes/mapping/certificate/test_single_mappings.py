"""What CoSA's program says of one mapping alone is what the cost model says, or a little less.

All factors are fixed, so that the solver has nothing left to choose but what is kept stationary.
What remains between both are tangents and chords: a little below, nowhere above.
"""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.workload import Dim
from accnn.passes.mapping.certificate.formulation import Formulation
from accnn.passes.mapping.problem import SEARCHED, Objective
from accnn.passes.mapping.search.even.draws import draw_uniform
from accnn.passes.mapping.search.even.space import with_all_orders
from accnn.passes.mapping.search.measures import measure_of
from accnn.passes.mip.linear import Linear
from accnn.passes.mip.model import MipLimits

from .test_certificates_attacked import minimising, spaces

CLOSE = {Objective.LATENCY: 0.98, Objective.ENERGY: 0.96, Objective.EDP: 0.88}
"""What tangents leave of the objective, at least."""

MIRROR = {Dim.P: Dim.Q, Dim.Q: Dim.P, Dim.R: Dim.S, Dim.S: Dim.R}


def counted(space, one):
    """Return the objective in the cost model, whatever is stationary; infinite if nothing fits."""
    every = with_all_orders(one)
    cost = every.cost()
    return np.where(cost.fits, measure_of(space.problem.objective)(cost), np.inf).min()


def said(space, one):
    """Return what the program says of given factors; infinite where it has no solution."""
    program = Formulation(space)
    values = program.variables.encode(one)
    if values is None:
        return None
    for count in program.variables.counts.values():
        (index,) = count.terms
        program.model.add_equal(Linear({index: 1.0}), values[index])
    while True:
        result = program.model.solve(MipLimits())
        if not result.values or not program.sharpen(result):
            return program.in_units(result.bound)


def mirrored(space, one):
    """Return a mapping with rows and columns exchanged, where the workload has as many."""
    if any(space.extents[dim] != space.extents[other] for dim, other in MIRROR.items()):
        return one
    columns = [space.dims.index(MIRROR.get(dim, dim)) for dim in space.dims]
    pairs = [space.unrollable.index((name, MIRROR.get(dim, dim))) for name, dim in space.unrollable]
    return replace(one, temporal=one.temporal[:, :, columns], spatial=one.spatial[:, pairs])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(spaces(), st.sampled_from(SEARCHED), st.integers(0, 99))
def test_the_program_says_what_the_cost_model_says(space, objective, seed):
    space = minimising(space, objective)
    drawn = draw_uniform(space, 3, np.random.default_rng(seed))

    for row in range(len(drawn)):
        one = drawn.take([row])
        found = said(space, one)
        if found == np.inf:
            found = said(space, mirrored(space, one))  # one of both is enough
        if found is not None:  # a level without loops of its own
            counts = counted(space, one)
            assert CLOSE[objective] * counts <= found <= counts * (1.0 + 1e-6)
