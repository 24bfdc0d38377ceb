"""Draws and local search, which know no bound, against what CoSA proves of even mappings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import OPERANDS, Dim, Operand, Workload
from accnn.passes.analysis.bounds import cycles_lower_bound
from accnn.passes.mapping.certificate import formulation
from accnn.passes.mapping.certificate.certify import ProofEffort, plain_bound, solve_space
from accnn.passes.mapping.certificate.formulation import Formulation
from accnn.passes.mapping.certificate.unrolling import least_steps
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective
from accnn.passes.mapping.recipes.drawn import Exhaustive
from accnn.passes.mapping.search.even.draws import draw_uniform
from accnn.passes.mapping.search.even.local_search import polish
from accnn.passes.mapping.search.even.space import even_space, with_all_orders
from accnn.passes.mip.model import MipLimits
from tests.thinned import examples

from ....nest_strategies import architectures

_ROUNDING = 1.0 + 1e-6


@st.composite
def spaces(draw):
    """Draw a small workload on a random machine, some of its operands in the scratchpad."""
    arch = draw(architectures(capacity=draw(st.sampled_from((64, 512, 1 << 20)))))
    work = Workload(
        R=draw(st.sampled_from((1, 2, 3))),
        S=draw(st.sampled_from((1, 1, 3))),
        P=draw(st.sampled_from((1, 2, 4, 6))),
        C=draw(st.sampled_from((1, 2, 4, 5))),
        K=draw(st.sampled_from((1, 2, 4, 6))),
        Q=draw(st.sampled_from((1, 1, 2))),
        G=draw(st.sampled_from((1, 1, 2))),
        N=draw(st.sampled_from((1, 1, 2))),
        stride=(draw(st.integers(1, 2)), 1),
    )
    resident = draw(st.sets(st.sampled_from(OPERANDS)))
    try:
        return even_space(MappingProblem(workload=work, arch=arch, resident=frozenset(resident)))
    except InfeasibleError:
        assume(False)


def least_found(space, objective):
    """Return the best of seeded draws, all their orders, and local search from a few of them."""
    measure = objective.of
    drawn = with_all_orders(draw_uniform(space, 200, np.random.default_rng(1)))
    cost = drawn.cost()
    values = np.where(cost.fits, measure(cost), np.inf)
    polished = polish(drawn.take(np.argsort(values, kind="stable")[:4]), measure, rounds=40)
    return min(values.min(), polished.values.min())


def minimising(space, objective):
    return replace(space, problem=replace(space.problem, objective=objective))


def proven_by_the_program(space):
    program = Formulation(space)
    return program.proven_by(program.model.solve(MipLimits(gap_abs=0.01, gap_rel=0.01, nodes=50)))


def assert_no_mapping_beats_a_bound(space, objective):
    found = least_found(space, objective) * _ROUNDING
    space = minimising(space, objective)
    assert plain_bound(space) <= found
    assert proven_by_the_program(space) <= found
    assert solve_space(space, ProofEffort()).bound <= found


@settings(max_examples=examples(15), deadline=None, derandomize=True)
@given(spaces(), st.sampled_from(SEARCHED))
def test_no_even_mapping_is_below_a_certificate(space, objective):
    assert_no_mapping_beats_a_bound(space, objective)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(spaces(), st.sampled_from(SEARCHED))
def test_no_even_mapping_is_below_one_of_many_certificates(space, objective):
    assert_no_mapping_beats_a_bound(space, objective)


def where_outputs_add_up(*, shared_port: bool) -> Architecture:
    """Return a machine whose only memory of sums is the scratchpad."""
    return Architecture(
        name="sums-in-gb",
        scratchpad="gb",
        levels=(
            MemoryLevel(
                name="dram", holds=OPERANDS, capacity=None, read_bandwidth=8.0, read_energy=9.0
            ),
            MemoryLevel(
                name="gb",
                holds=(Operand.I, Operand.O),
                capacity=4096,
                shared_port=shared_port,
                read_bandwidth=1.5,
                write_bandwidth=1.5,
                read_energy=5.0,
                write_energy=5.0,
            ),
            MemoryLevel(name="near", holds=(Operand.W, Operand.I), capacity=4096),
        ),
        fanouts=(Fanout(name="lane", below="gb", size=4, dims=(Dim.P, Dim.K), reduction=False),),
    )


@pytest.mark.parametrize("shared_port", [False, True])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("objective", SEARCHED)
def test_sums_whose_only_memory_is_the_scratchpad_have_tiles_there(
    objective, channels, shared_port
):
    arch, work = where_outputs_add_up(shared_port=shared_port), Workload(P=8, K=4, C=channels)
    problem = MappingProblem(
        workload=work, arch=arch, resident=frozenset({Operand.O}), objective=objective
    )
    best = Exhaustive().map(problem).objective

    space = even_space(problem)

    assert plain_bound(space) <= best * _ROUNDING
    assert proven_by_the_program(space) <= best * _ROUNDING
    streamed = replace(problem, resident=frozenset())
    assert best == Exhaustive().map(streamed).objective
    assert (
        least_steps(problem, work.dims)
        <= Exhaustive().map(replace(problem, objective=Objective.LATENCY)).objective * _ROUNDING
    )


def where_sums_of_neighbours_come_back() -> Architecture:
    """Return a machine that adds up sums of neighbours and whose weights are dear to read."""
    sums = (Operand.O,)
    return Architecture(
        name="reducing",
        scratchpad="gb",
        levels=(
            MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_energy=1000.0),
            MemoryLevel(name="gb", holds=sums, capacity=1 << 16, read_energy=0.01),
            MemoryLevel(name="ab", holds=sums, capacity=6, read_energy=50.0),
            MemoryLevel(name="wb", holds=(Operand.W,), capacity=2, read_energy=0.01),
        ),
        fanouts=(Fanout(name="pe", below="gb", size=4, multicast=(Operand.W, Operand.I)),),
    )


@pytest.mark.parametrize("work", [Workload(P=8, C=16), Workload(P=4, C=8, K=2)])
def test_only_the_first_of_the_children_that_add_up_reads_sums_back(work):
    arch = where_sums_of_neighbours_come_back()
    problem = MappingProblem(workload=work, arch=arch, objective=Objective.ENERGY)
    best = Exhaustive().map(problem).objective

    proven = proven_by_the_program(even_space(problem))

    assert 0.95 * best < proven <= best * _ROUNDING


def with_a_small_scratchpad(capacity: int) -> Architecture:
    """Return a machine that has room for a few elements beside an off-chip memory that is dear."""
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_energy=100.0),
        MemoryLevel(name="gb", holds=OPERANDS, capacity=capacity, read_energy=1.0),
    )
    return Architecture(name="small", levels=levels, scratchpad="gb")


@pytest.mark.parametrize("work", [Workload(C=4), Workload(P=8), Workload(C=4, K=4)])
def test_as_many_cycles_as_there_are_steps_are_a_proof(work):
    problem = MappingProblem(workload=work, arch=with_a_small_scratchpad(24))

    found = solve_space(even_space(problem), ProofEffort())

    assert found.value == found.bound == work.P * work.C * work.K
    assert found.proven


@pytest.mark.parametrize("taps", [2, 3])
@pytest.mark.parametrize("apart", [3, 4])
def test_rows_and_columns_are_not_exchanged_where_their_dilations_differ(apart, taps):
    """Tiles reach along the axis on which windows overlap, whichever it is."""
    found = []
    for dilation in ((apart, 1), (1, apart)):
        problem = MappingProblem(
            workload=Workload(P=4, Q=4, R=taps, S=taps, dilation=dilation),
            arch=with_a_small_scratchpad(32),
            objective=Objective.ENERGY,
        )
        found.append((Exhaustive().map(problem).objective, even_space(problem)))
    (best, across), (same, along) = found

    assert best == same
    for space in (across, along):
        assert 0.95 * best < proven_by_the_program(space) <= best * _ROUNDING


@pytest.mark.parametrize("work", [Workload(P=8, C=4, K=4), Workload(R=3, P=8, K=4)])
def test_where_only_even_mappings_are_wanted_the_best_of_them_is_found_and_no_other(work):
    problem = MappingProblem(
        workload=work,
        arch=with_a_small_scratchpad(24),
        objective=Objective.ENERGY,
        even=True,
    )
    best = Exhaustive().map(problem).objective

    wanted = solve_space(even_space(problem), ProofEffort())
    any_will_do = solve_space(even_space(replace(problem, even=False)), ProofEffort())

    assert wanted.nest is not None
    assert wanted.value == pytest.approx(best)
    for level in problem.arch.levels:
        starts = {item.start for item in wanted.nest.allocations if item.level == level.name}
        assert len(starts) == 1
    assert any_will_do.value < best


def test_a_program_that_leaves_out_slow_mappings_proves_nothing_of_them(monkeypatch):
    space = even_space(
        MappingProblem(workload=Workload(R=3, P=8), arch=where_outputs_add_up(shared_port=True))
    )
    exact = proven_by_the_program(space)

    monkeypatch.setattr(formulation, "_WORST", 0.01)
    cut_off = proven_by_the_program(space)

    roofline = cycles_lower_bound(space.workload, space.arch)
    assert cut_off == pytest.approx(0.01 * 1024 / space.arch.macs * roofline)
    assert cut_off < exact


@pytest.mark.parametrize("objective", SEARCHED)
def test_a_machine_without_energies_is_mapped_and_nothing_is_proven_of_its_energy(objective):
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_bandwidth=8.0),
        MemoryLevel(name="gb", holds=OPERANDS, capacity=4096, read_energy=0.0),
    )
    space = even_space(
        MappingProblem(
            workload=Workload(P=8, K=4),
            arch=Architecture(name="free", levels=levels, scratchpad="gb"),
            objective=objective,
        )
    )

    found = solve_space(space, ProofEffort())

    assert found.nest is not None
    assert (found.bound > 0.0) is (objective is Objective.LATENCY)


@pytest.mark.parametrize("guilty", ["plain_bound", "proven_by_the_program", "solve_space"])
def test_the_attack_notices_two_per_cent_too_much(monkeypatch, guilty):
    resident = frozenset({Operand.I, Operand.O})
    space = even_space(
        MappingProblem(
            workload=Workload(C=64, K=64),
            arch=where_outputs_add_up(shared_port=False),
            resident=resident,
        )
    )
    honest = globals()[guilty]

    def lying(*given):
        found = honest(*given)
        if guilty == "solve_space":
            return replace(found, bound=1.02 * found.bound)
        return 1.02 * found

    monkeypatch.setitem(globals(), guilty, lying)

    with pytest.raises(AssertionError):
        assert_no_mapping_beats_a_bound(space, Objective.LATENCY)
