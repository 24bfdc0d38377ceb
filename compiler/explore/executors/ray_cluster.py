"""The workers of a Ray cluster; the door to ``ray``, which is optional.

A task of a worker that dies is tried again by Ray, ``retries`` of the study times and once more.
"""

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ....ir.errors import OptionError
from ..work.outcome import TaskOutcome, TaskStatus
from ..work.question import StudyTask
from .remote import answer_on_worker

_AT_ONCE = 1000
"""Tasks that are submitted and not yet answered."""


@dataclass
class RayExecutor:
    """Answers tasks on a Ray cluster.

    Attributes:
        ray: The module.
    """

    ray: Any

    @classmethod
    def connected(cls, address: str, processes: int) -> "RayExecutor":
        """Return the executor of a cluster.

        Args:
            address: ``host:port`` of Ray's client server; empty starts Ray on this machine.
            processes: How many it then has.

        Raises:
            OptionError: Ray is not installed, or nothing answers.
        """
        try:
            ray = importlib.import_module("ray")
        except ModuleNotFoundError as error:
            raise OptionError(
                "Ray is not installed", hint="pip install 'accnn[explore,ray]'"
            ) from error
        if not ray.is_initialized():
            where = {"address": f"ray://{address}"} if address else {"num_cpus": processes}
            try:
                ray.init(
                    **where, include_dashboard=False if not address else None, log_to_driver=False
                )
            except (OSError, RuntimeError, ValueError) as error:
                raise OptionError(f"Ray does not answer at {address}: {error}") from error
        return cls(ray)

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        """Yield every task with its outcome, as they come."""
        waiting = list(reversed(tasks))
        running: dict[Any, StudyTask] = {}
        answer = self.ray.remote(answer_on_worker)
        try:
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    task = waiting.pop()
                    running[answer.options(max_retries=task.retries + 1).remote(task)] = task
                ready, _ = self.ray.wait(list(running), num_returns=1)
                for reference in ready:
                    yield running.pop(reference), self._outcome(reference)
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self.ray.shutdown()

    def _outcome(self, reference: Any) -> TaskOutcome:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.WorkerCrashedError:
            return TaskOutcome(status=TaskStatus.DIED, cause="the workers that answered it died")
        except self.ray.exceptions.RayError as error:
            return TaskOutcome(status=TaskStatus.FAILED, cause=f"{type(error).__name__}: {error}")
