"""A study has the same results through Dask and Ray, with a worker killed midway."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from accnn.compiler.explore.executors.choose import choose_executor
from accnn.compiler.explore.executors.dask_cluster import DaskExecutor
from accnn.compiler.explore.executors.ray_cluster import RayExecutor
from accnn.compiler.explore.work.outcome import TaskOutcome
from accnn.compiler.explore.work.question import StudyTask
from accnn.ir.errors import OptionError
from tests.exploring import MakeMadeUp, run_small, small_study

SLOW = MakeMadeUp(sleeps=0.5)


@dataclass
class Killing:
    """Kills one worker of an engine after the first outcome."""

    executor: Any
    pids: list[int]
    killed: int = 0

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        for pair in self.executor.run(tasks):
            if not self.killed:
                self.killed = self.pids[0]
                os.kill(self.killed, signal.SIGKILL)
            yield pair

    def close(self) -> None:
        self.executor.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster", "there is no such executor"),
        ("dask://", "there is no such executor"),
    ],
)
def test_what_names_no_executor_is_refused(text: str, message: str):
    with pytest.raises(OptionError, match=message):
        choose_executor(text, 1)


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [("distributed", "dask://x:1", "Dask is not installed"), ("ray", "ray://", "Ray is not")],
)
def test_what_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, text: str, message: str
):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(OptionError, match=message):
        choose_executor(text, 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_dask_with_a_worker_killed_midway(tmp_path: Path):
    distributed = pytest.importorskip("distributed")
    study = small_study(tmp_path)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    executor = DaskExecutor.connected(cluster.scheduler_address)
    pids = [info["pid"] for info in executor.client.run(_identity).values()]
    killing = Killing(executor, pids)
    try:
        content = run_small(study, tmp_path / "dask.db", killing, SLOW).content()
    finally:
        killing.close()
        cluster.close()

    assert killing.killed in pids
    assert content == run_small(study, tmp_path / "here.db").content()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_with_a_worker_killed_midway(tmp_path: Path):
    ray = pytest.importorskip("ray")
    study = small_study(tmp_path)
    executor = RayExecutor.connected("", 2)
    pid = ray.get(ray.remote(_identity).remote())["pid"]
    killing = Killing(executor, [pid])
    try:
        content = run_small(study, tmp_path / "ray.db", killing, SLOW).content()
    finally:
        killing.close()

    assert killing.killed == pid
    assert content == run_small(study, tmp_path / "here.db").content()


def _identity() -> dict[str, int]:
    return {"pid": os.getpid()}
