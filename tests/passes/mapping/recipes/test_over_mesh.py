"""Of several mappers' nests the one that is fastest over the mesh is taken."""

from dataclasses import dataclass, replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import ArchitectureError, InfeasibleError
from accnn.ir.mapping import LoopNest
from accnn.ir.workload import Workload
from accnn.passes.analysis.mesh_load import mesh_load, network_cycles
from accnn.passes.mapping.mapper import Mapper, MappingResult, MappingStatus
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.drawn import RandomBest
from accnn.passes.mapping.recipes.over_mesh import FastestOverMesh
from accnn.runtime_sim.noc.nest_traffic import run_nest

PROBLEM = MappingProblem(
    workload=Workload(R=3, S=3, P=7, Q=7, C=64, K=64), arch=load_architecture("simba")
)


@dataclass(frozen=True, kw_only=True)
class Given(Mapper):
    """Answers what it was given, or nothing."""

    name: str = "given"
    nest: LoopNest | None = None

    def find(self, problem):
        if self.nest is None:
            raise InfeasibleError("nothing given")
        value = problem.value(self.nest)
        return MappingResult(
            nest=self.nest, mapper=self.name, status=MappingStatus.HEURISTIC, objective=value
        )


@pytest.fixture(scope="module")
def nests():
    """Return some random nests, the slowest over the mesh in closed form first."""
    found = [RandomBest().map(replace(PROBLEM, seed=seed, evaluations=3)).nest for seed in range(6)]
    return sorted(found, key=lambda nest: -estimate(nest))


def estimate(nest):
    return network_cycles(PROBLEM.cost(nest), mesh_load(nest, PROBLEM.arch))


def test_the_fastest_in_closed_form_is_taken_and_it_is_fast_over_the_mesh(nests):
    candidates = tuple(Given(name=f"g{n}", nest=nest) for n, nest in enumerate(nests))

    found = FastestOverMesh(candidates=(Given(), *candidates)).map(PROBLEM)

    assert estimate(nests[0]) > estimate(nests[-1])
    assert found.nest == nests[-1]
    assert found.mapper == "network"
    assert found.objective == PROBLEM.value(nests[-1])
    assert found.note.startswith("by g5, ")
    slow, fast = (run_nest(nest, PROBLEM.arch, most=20_000) for nest in (nests[0], found.nest))
    assert fast.cycles < slow.cycles


def test_without_a_nest_or_a_mesh_it_says_so():
    with pytest.raises(InfeasibleError, match="nothing given"):
        FastestOverMesh(candidates=(Given(),)).map(PROBLEM)
    bare = replace(PROBLEM, arch=replace(PROBLEM.arch, network=None))
    with pytest.raises(ArchitectureError, match="no network"):
        FastestOverMesh().map(bare)
