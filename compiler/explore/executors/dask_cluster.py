"""The workers of a Dask cluster; the door to ``distributed``, which is optional.

A task of a worker that dies goes to another one; one that takes ``allowed-failures`` workers with
it is recorded as having died.
"""

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ....ir.errors import OptionError
from ..work.outcome import TaskOutcome, TaskStatus
from ..work.question import StudyTask
from .remote import answer_on_worker

_PATIENCE = "10s"


@dataclass
class DaskExecutor:
    """Answers tasks on a Dask cluster.

    Attributes:
        client: A ``distributed.Client``.
        completed: ``distributed.as_completed``.
    """

    client: Any
    completed: Any

    @classmethod
    def connected(cls, address: str) -> "DaskExecutor":
        """Return the executor of a scheduler.

        Raises:
            OptionError: Dask is not installed, or no scheduler answers.
        """
        try:
            distributed = importlib.import_module("distributed")
        except ModuleNotFoundError as error:
            raise OptionError(
                "Dask is not installed", hint="pip install 'accnn[explore,dask]'"
            ) from error
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise OptionError(f"no Dask scheduler answers at {address}: {error}") from error
        return cls(client, distributed.as_completed)

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        """Yield every task with its outcome, as they come."""
        running = {
            self.client.submit(answer_on_worker, task, key=f"accnn-{task.key}", pure=False): task
            for task in tasks
        }
        is_over = False
        try:
            with self.client.as_current():  # nobody else's client is used by chance
                futures = self.completed(list(running))
            for future in futures:
                yield running[future], _outcome(future)
                future.release()
            is_over = True
        finally:
            if not is_over:
                self.client.cancel(list(running))

    def close(self) -> None:
        """Leave the cluster; it goes on."""
        self.client.close()


def _outcome(future: Any) -> TaskOutcome:
    error = future.exception()
    if error is None:
        return future.result()
    if type(error).__name__ == "KilledWorker":
        return TaskOutcome(status=TaskStatus.DIED, cause="the workers that answered it died")
    return TaskOutcome(status=TaskStatus.FAILED, cause=f"{type(error).__name__}: {error}")
