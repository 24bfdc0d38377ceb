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
from accnn.passes.mapping.base import MapOptions, Objective
from accnn.passes.mapping.cosa import formulation
from accnn.passes.mapping.cosa.certify import Effort, plain_bound, solve_space
from accnn.passes.mapping.cosa.formulation import Formulation
from accnn.passes.mapping.cosa.unrolling import least_steps
from accnn.passes.mapping.even import even_space, with_all_orders
from accnn.passes.mapping.local_search import polish
from accnn.passes.mapping.measures import measure_of
from accnn.passes.mapping.sampling import draw_uniform
from accnn.passes.mapping.search import Exhaustive
from accnn.passes.mip.model import MipLimits

from ...nest_strategies import architectures

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
        G=draw(st.sampled_from((1, 1, 2))),
        N=draw(st.sampled_from((1, 1, 2))),
        stride=(draw(st.integers(1, 2)), 1),
    )
    resident = draw(st.sets(st.sampled_from(OPERANDS)))
    try:
        return even_space(work, arch, frozenset(resident))
    except InfeasibleError:
        assume(False)


def least_found(space, objective):
    """Return the best of seeded draws, all their orders, and local search from a few of them."""
    measure = measure_of(objective)
    drawn = with_all_orders(draw_uniform(space, 200, np.random.default_rng(1)))
    cost = drawn.cost()
    values = np.where(cost.fits, measure(cost), np.inf)
    polished = polish(drawn.take(np.argsort(values, kind="stable")[:4]), measure, rounds=40)
    return min(values.min(), polished.values.min())


def proven_by_the_program(space, objective):
    program = Formulation(space, objective)
    return program.proven_by(program.model.solve(MipLimits(gap_abs=0.01, gap_rel=0.01, nodes=50)))


def assert_no_mapping_beats_a_bound(space, objective):
    found = least_found(space, objective) * _ROUNDING
    assert plain_bound(space, objective) <= found
    assert proven_by_the_program(space, objective) <= found
    assert solve_space(space, MapOptions(objective=objective), Effort()).bound <= found


@settings(max_examples=15, deadline=None, derandomize=True)
@given(spaces(), st.sampled_from(Objective))
def test_no_even_mapping_is_below_a_certificate(space, objective):
    assert_no_mapping_beats_a_bound(space, objective)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(spaces(), st.sampled_from(Objective))
def test_no_even_mapping_is_below_one_of_many_certificates(space, objective):
    assert_no_mapping_beats_a_bound(space, objective)


def where_outputs_add_up(*, shared_port: bool) -> Architecture:
    """Return a machine whose only memory of sums is the scratchpad."""
    return Architecture(
        name="sums-in-gb",
        scratchpad="gb",
        levels=(
            MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_bandwidth=8.0),
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
@pytest.mark.parametrize("objective", Objective)
def test_outputs_that_add_up_where_they_lie_are_not_read_out(objective, channels, shared_port):
    arch, work = where_outputs_add_up(shared_port=shared_port), Workload(P=8, K=4, C=channels)
    resident = frozenset({Operand.O})
    options = MapOptions(objective=objective)
    best = Exhaustive().map(work, arch, resident=resident, options=options).objective

    space = even_space(work, arch, resident)

    assert plain_bound(space, objective) <= best * _ROUNDING
    assert proven_by_the_program(space, objective) <= best * _ROUNDING
    assert least_steps(work, arch, work.dims, resident) < least_steps(work, arch, work.dims) or (
        not shared_port
    )


def test_a_program_that_leaves_out_slow_mappings_proves_nothing_of_them(monkeypatch):
    space = even_space(Workload(R=3, P=8), where_outputs_add_up(shared_port=True), frozenset())
    exact = proven_by_the_program(space, Objective.LATENCY)

    monkeypatch.setattr(formulation, "_WORST", 0.01)
    cut_off = proven_by_the_program(space, Objective.LATENCY)

    roofline = cycles_lower_bound(space.workload, space.arch)
    assert cut_off == pytest.approx(0.01 * 1024 / space.arch.macs * roofline)
    assert cut_off < exact


@pytest.mark.parametrize("objective", Objective)
def test_a_machine_without_energies_is_mapped_and_nothing_is_proven_of_its_energy(objective):
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_bandwidth=8.0),
        MemoryLevel(name="gb", holds=OPERANDS, capacity=4096, read_energy=0.0),
    )
    space = even_space(
        Workload(P=8, K=4), Architecture(name="free", levels=levels, scratchpad="gb"), frozenset()
    )

    found = solve_space(space, MapOptions(objective=objective), Effort())

    assert found.nest is not None
    assert (found.bound > 0.0) is (objective is Objective.LATENCY)


@pytest.mark.parametrize("guilty", ["plain_bound", "proven_by_the_program", "solve_space"])
def test_the_attack_notices_two_per_cent_too_much(monkeypatch, guilty):
    resident = frozenset({Operand.I, Operand.O})
    space = even_space(Workload(C=64, K=64), where_outputs_add_up(shared_port=False), resident)
    honest = globals()[guilty]

    def lying(*given):
        found = honest(*given)
        if guilty == "solve_space":
            return replace(found, bound=1.02 * found.bound)
        return 1.02 * found

    monkeypatch.setitem(globals(), guilty, lying)

    with pytest.raises(AssertionError):
        assert_no_mapping_beats_a_bound(space, Objective.LATENCY)
