"""Nests for a machine with a mesh: chosen in closed form, judged by the simulation."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import ArchitectureError
from accnn.ir.workload import Workload
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.registry import find_mapper
from accnn.runtime_sim.noc.nest_traffic import run_nest

SIMBA = load_architecture("simba")
NARROW = MappingProblem(workload=Workload(P=28, Q=28, C=128, K=32), arch=SIMBA)


@pytest.mark.parametrize("name", ["cosa", "output-stationary"])
def test_no_candidate_is_faster_in_closed_form(name: str):
    mapper, asked = find_mapper(name), replace(NARROW, objective=Objective.NETWORK)
    found = mapper.map(asked)

    assert found.objective == pytest.approx(asked.value(found.nest))
    for objective in (Objective.LATENCY, Objective.EDP):
        other = mapper.map(replace(NARROW, objective=objective))
        assert found.objective <= asked.value(other.nest)


def test_what_is_proven_without_a_mesh_bounds_it():
    found = find_mapper("cosa").map(replace(NARROW, objective=Objective.NETWORK))
    plain = find_mapper("cosa").map(NARROW)

    assert found.status is MappingStatus.BOUNDED
    assert found.bound == plain.bound
    assert plain.objective <= found.objective


def test_it_is_faster_over_the_mesh():
    found = find_mapper("cosa").map(replace(NARROW, objective=Objective.NETWORK))
    plain = find_mapper("cosa").map(NARROW)

    def cycles(nest):
        return run_nest(nest, SIMBA, most=20_000).cycles

    assert cycles(found.nest) < 0.8 * cycles(plain.nest)


def test_a_machine_without_a_mesh_is_refused():
    problem = replace(NARROW, arch=load_architecture("edge-1m"), objective=Objective.NETWORK)
    with pytest.raises(ArchitectureError, match="no network"):
        find_mapper("output-stationary").map(problem)
