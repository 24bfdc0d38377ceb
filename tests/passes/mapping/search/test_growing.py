"""Tiles that grow on several unrollings at once."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Workload
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.recipes.output_stationary import unrollings
from accnn.passes.mapping.search.growing import Growing, shares

PROBLEMS = [
    MappingProblem(workload=workload, arch=load_architecture(arch), objective=objective)
    for arch in ("simba.toml", "flexer-arch5.toml", "edge-1m.toml")
    for workload in (
        Workload(R=3, S=3, P=14, Q=14, C=3, K=96),
        Workload(R=3, S=3, P=112, Q=112, G=96, stride=(2, 2)),
        Workload(P=197, C=64, K=197, G=12),
    )
    for objective in (Objective.LATENCY, Objective.ENERGY)
]


@pytest.mark.parametrize(
    "problem", PROBLEMS, ids=lambda item: f"{item.workload}-{item.arch.name}-{item.objective}"
)
def test_each_unrolling_grows_as_it_would_alone(problem: MappingProblem) -> None:
    options = unrollings(problem.workload, problem.arch)

    together = Growing(problem, options).grown()

    assert together == tuple(Growing(problem, (spatial,)).grown()[0] for spatial in options)
    for nest, spatial in zip(together, options, strict=True):
        problem.check(nest)
        assert nest.spatial == tuple(loop for loop in spatial if loop.extent > 1)


def test_nothing_is_left_outside_of_a_scratchpad_that_holds_all() -> None:
    workload = Workload(R=3, S=3, P=4, Q=4, C=8, K=8)
    arch = load_architecture("edge-1m.toml")
    problem = MappingProblem(workload=workload, arch=arch)

    for nest in Growing(problem, unrollings(workload, arch)).grown():
        starts = [item.start for item in nest.allocations if item.level == arch.scratchpad]
        assert starts == [0, 0, 0]


def test_tiles_are_smaller_in_a_smaller_workspace() -> None:
    workload = Workload(R=3, S=3, P=56, Q=56, C=64, K=64)
    large = MappingProblem(workload=workload, arch=load_architecture("simba.toml"))
    small = replace(large, workspace=4096)
    options = unrollings(workload, large.arch)

    def taken(problem: MappingProblem) -> list[int]:
        nests = Growing(problem, options).grown()
        return [sum(size for _, size in nest.bytes_at(problem.machine, "gb")) for nest in nests]

    pairs = list(zip(taken(small), taken(large), strict=True))
    assert all(few <= 2048 and few < many for few, many in pairs)


@pytest.mark.parametrize("extent", [1, 2, 7, 12, 112, 197])
def test_shares_leave_the_least_padding(extent: int) -> None:
    """Of all shares that make as many parts, the smallest."""
    least = {-(-extent // share): share for share in range(extent, 0, -1)}

    assert shares(extent) == tuple(sorted(least.values(), reverse=True))
