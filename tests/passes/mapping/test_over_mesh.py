"""Nests for a machine with a mesh: chosen in closed form, judged by the simulation."""

from dataclasses import replace
from functools import cache

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import ArchitectureError
from accnn.ir.workload import Workload
from accnn.passes.mapping.mapper import MappingResult, MappingStatus
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.registry import find_mapper
from accnn.runtime_sim.noc.nest_traffic import run_nest

SIMBA = load_architecture("simba")
NARROW = MappingProblem(workload=Workload(P=28, C=128, K=32), arch=SIMBA)


@cache
def mapped(name: str, objective: Objective = Objective.LATENCY) -> MappingResult:
    """Return what a mapper finds for an objective, once for all tests that look at it."""
    return find_mapper(name).map(replace(NARROW, objective=objective))


@pytest.mark.parametrize("name", ["cosa", "output-stationary"])
def test_no_candidate_is_faster_in_closed_form(name: str):
    asked = replace(NARROW, objective=Objective.NETWORK)
    found = mapped(name, Objective.NETWORK)

    assert found.objective == pytest.approx(asked.value(found.nest))
    for objective in (Objective.LATENCY, Objective.EDP):
        other = mapped(name, objective)
        assert found.objective <= asked.value(other.nest)


def test_what_is_proven_without_a_mesh_bounds_it():
    found, plain = mapped("cosa", Objective.NETWORK), mapped("cosa")

    assert found.status is MappingStatus.BOUNDED
    assert found.bound == plain.bound
    assert plain.objective <= found.objective


def test_it_is_faster_over_the_mesh():
    found, plain = mapped("cosa", Objective.NETWORK), mapped("cosa")

    def cycles(nest):
        return run_nest(nest, SIMBA, most=20_000).cycles

    assert cycles(found.nest) < 0.8 * cycles(plain.nest)


def test_a_machine_without_a_mesh_is_refused():
    problem = replace(NARROW, arch=load_architecture("edge-1m"), objective=Objective.NETWORK)
    with pytest.raises(ArchitectureError, match="no network"):
        find_mapper("output-stationary").map(problem)
