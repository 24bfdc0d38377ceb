import dataclasses

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.mapping.pool import solve_side_by_side
from accnn.compiler.mapping.solve import CachedSolver, solve_all
from accnn.compiler.stores.mappings import MappingCache
from accnn.ir.errors import InfeasibleError, PassError
from accnn.ir.workload import Workload
from accnn.passes.mapping.jobs import MapJob, solve_in_turn
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from tests.dying_mapper import DyingMapper

ARCH = load_architecture("simba.toml")
JOBS = tuple(
    MapJob(MappingProblem(workload=Workload(P=size, C=8, K=8), arch=ARCH), OutputStationary())
    for size in range(1, 7)
)


def told(done, total):
    """Tell nobody."""


def test_the_number_of_processes_changes_no_answer():
    alone = solve_all(JOBS, processes=1)

    assert solve_all(JOBS, processes=2) == alone
    assert solve_in_turn(JOBS, told) == alone


def test_no_answer_comes_back_from_another_process():
    tiny = MapJob(dataclasses.replace(JOBS[0].problem, workspace=2), OutputStationary())

    ((job, answer),) = solve_side_by_side([tiny], 1)

    assert job is tiny
    assert isinstance(answer, InfeasibleError)
    assert answer.shortage is not None


def test_a_process_that_dies_is_told():
    dying = dataclasses.replace(JOBS[0], mapper=DyingMapper())

    with pytest.raises(PassError, match="a process that maps operators died at"):
        list(solve_side_by_side([dying, *JOBS], 2))


def test_an_answer_from_the_cache_took_no_time_in_this_run(tmp_path):
    solver = CachedSolver(MappingCache(tmp_path), 1)

    first, again = solver(JOBS, told), solver(JOBS, told)

    assert again == first
    assert all(answer.seconds > 0 for answer in first)
    assert all(answer.seconds == answer.cpu_seconds == 0 for answer in again)


def test_progress_is_told_from_none_to_all():
    seen = []

    solve_all(JOBS, processes=1, progress=lambda done, total: seen.append((done, total)))

    assert seen == [(done, len(JOBS)) for done in range(len(JOBS) + 1)]
