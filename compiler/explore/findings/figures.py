"""Figures of every point: sums over the layers of a network, geometric means over networks."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..results.database import Database
from ..results.records import PointRecord, UseRecord
from ..study.schema import StudyObjective
from ..work.outcome import TaskOutcome, TaskStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFigures:
    """A network on the architecture of a point.

    Attributes:
        network: Name of the network.
        cycles: Of all its layers, one after the other [cycle].
        energy_pj: [pJ].
        offchip_bytes: [byte].
        spills: Tensors that a plan writes back for lack of space.
    """

    network: str
    cycles: float
    energy_pj: float
    offchip_bytes: float
    spills: int = 0

    def of(self, goal: StudyObjective) -> float:
        """Return what is minimised: [cycle], [pJ], [pJ * cycle] or [byte]."""
        match goal:
            case StudyObjective.LATENCY:
                return self.cycles
            case StudyObjective.ENERGY:
                return self.energy_pj
            case StudyObjective.EDP:
                return self.cycles * self.energy_pj
            case StudyObjective.OFFCHIP_BYTES:
                return self.offchip_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFigures:
    """A point and all of its networks.

    Attributes:
        point: The point.
        networks: Its networks, in the order of their names; empty where any task of the point did
            not end well, or is still to be answered.
    """

    point: PointRecord
    networks: tuple[NetworkFigures, ...]

    def of(self, goal: StudyObjective) -> float | None:
        """Return the geometric mean over the networks; ``None`` where there are no figures."""
        values = [item.of(goal) for item in self.networks]
        return geomean(values) if values else None


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean of at least one value; zero where one is zero."""
    known = list(values)
    if min(known) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, known)) / len(known))


def all_figures(database: Database) -> tuple[PointFigures, ...]:
    """Return the figures of every point, by number."""
    outcomes = {item.key: item.outcome for item in database.tasks()}
    uses: dict[int, list[UseRecord]] = defaultdict(list)
    for use in database.uses():
        uses[use.point].append(use)
    return tuple(
        PointFigures(point=point, networks=_networks(uses[point.number], outcomes))
        for point in database.points()
    )


def _networks(
    uses: Sequence[UseRecord], outcomes: Mapping[str, TaskOutcome | None]
) -> tuple[NetworkFigures, ...]:
    parts: dict[str, list[tuple[int, TaskOutcome]]] = defaultdict(list)
    for use in uses:
        outcome = outcomes.get(use.task)
        if outcome is None or outcome.status is not TaskStatus.OK:
            return ()
        parts[use.network].append((use.count, outcome))
    return tuple(_network(name, parts[name]) for name in sorted(parts))


def _network(name: str, parts: Sequence[tuple[int, TaskOutcome]]) -> NetworkFigures:
    return NetworkFigures(
        network=name,
        cycles=math.fsum(count * item.cycles for count, item in parts),
        energy_pj=math.fsum(count * item.energy_pj for count, item in parts),
        offchip_bytes=math.fsum(count * item.offchip_bytes for count, item in parts),
        spills=sum(count * item.spills for count, item in parts),
    )
