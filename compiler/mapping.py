"""Answer many mapping questions: each distinct one once, from the cache or on several cores."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from ..ir.errors import InfeasibleError
from ..passes.mapping.base import MappingResult
from .cache import MapJob, MappingCache

Answer = MappingResult | InfeasibleError
"""A mapping, or why there is none."""

_WORTH_A_PROCESS = 4


def solve_all(
    jobs: Sequence[MapJob],
    cache: MappingCache | None = None,
    *,
    processes: int = 2,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Answer, ...]:
    """Return the answers, in the order of the questions.

    Args:
        jobs: The questions; equal ones are asked once.
        cache: Where answers are looked up and stored; ``None`` asks everything anew.
        processes: Processes at most; few questions are answered in this one.
        progress: Told how many distinct questions are answered, and how many there are.
    """
    distinct = list({job.key: job for job in jobs}.values())
    answers: dict[str, Answer] = {}
    for job in distinct:
        known = None if cache is None else cache.find(job)
        if known is not None:
            answers[job.key] = known
    progress(len(answers), len(distinct))
    waiting = [job for job in distinct if job.key not in answers]
    for job, answer in _solved(waiting, processes):
        answers[job.key] = answer
        if cache is not None and isinstance(answer, MappingResult):
            cache.store(job, answer)
        progress(len(answers), len(distinct))
    return tuple(answers[job.key] for job in jobs)


def _solved(jobs: Sequence[MapJob], processes: int) -> Iterator[tuple[MapJob, Answer]]:
    if processes < 2 or len(jobs) < _WORTH_A_PROCESS:
        for job in jobs:
            yield job, _answer(job)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        running = {pool.submit(_answer, job): job for job in jobs}
        for future in as_completed(running):
            yield running[future], future.result()


def _answer(job: MapJob) -> Answer:
    try:
        return job.solve()
    except InfeasibleError as error:
        return error
