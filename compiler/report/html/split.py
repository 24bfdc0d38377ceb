"""Where energy and bytes go: per level of the memory hierarchy, per operand, per kind of tensor."""

from collections.abc import Iterable
from dataclasses import dataclass

from ....ir.report import OperandTraffic, Totals
from ....runtime_sim.result import SimulationResult
from ..figures import amount, joule


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A line of a table with a bar: what, how much, and its share of the whole [%]."""

    name: str
    text: str
    share: float


_UNITS = {"mac": "MACs", "network": "network on chip", "vector": "vector units"}


def energy_bars(totals: Totals) -> tuple[ShareBar, ...]:
    """Return the energy of every memory level, the MACs, the network and the vector units."""
    whole = totals.energy_pj or 1.0
    return tuple(
        ShareBar(
            _UNITS.get(item.part, f"accesses to {item.part}"),
            amount(joule(item.pj), "J"),
            100 * item.pj / whole,
        )
        for item in totals.energy
    )


def off_chip_bars(simulation: SimulationResult) -> tuple[ShareBar, ...]:
    """Return the simulated off-chip bytes of each kind of tensor, read and written."""
    whole = simulation.total.off_chip_bytes or 1
    return tuple(
        ShareBar(f"{item.kind}s, {what}", amount(size, "B"), 100 * size / whole)
        for item in simulation.total.off_chip
        for what, size in (("read", item.read), ("written", item.written))
        if size
    )


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """What one operand moves at one level; shares are of the largest figure of the table [%]."""

    level: str
    operand: str
    read: str
    written: str
    read_share: float
    written_share: float


def traffic_rows(traffic: Iterable[OperandTraffic]) -> tuple[TrafficRow, ...]:
    """Return the rows of a table of traffic."""
    items = tuple(traffic)
    most = max((max(item.read_bytes, item.written_bytes) for item in items), default=0) or 1
    return tuple(
        TrafficRow(
            item.level,
            str(item.operand),
            amount(item.read_bytes, "B"),
            amount(item.written_bytes, "B"),
            100 * item.read_bytes / most,
            100 * item.written_bytes / most,
        )
        for item in items
    )
