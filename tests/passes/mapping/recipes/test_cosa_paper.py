from functools import cache

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.certificate.paper import (
    PaperFormulation,
    PaperWeights,
    breakdown,
    kept_at_network,
)
from accnn.passes.mapping.mapper import MappingResult
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.mapping.recipes.cosa_paper import CosaPaper, calibrated_weights
from accnn.passes.mapping.search.even.space import even_space
from accnn.passes.mip.model import MipLimits, Solver

WORK = Workload(R=3, P=8, Q=4, C=8, K=8)


@pytest.fixture(scope="module")
def simba():
    return load_architecture("simba.toml")


@cache
def found_with(solver: Solver) -> MappingResult:
    """Return what the mapper finds for Simba, once for all tests that look at it."""
    problem = MappingProblem(workload=WORK, arch=load_architecture("simba.toml"))
    return CosaPaper(solver=solver, nodes=500).map(problem)


@pytest.mark.parametrize("solver", Solver)
def test_gives_a_valid_nest_with_either_solver(simba, solver):
    result = found_with(solver)

    result.nest.verify(simba)
    assert not result.nest.padding
    assert result.bound is result.scope is result.gap is None
    assert "eq. (12)" in result.note


@pytest.mark.parametrize("work", [Workload(P=2, C=4, K=4), Workload(R=3, P=2, C=2)])
@pytest.mark.parametrize("arch", ["simba.toml", "edge-1m.toml"])
def test_both_solvers_give_the_same_nest_where_they_prove_the_optimum(arch, work):
    problem = MappingProblem(workload=work, arch=load_architecture(arch))

    highs, cbc = (CosaPaper(solver=solver, gap=0.0).map(problem) for solver in Solver)

    assert highs.note.endswith(", proven")
    assert (highs.nest, highs.note) == (cbc.nest, cbc.note)


def test_objective_parts_of_a_solution_equal_those_of_its_nest(simba):
    space = even_space(MappingProblem(workload=Workload(P=4, C=8, K=4), arch=simba))
    program = PaperFormulation(space, PaperWeights(), input_share=1.0)

    result = program.model.solve(MipLimits(nodes=500, gap_rel=0.001))

    parts = breakdown(program.decode(result.values), space)
    assert parts.compute == pytest.approx(result.value(program.compute), abs=1e-6)
    assert parts.utilization == pytest.approx(result.value(program.utilization), abs=1e-6)
    assert parts.traffic == pytest.approx(result.value(program.traffic), abs=1e-6)


def test_matrix_b_leaves_out_what_the_level_of_the_network_does_not_keep(simba):
    space = even_space(MappingProblem(workload=Workload(P=4, C=8, K=4), arch=simba))
    limits = MipLimits(nodes=500, gap_rel=0.001)
    traffic = PaperWeights(utilization=0.0, compute=0.0)
    kept = kept_at_network(simba)

    costs = {
        moved: PaperFormulation(space, traffic, 1.0, moved=moved).model.solve(limits).objective
        for moved in (None, tuple(Operand), kept, ())
    }

    assert kept == (Operand.I, Operand.O)
    assert costs[None] == costs[tuple(Operand)]
    assert costs[()] <= costs[kept] <= costs[None]
    assert costs[()] < costs[None]


def test_a_program_with_matrix_b_gives_a_valid_nest(simba):
    mapper = CosaPaper(nodes=50, moved=kept_at_network(simba))

    mapper.map(MappingProblem(workload=WORK, arch=simba)).nest.verify(simba)


def test_compute_weight_fills_the_array(simba):
    busy = PaperWeights(utilization=0.0, compute=1.0, traffic=0.0)

    result = CosaPaper(weights=busy, nodes=500).map(MappingProblem(workload=WORK, arch=simba))

    assert evaluate(result.nest, simba).compute_cycles <= 2 * WORK.macs / simba.macs


def test_balance_is_an_objective_of_its_own(simba):
    work = Workload(P=4, C=8, K=4)

    result = CosaPaper(weights=PaperWeights(balance=True), nodes=30).map(
        MappingProblem(workload=work, arch=simba)
    )

    result.nest.verify(simba)


def test_is_the_yardstick_not_the_better_mapper(simba):
    ours = Cosa().map(MappingProblem(workload=WORK, arch=simba, even=True))

    assert ours.objective <= found_with(CosaPaper().solver).objective


def test_weights_come_from_micro_benchmarks(simba):
    small = (Workload(P=4, C=8, K=4),)

    weights = calibrated_weights(simba, small, options=(0.25, 1.0))

    assert weights.utilization in (0.25, 1.0)
    assert weights.traffic in (0.25, 1.0)


def test_sums_that_would_return_to_finished_outputs_are_infeasible():
    arch = load_architecture("edge-fp32.toml")
    work = Workload(P=8, C=8, K=4, weight_bits=32, input_bits=32, output_bits=32, psum_bits=32)
    resident = frozenset({Operand.O})

    for workspace in (64, 128, 256, 512, 1024, 4096):
        try:
            nest = (
                CosaPaper(nodes=50)
                .map(
                    MappingProblem(workload=work, arch=arch, workspace=workspace, resident=resident)
                )
                .nest
            )
        except InfeasibleError:
            continue
        assert not MappingProblem(
            workload=nest.workload, arch=arch, workspace=workspace, resident=resident
        ).returns_sums(nest)
