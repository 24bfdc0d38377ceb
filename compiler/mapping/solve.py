"""Answer many mapping questions: each distinct one once, from the cache or on several cores."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ...passes.mapping.jobs import NOT_KEPT, Answer, KnownNests, MapJob, Progress, unobserved
from ...passes.mapping.mapper import MappingResult
from ..stores.mappings import MappingCache, key_of
from .pool import WorkerPool, solve_side_by_side

_WORTH_A_PROCESS = 4


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Answers(Protocol):
    """Where answers are looked up and stored."""

    def find(self, key: str) -> MappingResult | None:
        """Return the answer to a question, ``None`` where there is none."""
        ...

    def store(self, key: str, result: MappingResult) -> None:
        """Store the answer to a question."""
        ...


@dataclass(frozen=True, slots=True)
class _Known:
    """The answers of one compilation, before those of a cache."""

    answers: dict[str, MappingResult]
    cache: MappingCache | None

    def find(self, key: str) -> MappingResult | None:
        found = self.answers.get(key)
        if found is None and self.cache is not None:
            found = self.cache.find(key)
        if found is not None:
            self.answers[key] = found
        return found

    def store(self, key: str, result: MappingResult) -> None:
        self.answers[key] = result
        if self.cache is not None:
            self.cache.store(key, result)


@dataclass(frozen=True, slots=True)
class CachedSolver:
    """Answers the questions of one compilation; see :class:`~..passes.mapping.jobs.JobSolver`.

    Equal questions are answered once. A known answer took no seconds: it was not solved again.

    Attributes:
        cache: Where answers of other compilations are looked up and stored; ``None``: nowhere.
        processes: Processes at most.
        pool: Those that answer; ``None`` starts them anew for each sequence of questions.
        nests: Answers that passes have found themselves.
    """

    cache: MappingCache | None
    processes: int
    pool: WorkerPool | None = None
    nests: KnownNests = field(default_factory=KnownNests)
    _answers: dict[str, MappingResult] = field(
        default_factory=dict[str, MappingResult], repr=False, compare=False
    )

    def __call__(self, jobs: Sequence[MapJob], progress: Progress) -> tuple[Answer, ...]:
        """Return one answer per question."""
        known = _Known(self._answers, self.cache)
        for job in jobs:
            if job in self.nests.by_job and known.find(key := key_of(job)) is None:
                known.store(key, self.nests.by_job[job])
        return solve_all(
            jobs,
            known,
            processes=self.processes,
            pool=self.pool,
            progress=progress,
            timeless_cache=True,
        )


def solve_all(
    jobs: Sequence[MapJob],
    cache: Answers | None = None,
    *,
    processes: int = 2,
    pool: WorkerPool | None = None,
    progress: Progress = unobserved,
    timeless_cache: bool = False,
) -> tuple[Answer, ...]:
    """Return the answers, in the order of the questions; the number of processes is no matter.

    Args:
        jobs: The questions; equal ones are asked once.
        cache: Where answers are looked up and stored; ``None`` asks everything anew.
        processes: Processes at most; few questions are answered in this one.
        pool: Those that answer; ``None`` starts and ends them here.
        progress: Called with how many distinct questions are answered, how many there are, and one
            that is not answered yet.
        timeless_cache: Whether an answer from the cache says 0 seconds, rather than what it took
            when it was found.
    """
    keys = [key_of(job) for job in jobs]
    distinct = dict(zip(keys, jobs, strict=True))
    answers: dict[str, Answer] = {}
    for key in distinct:
        known = None if cache is None else cache.find(key)
        if known is not None:
            answers[key] = replace(known, seconds=0.0, cpu_seconds=0.0) if timeless_cache else known
    waiting = {key: job for key, job in distinct.items() if key not in answers}
    progress(len(answers), len(distinct), next(iter(waiting.values()), None))
    for job, answer in _solved(tuple(waiting.values()), processes, pool):
        key = key_of(job)
        answers[key] = answer
        del waiting[key]
        if cache is not None and isinstance(answer, MappingResult) and answer.note not in NOT_KEPT:
            cache.store(key, answer)
        progress(len(answers), len(distinct), next(iter(waiting.values()), None))
    return tuple(answers[key] for key in keys)


def _solved(
    jobs: Sequence[MapJob], processes: int, pool: WorkerPool | None
) -> Iterator[tuple[MapJob, Answer]]:
    if processes < 2 or len(jobs) < _WORTH_A_PROCESS:
        return ((job, job.answer()) for job in jobs)
    return solve_side_by_side(jobs, processes) if pool is None else pool.answers(jobs)
