"""Several processes that answer questions to mappers side by side.

A solver may crash, or be ended by a system that has no memory left. What it was asked is then asked
of the job's stand-in, in a new process; where there is none, that is an error.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock

from ...ir.errors import PassError
from ...passes.mapping.jobs import Answer, MapJob, StandInJob
from .process import ProcessDied, WorkerProcess


def solve_side_by_side(jobs: Sequence[MapJob], processes: int) -> Iterator[tuple[MapJob, Answer]]:
    """Yield the jobs with their answers, in the order in which they are found.

    Raises:
        PassError: A process died, and nobody stands in for its mapper.
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
    is_stopped: bool = False
    lock: Lock = field(default_factory=Lock)

    def __enter__(self) -> "_Pool":
        for _ in range(self.size):
            self.idle.put(self._new())
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def solve(self, job: MapJob) -> Answer:
        """Let a process answer a job; wait for one that is idle."""
        process = self.idle.get()
        try:
            return process.ask(job)
        except ProcessDied as error:
            if job.rough is None:
                raise _death_of(job) from error
            process = self._new()
            return _ask(process, job, StandInJob(job.problem, job.rough))
        finally:
            self.idle.put(process)

    def _new(self) -> WorkerProcess:
        """Return a new process.

        Raises:
            PassError: All processes are being ended.
        """
        with self.lock:
            if self.is_stopped:
                raise PassError("mapping was ended before it was done")
            self.started.append(WorkerProcess())
            return self.started[-1]

    def stop(self) -> None:
        """End all processes, also those at work."""
        with self.lock:
            self.is_stopped = True
        for process in self.started:
            process.stop()


def _ask(process: WorkerProcess, job: MapJob, question: StandInJob) -> Answer:
    try:
        return process.ask(question)
    except ProcessDied as error:
        raise _death_of(job) from error


def _death_of(job: MapJob) -> PassError:
    return PassError(
        f"a process that maps operators died at {job.problem.workload}", hint="--processes 1"
    )
