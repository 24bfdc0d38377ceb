"""What holds an operator up: the kind of engine that is busiest while it runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...ir.arch import Architecture
from ...ir.isa.instructions import Unit
from ...ir.tiles.schedule import TileSchedule
from ...runtime_sim.result import OperatorAccount

WAITING_BELOW = 0.5
"""An operator in which no engine works for this share of the time waits for most of it."""


class Binding(StrEnum):
    """What an operator's time is spent on."""

    COMPUTE = "compute"
    DMA = "DMA"
    VECTOR = "vector"
    MOVES = "moves on chip"
    WAITING = "waiting"
    UNKNOWN = "unknown"


LOOKS: Mapping[Binding, str] = {
    Binding.COMPUTE: "blue",
    Binding.DMA: "ochre",
    Binding.VECTOR: "teal",
    Binding.MOVES: "purple",
    Binding.WAITING: "slate",
    Binding.UNKNOWN: "slate",
}
"""Colour of each."""

_OF_UNIT = {
    Unit.MX: Binding.COMPUTE,
    Unit.DMA: Binding.DMA,
    Unit.VX: Binding.VECTOR,
    Unit.LD: Binding.MOVES,
    Unit.ST: Binding.MOVES,
}


@dataclass(frozen=True, slots=True)
class BusyShare:
    """Part of an operator's time that the engines of one kind work, on average."""

    unit: Unit
    part: float


def look_of(unit: Unit) -> str:
    """Return the colour of a kind of engine."""
    return LOOKS[_OF_UNIT[unit]]


def simulated_shares(account: OperatorAccount, arch: Architecture) -> tuple[BusyShare, ...]:
    """Return how busy the engines were in the simulation, busiest first."""
    busy = {item.unit: item.cycles for item in account.busy}
    return _shares(busy, account.cycles, arch)


def predicted_shares(
    schedule: TileSchedule, arch: Architecture
) -> Mapping[str, tuple[BusyShare, ...]]:
    """Return how busy the engines are in each operator of a tile schedule, busiest first."""
    found: dict[str, tuple[BusyShare, ...]] = {}
    for step, numbers in schedule.by_step.items():
        events = [schedule.events[number] for number in numbers]
        busy: Counter[Unit] = Counter()
        for event in events:
            busy[event.unit] += event.end - event.start
        cycles = max(event.end for event in events) - min(event.start for event in events)
        found[schedule.graph.operators[step]] = _shares(busy, cycles, arch)
    return found


def _shares(busy: Mapping[Unit, int], cycles: int, arch: Architecture) -> tuple[BusyShare, ...]:
    if cycles <= 0:
        return ()
    engines = {unit: len(arch.npus) for unit in Unit} | {Unit.DMA: arch.dma.channels}
    found = [BusyShare(unit, worked / (cycles * engines[unit])) for unit, worked in busy.items()]
    return tuple(sorted(found, key=lambda item: (-item.part, item.unit)))


def binding(shares: tuple[BusyShare, ...]) -> Binding:
    """Return what an operator is bound by."""
    if not shares:
        return Binding.UNKNOWN
    busiest = shares[0]
    return _OF_UNIT[busiest.unit] if busiest.part >= WAITING_BELOW else Binding.WAITING


def spelled_shares(shares: tuple[BusyShare, ...]) -> str:
    """Return the shares as text, e.g. ``mx 81 %, dma 40 %``."""
    return ", ".join(f"{item.unit} {item.part:.0%}" for item in shares)
