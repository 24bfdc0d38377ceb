import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.proof import Scope, gap_of
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.certificate import certify
from accnn.passes.mapping.certificate.certify import ProofEffort
from accnn.passes.mapping.certificate.formulation import Formulation
from accnn.passes.mapping.certificate.padding import candidates
from accnn.passes.mapping.certificate.unrolling import least_steps
from accnn.passes.mapping.mapper import MappingResult, MappingStatus
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.mapping.recipes.drawn import Exhaustive
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary
from accnn.passes.mapping.registry import find_mapper
from accnn.passes.mapping.search.even.space import even_space
from accnn.passes.mip.model import MipLimits, MipStatus
from tests.thinned import thinned

CONV = Workload(R=3, S=3, P=7, Q=7, C=512, K=512)


@pytest.fixture(scope="module")
def simba():
    return load_architecture("simba.toml")


@cache
def found_by_cosa(problem: MappingProblem) -> MappingResult:
    """Return what the mapper finds, once for all tests that look at it."""
    return Cosa().map(problem)


def test_latency_is_close_to_the_roofline_and_certified(simba):
    result = Cosa().map(MappingProblem(workload=CONV, arch=simba))

    result.nest.verify(simba)
    cost = evaluate(result.nest, simba)
    assert result.status is MappingStatus.OPTIMAL
    assert result.objective == cost.cycles
    assert cost.cycles_lower_bound <= result.bound <= result.objective
    assert result.objective <= 1.035 * cost.cycles_lower_bound
    assert result.gap <= 0.015


def test_an_uneven_nest_may_beat_every_even_one(simba):
    work = Workload(P=14, Q=14, C=512, K=64)

    uneven = Cosa().map(MappingProblem(workload=work, arch=simba))
    even = Cosa().map(MappingProblem(workload=work, arch=simba, even=True))

    assert uneven.objective < even.bound <= even.objective
    assert uneven.objective >= evaluate(uneven.nest, simba).cycles_lower_bound
    assert even.scope is uneven.scope is Scope.EVEN_NESTS


def test_an_uneven_nest_below_the_bound_of_even_ones_says_so(simba):
    work = Workload(R=3, S=3, P=14, Q=14, C=16, K=512, stride=(2, 2))

    result = Cosa().map(MappingProblem(workload=work, arch=simba))

    assert result.objective < result.bound
    assert result.scope is Scope.EVEN_NESTS
    assert result.gap == gap_of(result.objective, result.bound) < 0.0


@pytest.mark.parametrize("objective", SEARCHED)
def test_beats_the_baseline_in_its_own_objective(simba, objective):
    work = Workload(P=16, C=16, K=32)
    problem = MappingProblem(workload=work, arch=simba, objective=objective)

    result = found_by_cosa(problem)

    baseline = objective.of(evaluate(map_output_stationary(work, simba).nest, simba))
    assert result.bound <= result.objective <= baseline


def test_is_deterministic(simba):
    problem = MappingProblem(workload=Workload(P=16, C=16, K=32), arch=simba)

    assert Cosa().map(problem) == found_by_cosa(problem)


DEPTHWISE = Workload(R=3, S=3, P=8, Q=8, G=32)
GROUPED = Workload(P=16, C=32, K=16, G=4)
STRIDED = Workload(R=3, P=14, C=16, K=24, stride=(2, 2))


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("edge-1m", DEPTHWISE),
        ("edge-1m", STRIDED),
        ("flexer-arch5", GROUPED),
        ("flexer-arch5", DEPTHWISE),
        ("eyeriss", STRIDED),
        ("gpu-k80", GROUPED),
    ],
    ids=str,
)
def test_follows_the_architecture_whatever_its_levels(name, work):
    arch = load_architecture(f"{name}.toml")

    result = Cosa().map(MappingProblem(workload=work, arch=arch))

    result.nest.verify(arch)
    assert result.objective >= evaluate(result.nest, arch).cycles_lower_bound
    assert result.status is not MappingStatus.FALLBACK


