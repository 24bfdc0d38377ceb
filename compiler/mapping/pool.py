"""Several processes that answer questions to mappers side by side."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue

from ...ir.errors import PassError
from ...passes.mapping.jobs import Answer, MapJob

Process = subprocess.Popen[bytes]
_COMMAND = (sys.executable, "-P", "-m", f"{__package__}.worker")


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
    started: list[Process] = field(default_factory=list[Process])
    idle: SimpleQueue[Process] = field(default_factory=SimpleQueue[Process])

    def __enter__(self) -> "_Pool":
        for _ in range(self.size):
            process = _start()
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
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None and not stream.closed:
                    with suppress(BrokenPipeError):  # what was not yet sent has no reader now
                        stream.close()


def _start() -> Process:
    path = os.pathsep.join(item for item in sys.path if item)
    return subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _ask(process: Process, job: MapJob) -> Answer:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump(job, process.stdin)
        process.stdin.flush()
        return pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        raise PassError(
            f"a process that maps operators died at {job.problem.workload}", hint="--processes 1"
        ) from error
