"""The table of the operators' tiles, each with its picture."""

from collections.abc import Mapping
from dataclasses import dataclass

from ....ir.module import Module
from ....ir.tiles.schedule import TileSchedule
from ....runtime_sim.result import SimulationResult
from ..figures import UNKNOWN, amount
from .charts.event_times import event_times
from .charts.marks import Chart
from .charts.tiles import TileView, tile_chart, tile_views
from .names import short, shown
from .operator_rows import TableCell

MOST_TILE_MARKS = 40_000
"""Bars and boxes of all pictures of tiles together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileRow:
    """Figures of the tiles of one operator, and their picture.

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
    operations: TableCell
    cycles: TableCell
    bound: TableCell
    scope: str
    times_bound: TableCell
    moved: TableCell
    chart: Chart | None


def tile_rows(
    module: Module, simulation: SimulationResult | None, called: Mapping[str, str]
) -> tuple[tuple[TileRow, ...], str]:
    """Return one row per operator with tiles, and whose times their pictures show.

    Args:
        module: With its tile schedule.
        simulation: The run, ``None`` where there was none.
        called: How operators are called for people, by name.
    """
    schedule = module.tile_schedule
    if schedule is None or module.arch is None:
        return (), ""
    times = event_times(schedule, simulation)
    size = module.arch.scratchpad_level.capacity or 1
    views = tile_views(schedule, times.spans, size)
    drawn = _drawn(schedule, views)
    names = [short(called.get(item.operator, item.operator)) for item in schedule.alone]
    rows = tuple(
        _tile_row(
            schedule,
            step,
            name,
            tile_chart(views[step], name, are_simulated=times.are_simulated)
            if step in drawn
            else None,
        )
        for step, name in enumerate(names)
    )
    return rows, "simulated" if times.are_simulated else "predicted"


def _tile_row(schedule: TileSchedule, step: int, name: str, chart: Chart | None) -> TileRow:
    item = schedule.alone[step]
    bound, cycles = item.cycles_lower_bound, item.cycles
    operations = sum(op.operator == item.operator for op in schedule.graph.ops)
    moved = schedule.bytes_of(schedule.by_step.get(step, ()))
    return TileRow(
        name=name,
        scheduler=shown(item.scheduler, 60),
        operations=TableCell(f"{operations:,}", operations),
        cycles=TableCell(f"{cycles:,}", cycles),
        bound=TableCell(f"{bound:,}", bound) if bound else TableCell(UNKNOWN),
        scope=item.scope or "",
        times_bound=TableCell(f"{cycles / bound:.2f}", cycles / bound)
        if bound
        else TableCell(UNKNOWN),
        moved=TableCell(amount(moved, "B"), moved),
        chart=chart,
    )


def _drawn(schedule: TileSchedule, views: Mapping[int, TileView]) -> frozenset[int]:
    """Return which operators get a picture: the longest first, while the page remains small."""
    left = MOST_TILE_MARKS
    chosen: set[int] = set()
    for step in sorted(views, key=lambda step: (-schedule.alone[step].cycles, step)):
        needed = views[step].marks_needed
        if needed <= left:
            chosen.add(step)
            left -= needed
    return frozenset(chosen)
