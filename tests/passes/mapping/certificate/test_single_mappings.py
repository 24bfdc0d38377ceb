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

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.workload import OPERANDS, Dim, Operand, Workload
from accnn.passes.mapping.certificate.formulation import Formulation, _idle_slots
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective
from accnn.passes.mapping.search.even.draws import draw_uniform
from accnn.passes.mapping.search.even.space import even_from_factors, even_space, with_all_orders
from accnn.passes.mip.model import MipLimits
from tests.thinned import examples

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

    A level has no loops in the program where they cannot matter; its loops run further out there.
    """
    program = Formulation(space)
    variables = program.variables
    one = further_out(space, one, variables.slots)
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
        return math.inf
    while True:
        result = program.model.solve(MipLimits())
        if not result.values or not program.sharpen(result):
            return program.in_units(result.bound)


def further_out(space, one, slots):
    """Return a mapping whose loops of all but some levels run in the next of these outside."""
    temporal = one.temporal.copy()
    for at, slot in reversed(list(enumerate(space.slots))):
        if slot not in slots:
            temporal[:, at - 1] *= temporal[:, at]
            temporal[:, at] = 1
    return replace(one, temporal=temporal)


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


@settings(max_examples=examples(40), deadline=None, derandomize=True, phases=QUICK)
@given(spaces(), st.sampled_from(SEARCHED), st.integers(0, 99))
def test_the_program_says_what_the_cost_model_says(space, objective, seed):
    space = minimising(space, objective)
    drawn = draw_uniform(space, 3, np.random.default_rng(seed))

    for row in range(len(drawn)):
        one = drawn.take([row])
        found = said(space, one)
        if found == math.inf:
            found = said(space, mirrored(space, one))  # one of both is enough
        counts = counted(space, one)
        assert CLOSE[objective] * counts <= found <= counts * (1.0 + 1e-6)


@settings(max_examples=examples(25), deadline=None, derandomize=True, phases=QUICK)
@given(
    spaces(),
    st.sampled_from([(2, 1), (1, 3), (3, 2)]),
    st.sampled_from((Objective.LATENCY, Objective.ENERGY)),
    st.integers(0, 99),
)
def test_rows_and_columns_have_dilations_of_their_own(space, dilation, objective, seed):
    work = replace(space.workload, dilation=dilation)
    space = minimising(replace(space, problem=replace(space.problem, workload=work)), objective)

    for row in range(2):
        one = draw_uniform(space, 2, np.random.default_rng(seed)).take([row])
        found, counts = said(space, one), counted(space, one)
        if found < math.inf:  # nothing is mirrored here
            assert 0.95 * counts <= found <= counts * (1.0 + 1e-6)


SLOW = st.sampled_from((None, None, None, 0.02))


@st.composite
def hardly_bounded(draw):
    """Draw a machine few of whose ports are bounded, and these are slow."""
    names = ("dram", "gb", "near", "reg")[: draw(st.integers(3, 4))]
    subsets = st.sampled_from(({Operand.W}, {Operand.I}, {Operand.O}, {Operand.W, Operand.I}))
    kept = [set(OPERANDS), {Operand.I, Operand.O}, *(draw(subsets) for _ in names[2:])]
    if not any(Operand.W in holds for holds in kept[1:]):
        kept[-1] = {Operand.W}
    levels = [
        MemoryLevel(
            name=name,
            holds=tuple(sorted(holds)),
            capacity=None if name == "dram" else 1 << 20,
            read_bandwidth=draw(SLOW),
            write_bandwidth=draw(SLOW),
        )
        for name, holds in zip(names, kept, strict=True)
    ]
    fanouts = [
        Fanout(name=f"to-{name}", below=above, size=2, link_bandwidth=draw(SLOW))
        for above, name in itertools.pairwise((*names, "macs"))
        if draw(st.booleans())
    ]
    return Architecture(
        name="hardly-bounded", levels=tuple(levels), scratchpad="gb", fanouts=tuple(fanouts)
    )


@settings(max_examples=examples(300), deadline=None, derandomize=True, phases=QUICK)
@given(hardly_bounded(), st.integers(0, 99))
def test_loops_of_levels_that_are_left_out_take_as_long_further_out(arch, seed):
    problem = MappingProblem(workload=Workload(P=4, C=6, K=4, N=2), arch=arch)
    space = even_space(problem)
    left_out = _idle_slots(space, Objective.LATENCY)
    drawn = draw_uniform(space, 8 if left_out else 0, np.random.default_rng(seed))

    moved = further_out(space, drawn, set(space.slots) - left_out)

    for row in range(len(drawn)):
        latency = counted(space, drawn.take([row]))
        assert counted(space, moved.take([row])) == pytest.approx(latency, rel=1e-9)


def test_registers_of_weights_have_no_loops_of_their_own_where_time_counts():
    space = even_space(
        MappingProblem(workload=Workload(P=4, C=6), arch=load_architecture("simba.toml"))
    )

    left_out = {objective: _idle_slots(space, objective) for objective in SEARCHED}

    assert left_out.pop(Objective.LATENCY) == {space.arch.index("reg")}
    assert set(left_out.values()) == {frozenset()}


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


def where_sums_share_a_port() -> Architecture:
    """Return a machine whose children have sums that are read and written through one port."""
    sums = (Operand.O,)
    return Architecture(
        name="shared-port",
        scratchpad="gb",
        levels=(
            MemoryLevel(name="dram", holds=OPERANDS, capacity=None),
            MemoryLevel(name="gb", holds=sums, capacity=1 << 16),
            MemoryLevel(
                name="ab", holds=sums, capacity=1 << 16, read_bandwidth=1.0, shared_port=True
            ),
            MemoryLevel(name="reg", holds=sums, capacity=4),
        ),
        fanouts=(Fanout(name="pe", below="gb", size=4, multicast=(Operand.W, Operand.I)),),
    )


@pytest.mark.parametrize("children", [{Dim.C: 4}, {Dim.C: 2, Dim.P: 2}, {Dim.P: 4}])
@pytest.mark.parametrize(("returns", "sums"), [(4, 2), (2, 4), (8, 8)])
def test_sums_that_come_back_and_are_added_further_out_share_a_port(children, returns, sums):
    """They pass twice but for the first time, and none of them is finished where it passes."""
    inside = math.prod(size for dim, size in children.items() if dim is Dim.C)
    work = Workload(C=returns * inside, P=sums * 4 // inside)
    problem = MappingProblem(
        workload=work, arch=where_sums_share_a_port(), objective=Objective.LATENCY
    )
    space = even_space(problem)
    temporal = {(1, Dim.C): returns, (2, Dim.P): sums}
    spatial = {("pe", dim): size for dim, size in children.items()}
    one = even_from_factors(space, temporal, spatial, [Operand.O] * len(space.slots))

    counts = counted(space, one)

    assert 0.9 * counts <= said(space, one) <= counts * (1.0 + 1e-6)  # chords
