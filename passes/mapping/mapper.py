"""What a mapper is, and what it answers."""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ...ir.errors import InfeasibleError
from ...ir.mapping import LoopNest
from ...ir.mesh import mesh_of
from ...ir.proof import Scope, gap_of
from .problem import MappingProblem, Objective


class MappingStatus(StrEnum):
    """How far a mapper can vouch for its result.

    ``optimal`` and ``bounded`` come with a bound that was proven of some nests, the scope: no nest
    of these is better than an optimal one by more than the mapper's tolerance; ``bounded`` has not
    closed the gap. ``heuristic`` promises nothing, though a bound may be known; ``fallback`` came
    from a simpler mapper after a failure.
    """

    OPTIMAL = "optimal"
    BOUNDED = "bounded"
    HEURISTIC = "heuristic"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingResult:
    """A nest and what its mapper says about it.

    Attributes:
        nest: The nest; it satisfies ``verify`` on the machine it was made for.
        mapper: Name of the mapper.
        status: What the mapper vouches for.
        objective: Value of the objective in the cost model.
        bound: Proven lower bound of the objective, ``None`` where nothing is proven.
        scope: The nests that the bound holds for; the nest itself may lie outside, and below.
        estimate: What the cost model and the tiles' own cost come to, where nests were chosen by
            that; nothing is proven of it [cycle].
        seconds: Wall time of the search; does not take part in comparisons [s].
        cpu_seconds: CPU time of the search; does not take part in comparisons [s].
        note: What else a reader should know, e.g. why a fallback was taken.
    """

    nest: LoopNest
    mapper: str
    status: MappingStatus
    objective: float
    bound: float | None = None
    scope: Scope | None = None
    estimate: float | None = None
    seconds: float = field(default=0.0, compare=False)
    cpu_seconds: float = field(default=0.0, compare=False)
    note: str = ""

    @property
    def gap(self) -> float | None:
        """See :func:`~accnn.ir.proof.gap_of`."""
        return gap_of(self.objective, self.bound)


class Mapper(ABC):
    """Finds a nest for one problem; subclasses are frozen dataclasses, their fields the settings.

    Attributes:
        name: Spelling on the command line.
    """

    name: str

    @property
    def stand_in(self) -> "Mapper":
        """Who maps in its place where answers are wanted by the thousand; mostly itself.

        Where it is another one, its nests compete in whole networks, by the cycles of their tiles.
        """
        return self

    @property
    def without_proof(self) -> "Mapper":
        """The same mapper where its bound would tell little: it searches, and proves nothing."""
        return self

    def prepare(self) -> None:
        """Do what is done once per process, so that the seconds of no answer include it."""
        return

    def map(self, problem: MappingProblem) -> MappingResult:
        """Return a nest that fits, and how long it took to find.

        Raises:
            InfeasibleError: There is none.
        """
        self.prepare()
        wall, cpu = time.perf_counter(), time.process_time()
        over_mesh = problem.objective is Objective.NETWORK
        found = self._over_mesh(problem) if over_mesh else self.find(problem)
        return replace(
            found,
            seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )

    def _over_mesh(self, problem: MappingProblem) -> MappingResult:
        """Return the nest that is fastest over the mesh, in closed form, of a few.

        The cost model lets all ports work at once, so that of nests with the same latency some have
        tiles of a few bytes that come in every cycle; each of them waits for its way over the mesh.
        Nests of least energy times latency move less, those of the stand-in have few tiles.
        What is proven of the latency without a mesh bounds that with it, too.
        """
        mesh_of(problem.machine)
        plain = replace(problem, objective=Objective.LATENCY)
        first = self.find(plain)
        found = [first, *self._if_any(replace(problem, objective=Objective.EDP))]
        if self.stand_in != self:
            found += self.stand_in._if_any(plain)
        best = min(found, key=lambda item: problem.value(item.nest))
        return replace(
            first,
            nest=best.nest,
            estimate=best.estimate,
            objective=problem.value(best.nest),
            status=MappingStatus.HEURISTIC if first.bound is None else MappingStatus.BOUNDED,
        )

    def _if_any(self, problem: MappingProblem) -> tuple[MappingResult, ...]:
        try:
            return (self.find(problem),)
        except InfeasibleError:
            return ()

    @abstractmethod
    def find(self, problem: MappingProblem) -> MappingResult:
        """Return a nest that fits; :meth:`map` takes the time."""
