import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from accnn.compiler.explore.executors.child import Child
from accnn.compiler.explore.executors.local import LocalExecutor
from accnn.compiler.explore.work.outcome import TaskOutcome, TaskStatus
from tests.exploring import task_of
from tests.questions import Broken, Dying, Endless


@dataclass(frozen=True)
class Unsendable:
    key: str

    def outcome(self) -> TaskOutcome:
        raise AssertionError

    def __reduce__(self):
        raise TypeError("cannot pickle this")


def answered(*tasks):
    executor = LocalExecutor(1)
    try:
        return {task.key: outcome for task, outcome in executor.run(tasks)}
    finally:
        executor.close()


def test_a_task_whose_process_dies_is_recorded_and_others_go_on(tmp_path: Path):
    behind = [task_of(Broken(f"{number}")) for number in range(6)]

    found = answered(task_of(Dying("a")), task_of(Dying("b", tmp_path / "b"), retries=1), *behind)

    assert found["a"] == TaskOutcome(
        status=TaskStatus.DIED, cause="the process that answered it died"
    )
    assert found["b"].status is TaskStatus.OK
    assert {found[task.key].status for task in behind} == {TaskStatus.FAILED}


def test_without_a_retry_the_first_death_counts(tmp_path: Path):
    found = answered(task_of(Dying("b", tmp_path / "b")))

    assert found["b"].status is TaskStatus.DIED


def test_a_task_that_takes_too_long_is_ended_and_not_tried_again():
    started = time.monotonic()

    found = answered(task_of(Endless("a"), timeout=1.0, retries=5), task_of(Broken("b")))

    assert time.monotonic() - started < 60
    assert found["a"] == TaskOutcome(status=TaskStatus.TIMED_OUT, cause="no answer in 1 s")
    assert found["b"].status is TaskStatus.FAILED


def test_what_cannot_be_sent_is_an_error_and_no_outcome():
    with pytest.raises(Exception, match="[Pp]ickle"):
        answered(task_of(Unsendable("a")))


def test_a_closed_child_starts_no_process():
    child = Child()
    child.close()

    assert child.answer(task_of(Endless("a"))).status is TaskStatus.DIED
    assert child.process is None


def test_giving_up_midway_ends_what_is_at_work():
    executor = LocalExecutor(1)
    running = executor.run([task_of(Broken("a")), task_of(Endless("b"))])
    next(running)

    running.close()

    assert all(child.process is None for child in executor.children)
