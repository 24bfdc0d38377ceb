"""Questions to mappers, and the port through which passes ask many of them at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol, TypeAlias

from ...ir.errors import InfeasibleError
from ..deadline import NEVER, Deadline
from .mapper import Mapper, MappingResult, MappingStatus
from .problem import MappingProblem

Answer: TypeAlias = MappingResult | InfeasibleError
"""A mapping, or why there is none."""

TIME_WAS_UP = "time was up"
"""Note of a nest that a stand-in found because a deadline was over."""

MAPPER_DIED = "the process of its mapper ended"
"""Note of a nest that a stand-in found because a solver crashed, or took all the memory."""

NOT_KEPT = frozenset({TIME_WAS_UP, MAPPER_DIED})
"""Notes of nests that are not worth keeping: with more time or luck there is a better one."""

Progress: TypeAlias = Callable[[int, int, "MapJob | None"], None]
"""Called as ``progress(done, total, asked)`` while questions are answered.

``asked`` is one that has no answer yet; ``None`` where all have theirs.
"""


@dataclass(frozen=True, slots=True)
class MapJob:
    """One problem, put to a mapper.

    Attributes:
        problem: What is asked.
        mapper: Who is asked.
        rough: Who is asked instead once the deadline is over or the mapper has died, if anybody.
        deadline: Until when the mapper is asked.
    """

    problem: MappingProblem
    mapper: Mapper
    rough: Mapper | None = field(default=None, compare=False)
    deadline: Deadline = field(default=NEVER, compare=False)

    def solve(self) -> MappingResult:
        """Ask the mapper.

        Raises:
            InfeasibleError: Nothing fits.
        """
        if self.rough is None or not self.deadline.is_over:
            return self.mapper.map(self.problem)
        return _stood_in(self.problem, self.rough, TIME_WAS_UP)

    def answer(self) -> Answer:
        """Ask the mapper; that nothing fits is an answer."""
        try:
            return self.solve()
        except InfeasibleError as error:
            return error


@dataclass(frozen=True, slots=True)
class KnownNests:
    """Answers that passes of one run have found on their way, for whoever asks the same later.

    Attributes:
        by_job: The answers, by their questions.
    """

    by_job: dict[MapJob, MappingResult] = field(default_factory=dict[MapJob, MappingResult])

    def solve(self, jobs: Sequence[MapJob], progress: "Progress") -> tuple[Answer, ...]:
        """Answer questions in turn, each once; a :class:`JobSolver`.

        Args:
            jobs: The questions.
            progress: Called as questions are answered.
        """
        new = [job for job in dict.fromkeys(jobs) if job not in self.by_job]
        answers = dict(zip(new, solve_in_turn(new, progress), strict=True))
        for job, answer in answers.items():
            if isinstance(answer, MappingResult) and answer.note not in NOT_KEPT:
                self.by_job[job] = answer
        return tuple(answers.get(job) or self.by_job[job] for job in jobs)

    def since(self, count: int) -> dict[MapJob, MappingResult]:
        """Return the answers that came after so many.

        Args:
            count: How many were known before.
        """
        return dict(islice(self.by_job.items(), count, None))


@dataclass(frozen=True, slots=True)
class StandInJob:
    """A question whose mapper has ended the process that asked it.

    Attributes:
        problem: What is asked.
        rough: Who is asked instead.
    """

    problem: MappingProblem
    rough: Mapper

    def answer(self) -> Answer:
        """Ask who stands in; that nothing fits is an answer."""
        try:
            return _stood_in(self.problem, self.rough, MAPPER_DIED)
        except InfeasibleError as error:
            return error


def _stood_in(problem: MappingProblem, mapper: Mapper, note: str) -> MappingResult:
    return replace(mapper.map(problem), status=MappingStatus.FALLBACK, note=note)


def unobserved(done: int, total: int, asked: MapJob | None) -> None:
    """Report to nobody.

    Args:
        done: Answers so far.
        total: Questions.
        asked: One without an answer.
    """


class JobSolver(Protocol):
    """Answers questions, in their order; the compiler's does it in parallel and remembers."""

    def __call__(self, jobs: Sequence[MapJob], progress: Progress) -> tuple[Answer, ...]:
        """Return one answer per question."""
        ...


def solve_in_turn(jobs: Sequence[MapJob], progress: Progress) -> tuple[Answer, ...]:
    """Answer one question after the other; a :class:`JobSolver`."""
    answers: list[Answer] = []
    for job in jobs:
        progress(len(answers), len(jobs), job)
        answers.append(job.answer())
    progress(len(answers), len(jobs), None)
    return tuple(answers)
