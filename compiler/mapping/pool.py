"""Several processes that answer questions side by side: those to mappers, and others ahead.

A solver may crash, or be ended by a system that has no memory left. What it was asked is then asked
of the job's stand-in, in a new process; where there is none, that is an error.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock
from typing import TypeVar

from ...ir.errors import PassError
from ...passes.helpers import Helped, HelperQuestion, nobody
from ...passes.mapping.jobs import Answer, MapJob, StandInJob
from .process import ProcessDied, WorkerProcess

T = TypeVar("T")
A = TypeVar("A")


def solve_side_by_side(jobs: Sequence[MapJob], processes: int) -> Iterator[tuple[MapJob, Answer]]:
    """Yield the jobs with their answers, in the order in which they are found.

    Args:
        jobs: The questions.
        processes: Processes at most; they end with the last answer.

    Raises:
        PassError: A process died, and nobody stands in for its mapper.
    """
    with WorkerPool(processes) as pool:
        yield from pool.answers(jobs)


@dataclass
class WorkerPool:
    """Processes that answer one sequence of questions after the other, until the ``with`` ends.

    They are started where they are needed: that takes a second of CPU each. Who takes one from the
    queue has it alone.

    Attributes:
        processes: How many there are at most.
        size: How many there are.
        started: All that were started, those that died included.
        idle: Those that nobody has.
        is_stopped: Whether all were ended.
    """

    processes: int
    size: int = 0
    started: list[WorkerProcess] = field(default_factory=list[WorkerProcess])
    idle: SimpleQueue[WorkerProcess] = field(default_factory=SimpleQueue[WorkerProcess])
    is_stopped: bool = False
    lock: Lock = field(default_factory=Lock)

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answers(self, jobs: Sequence[MapJob]) -> Iterator[tuple[MapJob, Answer]]:
        """Yield jobs with their answers, in the order in which they are found.

        Whoever asks for no more of them before the last one has come ends all processes.

        Args:
            jobs: The questions.

        Raises:
            PassError: A process died, and nobody stands in for its mapper.
        """
        yield from self._each(jobs, self.solve)

    def help(self, questions: Sequence[HelperQuestion[A]]) -> tuple[Helped[A] | None, ...]:
        """Answer questions; ``None`` where a process ended; see :class:`~...helpers.Helpers`.

        After one has ended so, no others help: there may be too little memory for several.

        Args:
            questions: The questions.
        """
        if self.processes < 2 or len(self.started) > self.size:
            return nobody(questions)
        numbers = range(len(questions))
        found = dict(self._each(numbers, lambda number: self._attempt(questions[number])))
        return tuple(map(found.__getitem__, numbers))

    def _attempt(self, question: HelperQuestion[A]) -> Helped[A] | None:
        process = self.idle.get()
        try:
            return process.ask(question)
        except ProcessDied:
            process = self._new()
            return None
        finally:
            self.idle.put(process)

    def _each(self, items: Sequence[T], work: Callable[[T], A]) -> Iterator[tuple[T, A]]:
        """Yield items with what is made of them, in the order in which it is; see ``answers``.

        Args:
            items: What to work on.
            work: Lets a process work on one of them.
        """
        while self.size < min(self.processes, len(items)):
            self.idle.put(self._new())
            self.size += 1
        with ThreadPoolExecutor(self.processes) as threads:
            running = {threads.submit(work, item): item for item in items}
            try:
                for future in as_completed(running):
                    yield running[future], future.result()
            except BaseException:
                for future in running:
                    future.cancel()
                self.stop()
                raise

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
