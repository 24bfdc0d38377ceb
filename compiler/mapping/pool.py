"""Several processes that answer questions to mappers side by side."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from queue import SimpleQueue

from ...ir.errors import PassError
from ...passes.mapping.jobs import Answer, MapJob
from .process import ProcessDied, WorkerProcess


def solve_side_by_side(jobs: Sequence[MapJob], processes: int) -> Iterator[tuple[MapJob, Answer]]:
    """Yield the jobs with their answers, in the order in which they are found.

    Raises:
        PassError: A process died.
    """
    with _Pool(min(processes, len(jobs))) as pool, ThreadPoolExecutor(processes) as threads:
        running = {threads.submit(pool.solve, job): job for job in jobs}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            for future in running:
                future.cancel()
            pool.stop()


@dataclass
class _Pool:
    """Processes; who takes one from the queue has it alone."""

    size: int
    started: list[WorkerProcess] = field(default_factory=list[WorkerProcess])
    idle: SimpleQueue[WorkerProcess] = field(default_factory=SimpleQueue[WorkerProcess])

    def __enter__(self) -> "_Pool":
        for _ in range(self.size):
            process = WorkerProcess()
            self.started.append(process)
            self.idle.put(process)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def solve(self, job: MapJob) -> Answer:
        """Let a process answer a job; wait for one that is idle."""
        process = self.idle.get()
        try:
            return _ask(process, job)
        finally:
            self.idle.put(process)

    def stop(self) -> None:
        """End all processes, also those at work."""
        for process in self.started:
            process.stop()


def _ask(process: WorkerProcess, job: MapJob) -> Answer:
    try:
        return process.ask(job)
    except ProcessDied as error:
        raise PassError(
            f"a process that maps operators died at {job.problem.workload}", hint="--processes 1"
        ) from error
