"""All that the results of a study say."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..results.database import Database
from ..study.schema import StudyObjective
from ..work.outcome import TaskStatus
from .failures import Failure, failures
from .figures import PointFigures, all_figures
from .sensitivity import Sensitivity, sensitivities


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfNetwork:
    """The best point of one network.

    Attributes:
        network: Name of the network.
        point: The point.
        value: What is minimised.
    """

    network: str
    point: PointFigures
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a study is.

    Attributes:
        points: Points so far.
        refused: Of these, points that are not looked at.
        tasks: Distinct tasks of these points.
        ended: How many of them ended how.
        seconds: What all answers took together, where they were found [s].
    """

    points: int
    refused: int
    tasks: int
    ended: Mapping[TaskStatus, int]
    seconds: float

    @property
    def waiting(self) -> int:
        """Tasks that are still to be answered."""
        return self.tasks - sum(self.ended.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A study's results.

    Attributes:
        goal: What is minimised.
        progress: How far it is.
        points: All points with figures, of equal architectures the first one; best first.
        by_energy: The front of latency and energy.
        by_area: The front of what is minimised and area.
        bests: The best point of each network.
        sensitivities: What each parameter makes of it.
        failures: What did not end well.
        architectures: Texts by digest.
    """

    goal: StudyObjective
    progress: Progress
    points: tuple[PointFigures, ...]
    by_energy: tuple[PointFigures, ...]
    by_area: tuple[PointFigures, ...]
    bests: tuple[BestOfNetwork, ...]
    sensitivities: tuple[Sensitivity, ...]
    failures: tuple[Failure, ...]
    architectures: Mapping[str, str]


def value_of(item: PointFigures, goal: StudyObjective) -> float:
    """Return what is minimised, of a point with figures."""
    value = item.of(goal)
    assert value is not None
    return value


def progress_of(database: Database) -> Progress:
    """Return how far a study is."""
    points, tasks = database.points(), database.tasks()
    outcomes = [task.outcome for task in tasks if task.outcome is not None]
    return Progress(
        points=len(points),
        refused=sum(bool(point.cause) for point in points),
        tasks=len(tasks),
        ended=Counter(outcome.status for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
    )


def summary_of(database: Database, goal: StudyObjective) -> Summary:
    """Return all that the results of a study say."""
    points = _distinct([item for item in all_figures(database) if item.networks])
    points.sort(key=lambda item: (value_of(item, goal), item.point.number))
    return Summary(
        goal=goal,
        progress=progress_of(database),
        points=tuple(points),
        by_energy=pareto_front(
            points,
            lambda item: value_of(item, StudyObjective.LATENCY),
            lambda item: value_of(item, StudyObjective.ENERGY),
        ),
        by_area=pareto_front(
            points, lambda item: value_of(item, goal), lambda item: item.point.area_mm2
        ),
        bests=_bests(points, goal),
        sensitivities=sensitivities(points, goal),
        failures=failures(database),
        architectures=database.architectures(),
    )


def _distinct(points: Sequence[PointFigures]) -> list[PointFigures]:
    first = {(item.point.arch, item.point.mapper): item for item in reversed(points)}
    return list(first.values())


def _bests(points: Sequence[PointFigures], goal: StudyObjective) -> tuple[BestOfNetwork, ...]:
    names = [item.network for item in points[0].networks] if points else []
    found: list[BestOfNetwork] = []
    for place, name in enumerate(names):
        best = min(points, key=lambda item: (item.networks[place].of(goal), item.point.number))
        value = best.networks[place].of(goal)
        found.append(BestOfNetwork(network=name, point=best, value=value))
    return tuple(found)


T = TypeVar("T")


def pareto_front(
    items: Sequence[T], first: Callable[[T], float], second: Callable[[T], float]
) -> tuple[T, ...]:
    """Return what nothing else is at least as small as in both figures, by the first one.

    Of items that are equal in both, the earliest is kept.

    Args:
        items: What is compared.
        first: The first figure.
        second: The second one.
    """
    front: list[T] = []
    for item in sorted(items, key=lambda item: (first(item), second(item))):
        if not front or second(item) < second(front[-1]):
            front.append(item)
    return tuple(front)
