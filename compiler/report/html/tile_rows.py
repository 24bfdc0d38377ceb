"""The table of tile schedules, each with its picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from ....ir.module import Module
from ....ir.tile_schedule import TileSchedule
from ....runtime_sim.result import SimulationResult
from ..figures import UNKNOWN, amount
from .event_times import event_times
from .marks import Chart
from .names import shown
from .operator_rows import Cell
from .tile_chart import TileView, marks_needed, names_of, tile_chart

MOST_TILE_MARKS = 40_000
"""Bars and boxes of all pictures of tile schedules together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileRow:
    """Figures of one tile schedule, and its picture.

    Attributes:
        name: Of the operator.
        scheduler: Who made it.
        operations: Tile operations.
        cycles: Predicted.
        bound: Lower bound of ``cycles``.
        scope: The schedules that the bound holds for; empty for none.
        times_bound: Ratio of the two.
        moved: Off-chip bytes.
        chart: Who works when; ``None`` where it is not drawn.
    """

    name: str
    scheduler: str
    operations: Cell
    cycles: Cell
    bound: Cell
    scope: str
    times_bound: Cell
    moved: Cell
    chart: Chart | None


def tile_rows(
    module: Module, simulation: SimulationResult | None
) -> tuple[tuple[TileRow, ...], str]:
    """Return the rows of the tile schedules, and whose times their pictures show.

    Args:
        module: With its tile schedules.
        simulation: The run, ``None`` where there was none.
    """
    schedules = module.tile_schedules
    if not schedules or module.arch is None:
        return (), ""
    times = event_times(module, simulation)
    drawn = _drawn(schedules)
    size = module.arch.scratchpad_level.capacity or 1
    found: list[TileRow] = []
    for number, item in enumerate(schedules):
        view = TileView(number=number, schedule=item, spans=times.spans[number], scratchpad=size)
        chart = tile_chart(view, are_simulated=times.are_simulated) if number in drawn else None
        found.append(_tile_row(item, chart))
    return tuple(found), "simulated" if times.are_simulated else "predicted"


def _tile_row(item: TileSchedule, chart: Chart | None) -> TileRow:
    bound = item.cycles_lower_bound
    return TileRow(
        name=names_of(item),
        scheduler=shown(item.scheduler, 60),
        operations=Cell(f"{len(item.graph.ops):,}", len(item.graph.ops)),
        cycles=Cell(f"{item.cycles:,}", item.cycles),
        bound=Cell(f"{bound:,}", bound) if bound else Cell(UNKNOWN),
        scope=item.scope or "",
        times_bound=Cell(f"{item.cycles / bound:.2f}", item.cycles / bound)
        if bound
        else Cell(UNKNOWN),
        moved=Cell(amount(item.transferred_bytes, "B"), item.transferred_bytes),
        chart=chart,
    )


def _drawn(schedules: Sequence[TileSchedule]) -> frozenset[int]:
    """Return which schedules get a picture: the longest first, while the page stays small."""
    by_length = sorted(range(len(schedules)), key=lambda number: -schedules[number].cycles)
    room = MOST_TILE_MARKS
    chosen: set[int] = set()
    for number in by_length:
        needed = marks_needed(schedules[number])
        if not schedules[number].events or needed > room:
            continue
        chosen.add(number)
        room -= needed
    return frozenset(chosen)