def test_respects_workspace_and_placement(simba):
    resident = frozenset({Operand.I, Operand.O})
    work = Workload(P=16, Q=16, C=64, K=64)

    whole = Cosa().map(MappingProblem(workload=work, arch=simba, workspace=16_384))
    placed = Cosa().map(
        MappingProblem(workload=work, arch=simba, workspace=1024, resident=resident)
    )

    MappingProblem(workload=whole.nest.workload, arch=simba, workspace=16_384).check(whole.nest)
    assert sum(amount for _, amount in whole.nest.bytes_at(simba, "gb")) <= 8192
    MappingProblem(
        workload=placed.nest.workload, arch=simba, workspace=1024, resident=resident
    ).check(placed.nest)
    assert placed.nest.bytes_at(simba, "gb") == ()
    assert not placed.nest.holds_psums(simba, "gb")


@pytest.mark.parametrize("mapper", ["cosa", "salsa", "loma", "random", "output-stationary"])
def test_no_workspace_is_enough_when_inputs_and_outputs_lie_on_chip(simba, mapper):
    resident = frozenset({Operand.I, Operand.O})
    work = Workload(R=3, P=4, Q=4, C=8, K=4)

    nest = (
        find_mapper(mapper)
        .map(MappingProblem(workload=work, arch=simba, workspace=0, resident=resident))
        .nest
    )

    MappingProblem(workload=nest.workload, arch=simba, workspace=0, resident=resident).check(nest)
    with pytest.raises(InfeasibleError):
        find_mapper(mapper).map(MappingProblem(workload=work, arch=simba, workspace=0))


def test_pads_where_prime_factors_run_out(simba):
    work = Workload(P=17, C=17, K=64)

    padded = Cosa(paddings=1).map(MappingProblem(workload=work, arch=simba))
    plain = Cosa().map(MappingProblem(workload=work, arch=simba, padding=False))

    assert padded.nest.padding
    assert not plain.nest.padding
    assert padded.objective < 0.7 * plain.objective


def test_does_not_pad_what_cannot_gain(simba):
    work = Workload(P=14, Q=14, C=256, K=1024)
    bound = evaluate(map_output_stationary(work, simba).nest, simba).cycles_lower_bound

    assert candidates(MappingProblem(workload=work, arch=simba), below=bound, count=3) == ()


@pytest.mark.parametrize("extent", [1009, 50257])
def test_large_primes_are_solved(simba, extent):
    result = Cosa().map(MappingProblem(workload=Workload(C=64, K=extent), arch=simba))

    result.nest.verify(simba)
    assert result.objective < 1.1 * evaluate(result.nest, simba).cycles_lower_bound


PRIME = ("flexer-arch4", Workload(C=197))
ODD = ("flexer-arch1", Workload(S=7, P=56, Q=55, C=14, K=197))
SEVENS = ("eyeriss", Workload(R=7, P=49, Q=7, C=256, K=2, N=2))


@pytest.mark.parametrize(
    ("arch", "work", "objective"),
    [
        *((*PRIME, objective) for objective in SEARCHED),
        *(
            pytest.param(*case, objective, marks=pytest.mark.slow)
            for case, objectives in (
                (ODD, SEARCHED),
                (SEVENS, SEARCHED),
            )
            for objective in objectives
        ),
    ],
)
def test_padding_pays_under_every_objective(arch, work, objective):
    problem = MappingProblem(workload=work, arch=load_architecture(arch), objective=objective)

    found = Cosa().map(problem)
    searched = find_mapper("salsa").map(problem)

    problem.check(found.nest)
    assert found.objective <= 1.02 * searched.objective
    assert found.bound <= found.objective


