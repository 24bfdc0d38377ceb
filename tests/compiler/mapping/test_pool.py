import dataclasses
from functools import partial

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.mapping.pool import WorkerPool, solve_side_by_side
from accnn.compiler.mapping.solve import CachedSolver, solve_all
from accnn.compiler.stores.mappings import MappingCache, key_of
from accnn.ir.errors import InfeasibleError, PassError
from accnn.ir.module import Stage
from accnn.ir.workload import Workload
from accnn.passes.base import STOOD_IN, Context, Counters, without
from accnn.passes.helpers import Helped
from accnn.passes.mapping.jobs import MAPPER_DIED, KnownNests, MapJob, solve_in_turn
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.scheduling import map_operators
from accnn.passes.scheduling.map_operators import MapOperators
from tests.dying_mapper import DyingMapper
from tests.flow import compile_graph
from tests.networks import NetworkBuilder
from tests.questions import Doubling

ARCH = load_architecture("simba.toml")
JOBS = tuple(
    MapJob(MappingProblem(workload=Workload(P=size, C=8, K=8), arch=ARCH), OutputStationary())
    for size in range(1, 7)
)


def told(done, total, asked):
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


def test_processes_answer_several_sequences_of_questions():
    with WorkerPool(2) as pool:
        first, again = (solve_all(JOBS, processes=2, pool=pool) for _ in range(2))

        assert first == again == solve_in_turn(JOBS, told)
        assert len(pool.started) == 2
        assert pool.idle.qsize() == 2
    assert pool.is_stopped


def test_helpers_answer_in_order():
    with WorkerPool(2) as pool:
        found = pool.help([Doubling(number) for number in range(7)])
        assert found == tuple(map(Helped, range(0, 14, 2)))
        assert len(pool.started) == 2


def test_a_helper_that_dies_leaves_its_question_and_nobody_helps_any_more():
    with WorkerPool(2) as pool:
        found = pool.help([*map(Doubling, (1, -1, 2, -1, 3))])
        assert found == (Helped(2), None, Helped(4), None, Helped(6))
        assert len(pool.started) == 4
        assert pool.idle.qsize() == 2
        assert pool.help([Doubling(4), Doubling(4)]) == (None, None)
        assert solve_all(JOBS, processes=2, pool=pool) == solve_in_turn(JOBS, told)


def test_nobody_helps_where_there_is_one_process():
    with WorkerPool(1) as pool:
        assert pool.help([Doubling(1), Doubling(2)]) == (None, None)
        assert pool.started == []


def test_a_sequence_that_is_broken_off_ends_all_processes():
    with WorkerPool(2) as pool:
        found = pool.answers(JOBS)
        next(found)
        found.close()

        assert pool.is_stopped


def test_a_process_that_dies_is_told():
    dying = dataclasses.replace(JOBS[0], mapper=DyingMapper())

    with pytest.raises(PassError, match="a process that maps operators died at"):
        list(solve_side_by_side([dying, *JOBS], 2))


def test_a_stand_in_answers_for_a_mapper_that_dies(tmp_path):
    jobs = JOBS[:3]
    dying = [
        dataclasses.replace(job, mapper=DyingMapper(), rough=OutputStationary()) for job in jobs
    ]
    cache = MappingCache(tmp_path)

    answers = solve_all([*dying, *jobs], cache)

    expected = solve_in_turn(jobs, told)
    assert [item.nest for item in answers] == 2 * [item.nest for item in expected]
    stood_in = {(item.mapper, item.status, item.note, item.bound) for item in answers[: len(jobs)]}
    assert stood_in == {("output-stationary", MappingStatus.FALLBACK, MAPPER_DIED, None)}
    assert [cache.find(key_of(job)) is None for job in dying] == 3 * [True]
    assert [cache.find(key_of(job)) is None for job in jobs] == 3 * [False]


def test_what_does_not_fit_the_stand_in_is_an_answer():
    tiny = dataclasses.replace(JOBS[0].problem, workspace=2)

    ((_, answer),) = solve_side_by_side([MapJob(tiny, DyingMapper(), OutputStationary())], 1)

    assert isinstance(answer, InfeasibleError)


def test_a_stand_in_that_dies_too_is_told():
    dying = MapJob(JOBS[0].problem, DyingMapper(), DyingMapper())

    with pytest.raises(PassError, match="a process that maps operators died at"):
        list(solve_side_by_side([dying, *JOBS], 2))


def solve_elsewhere(pool, jobs, progress):
    """Let another process answer, however few there are."""
    found = dict(pool.answers(jobs))
    return tuple(map(found.__getitem__, jobs))


def test_a_network_whose_mapper_dies_is_compiled_and_says_so(monkeypatch):
    net = NetworkBuilder()
    y = net.conv(net.input("x", (1, 8, 6, 6)), "c", 12, 3)
    module = compile_graph(net.build(y), net.data, "simba", budget=8192).module
    monkeypatch.setattr(map_operators, "find_mapper", lambda name: DyingMapper())
    counters = Counters()

    with WorkerPool(1) as pool:
        context = Context(solve_jobs=partial(solve_elsewhere, pool), counters=counters)
        mapped = MapOperators(mapper="cosa").run(without(module, {Stage.MAPPINGS}), context)

    assert [item.status for item in mapped.mappings] == [MappingStatus.FALLBACK]
    assert {item.note for item in mapped.mappings} == {MAPPER_DIED}
    assert dict(counters.values)[STOOD_IN] == 1


def test_an_answer_from_the_cache_took_no_time_in_this_run(tmp_path):
    solver = CachedSolver(MappingCache(tmp_path), 1)

    first, again = solver(JOBS, told), solver(JOBS, told)

    assert again == first
    assert all(answer.seconds > 0 for answer in first)
    assert all(answer.seconds == answer.cpu_seconds == 0 for answer in again)


def test_equal_questions_of_one_compilation_are_answered_once(monkeypatch):
    solver = CachedSolver(None, 1)
    first = solver(JOBS, told)
    monkeypatch.setattr(MapJob, "answer", lambda _: pytest.fail("once more"))

    again = solver([*JOBS, JOBS[0]], told)

    assert again == (*first, first[0])
    assert all(answer.seconds == 0 for answer in again)


def test_what_passes_have_found_is_kept_and_not_asked(tmp_path, monkeypatch):
    first, *others = solve_in_turn(JOBS, told)
    found = KnownNests(dict(zip(JOBS[1:], others, strict=True)))
    solver = CachedSolver(MappingCache(tmp_path), 1, nests=found)
    asked: list[MapJob] = []
    solve = MapJob.answer
    monkeypatch.setattr(MapJob, "answer", lambda job: asked.append(job) or solve(job))

    answers = solver(JOBS, told)

    assert [answer.nest for answer in answers] == [answer.nest for answer in (first, *others)]
    assert asked == [JOBS[0]]
    assert all(MappingCache(tmp_path).find(key_of(job)) is not None for job in JOBS)


def test_progress_is_told_from_none_to_all():
    seen = []

    solve_all(JOBS, processes=1, progress=lambda *at: seen.append(at))

    assert seen == [(done, len(JOBS), job) for done, job in enumerate((*JOBS, None))]
