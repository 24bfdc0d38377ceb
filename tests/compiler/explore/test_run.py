"""A study that was killed and resumed leaves the same database as one that was not."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

from accnn.compiler.explore.executors.local import LocalExecutor
from accnn.compiler.explore.run import digest_of_study
from accnn.compiler.explore.work.outcome import TaskStatus
from accnn.ir.errors import InputError
from tests.exploring import (
    STUDY,
    InTurn,
    MakeMadeUp,
    begun,
    run_small,
    small_study,
)
from tests.thinned import examples

BAYESIAN = STUDY + '[search]\nmethod = "bayesian"\npoints = 7\nbatch = 3\nseed = 5\n'
RANDOM = STUDY + '[search]\nmethod = "random"\npoints = 5\nseed = 3\n'


def test_every_point_has_its_tasks_and_figures(tmp_path: Path):
    database = run_small(small_study(tmp_path), tmp_path / "a.db")

    assert [point.place for point in database.points()][:4] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert len(database.uses()) == 9 * 2
    assert len(database.tasks()) == 9 * 2
    ended = [task.outcome.status for task in database.tasks() if task.outcome]
    assert (ended.count(TaskStatus.OK), ended.count(TaskStatus.INFEASIBLE)) == (16, 2)


def test_a_random_search_draws_by_its_seed(tmp_path: Path):
    one = run_small(small_study(tmp_path, RANDOM), tmp_path / "a.db").points()
    other = run_small(small_study(tmp_path, RANDOM.replace("= 3", "= 4")), tmp_path / "b.db")

    assert len({point.place for point in one}) == 5
    assert one != other.points()


def test_a_finished_study_asks_nothing_again(tmp_path: Path):
    study, again = small_study(tmp_path), InTurn()
    first = run_small(study, tmp_path / "a.db").content()

    second = run_small(study, tmp_path / "a.db", again).content()

    assert again.asked == 0
    assert second == first


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_change_no_result(tmp_path: Path, processes: int):
    study = small_study(tmp_path)
    executor = LocalExecutor(processes)
    try:
        content = run_small(study, tmp_path / "a.db", executor).content()
    finally:
        executor.close()

    assert content == run_small(study, tmp_path / "b.db").content()


@pytest.mark.parametrize(
    "text",
    [pytest.param(STUDY, id="grid"), pytest.param(BAYESIAN, id="bayesian", marks=pytest.mark.slow)],
)
def test_killed_at_random_moments_it_resumes_to_the_same_content(tmp_path: Path, text: str):
    study = small_study(tmp_path, text)
    whole = run_small(study, tmp_path / "whole.db").content()
    draw = random.Random(11)
    kills, enough = 0, examples(21)

    for number in range(200):
        file = tmp_path / f"{number // 8}.db"
        killed = _run_and_kill(study, file, draw.uniform(0.0, 0.25))
        kills += killed
        if number % 8 == 7:
            assert run_small(study, file).content() == whole
        if kills >= enough and number % 8 == 7:
            break

    assert kills >= enough


def _run_and_kill(study, file: Path, seconds: float) -> bool:
    """Return whether a process that runs the study was killed before it was through."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(study, file))
    process.start()
    time.sleep(seconds)
    if process.is_alive():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == -signal.SIGKILL


def _run(study, file: Path) -> None:
    run_small(study, file, make=MakeMadeUp(sleeps=0.004))


def test_another_study_does_not_fit_the_results(tmp_path: Path):
    run_small(small_study(tmp_path), tmp_path / "a.db")
    other = small_study(tmp_path, STUDY.replace("[4, 8, 16]", "[4, 8]"))

    with pytest.raises(InputError, match="the results are those of another study"):
        begun(other, tmp_path / "a.db")


def test_time_limits_and_retries_are_no_part_of_the_study(tmp_path: Path):
    patient = STUDY + "[mapping]\ntimeout = 1000.0\nretries = 9\n"

    digests = {
        digest_of_study(small_study(tmp_path, text), MakeMadeUp()) for text in (STUDY, patient)
    }

    assert len(digests) == 1


def test_what_failed_is_forgotten_and_what_is_infeasible_is_not(tmp_path: Path):
    database = run_small(small_study(tmp_path), tmp_path / "a.db")

    assert database.forget_what_failed() == 0
    assert len(database.answered()) == 18


def test_equal_architectures_share_their_tasks(tmp_path: Path):
    text = STUDY.replace("pe.size = [4, 8, 16]", "pe.size = [4]\nunused = [1, 2]")

    database = run_small(small_study(tmp_path, text), tmp_path / "a.db")

    assert len(database.points()) == 6
    assert len(database.tasks()) == 3 * 2
    assert len(database.architectures()) == 3


def test_what_breaks_a_constraint_is_recorded_and_not_asked(tmp_path: Path):
    executor = InTurn()
    text = STUDY + '[constraints]\nsram = "400 KiB"\n'

    database = run_small(small_study(tmp_path, text), tmp_path / "a.db", executor)

    causes = [point.cause for point in database.points() if point.cause]
    assert causes
    assert all("memories on chip are" in cause for cause in causes)
    assert executor.asked == 2 * (9 - len(causes))