@pytest.mark.parametrize(
    ("nodes", "status"), [(5000, MappingStatus.OPTIMAL), (1, MappingStatus.BOUNDED)]
)
def test_optimal_is_what_lies_within_the_gap_of_what_is_proven(simba, nodes, status):
    work = Workload(R=3, S=3, P=13, Q=13, C=384, K=256)
    problem = MappingProblem(workload=work, arch=simba, objective=Objective.ENERGY)
    effort = ProofEffort(nodes=nodes)

    result = found_by_cosa(problem) if effort == ProofEffort() else Cosa(effort=effort).map(problem)

    assert result.status is status
    assert (result.gap < 0.0041) is (status is MappingStatus.OPTIMAL)


@pytest.mark.parametrize(
    "objective",
    [*thinned([Objective.ENERGY, Objective.LATENCY, Objective.EDP], one_in=3)],
)
def test_without_proof_no_program_is_asked_and_the_bound_is_weaker(simba, monkeypatch, objective):
    work = Workload(R=3, S=3, P=13, Q=13, C=384, K=256)
    problem = MappingProblem(workload=work, arch=simba, objective=objective)
    proven = found_by_cosa(problem)
    monkeypatch.setattr(certify, "Formulation", lambda *_: pytest.fail("a program is made"))

    searched = Cosa().without_proof.map(problem)

    problem.check(searched.nest)
    assert 0 < searched.bound <= proven.bound
    assert proven.bound <= searched.objective <= 1.05 * proven.objective
    assert searched.status is MappingStatus.BOUNDED


def test_a_prime_that_no_fanout_takes_bounds_the_steps():
    work = Workload(C=197)
    problem = MappingProblem(workload=work, arch=load_architecture("flexer-arch4"))  # 32 rows

    assert least_steps(problem, work.dims) == pytest.approx(197)
    assert least_steps(problem, {**work.dims, Dim.C: 203}) == pytest.approx(7)


def test_says_what_is_short(simba):
    with pytest.raises(InfeasibleError, match=r"gb: needs .* short of"):
        Cosa().map(MappingProblem(workload=CONV, arch=simba, workspace=2))


@settings(max_examples=3, deadline=None)
@given(st.data())
def test_equals_exhaustive_search_on_tiny_workloads(simba, data):
    extents = {
        dim.value: data.draw(st.sampled_from((1, 2, 3, 4))) for dim in (Dim.P, Dim.C, Dim.K, Dim.R)
    }
    extents["R"] = min(extents["R"], 3)
    if math.prod(extents.values()) > 24:
        extents["P"], extents["K"] = 1, 2
    work = Workload(**extents)
    problem = MappingProblem(workload=work, arch=simba, padding=False)

    found = Cosa().map(problem)
    best = Exhaustive().map(problem)

    assert found.bound <= best.objective * (1 + 1e-9)
    assert found.objective <= best.objective * (1 + 1e-9)
    assert np.isfinite(best.objective)


def test_no_mapping_is_below_the_certificate_of_the_energy_delay_product(simba):
    work = Workload(R=2, C=4, K=2)
    problem = MappingProblem(
        workload=work, arch=simba, objective=Objective.EDP, padding=False, even=True
    )

    found = Cosa().map(problem)
    best = Exhaustive().map(problem)

    assert found.bound <= best.objective * (1 + 1e-9)
    assert found.objective <= best.objective * (1 + 1e-4)


def test_sharper_tangents_are_added_only_where_a_solution_needs_them(simba):
    space = even_space(MappingProblem(workload=Workload(P=14, C=32, K=64), arch=simba))
    program = Formulation(space)
    limits = MipLimits(gap_abs=0.05, nodes=50)

    first = program.model.solve(limits)
    rows = program.model.rows
    sharpened = program.sharpen(first)

    assert sharpened == (program.model.rows > rows)
    assert program.model.solve(limits).bound >= first.bound - 0.05


def test_nothing_is_found_below_the_optimum(simba):
    space = even_space(MappingProblem(workload=Workload(P=2, C=4, K=2), arch=simba))
    best = Exhaustive().map(MappingProblem(workload=space.workload, arch=simba)).objective

    program = Formulation(space, below=0.99 * best)

    assert program.model.solve(MipLimits()).status is MipStatus.INFEASIBLE
