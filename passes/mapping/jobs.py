"""Questions to mappers, and the port through which passes ask many of them at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError
from ...ir.workload import Operand, Workload
from .base import MapOptions, Mapper, MappingResult

Answer: TypeAlias = MappingResult | InfeasibleError
"""A mapping, or why there is none."""

Told: TypeAlias = Callable[[int, int], None]
"""Called as ``told(done, total)`` while questions are answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapJob:
    """One question to a mapper.

    Attributes:
        workload: What is computed.
        arch: The machine that one NPU sees.
        mapper: Who is asked.
        workspace: Bytes of the scratchpad for tiles; ``None`` is the architecture's own [byte].
        resident: Operands that lie whole in the scratchpad.
        options: Objective, seed and limits.
    """

    workload: Workload
    arch: Architecture
    mapper: Mapper
    workspace: int | None = None
    resident: frozenset[Operand] = frozenset()
    options: MapOptions = MapOptions()

    def solve(self) -> MappingResult:
        """Ask the mapper.

        Raises:
            InfeasibleError: Nothing fits.
        """
        return self.mapper.map(
            self.workload,
            self.arch,
            workspace=self.workspace,
            resident=self.resident,
            options=self.options,
        )

    def answer(self) -> Answer:
        """Ask the mapper; that nothing fits is an answer."""
        try:
            return self.solve()
        except InfeasibleError as error:
            return error


class JobSolver(Protocol):
    """Answers questions, in their order; the compiler's does it in parallel and remembers."""

    def __call__(self, jobs: Sequence[MapJob], told: Told) -> tuple[Answer, ...]:
        """Return one answer per question."""
        ...


def solve_in_turn(jobs: Sequence[MapJob], told: Told) -> tuple[Answer, ...]:
    """Answer one question after the other; a :class:`JobSolver`."""
    answers: list[Answer] = []
    for job in jobs:
        told(len(answers), len(jobs))
        answers.append(job.answer())
    told(len(answers), len(jobs))
    return tuple(answers)
