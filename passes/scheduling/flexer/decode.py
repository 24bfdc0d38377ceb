"""From the arrays of the compiled scheduler to a frozen tile schedule."""

import numpy as np

from ....ir.isa.instructions import Unit
from ....ir.proof import Scope
from ....ir.tiles.events import Event, EventKind, Placement
from ....ir.tiles.graph import Role, TileGraph
from ....ir.tiles.schedule import TileSchedule
from ....ir.workload import Operand
from ..timing.retime import timed
from .kernel.arrays import COMPUTE, EVENTS, FINISH, MAKESPAN, PLACEMENTS, Ints, ScheduleArrays
from .problem import TimedTiling

_KINDS = (
    EventKind.LOAD,
    EventKind.STORE,
    EventKind.SPILL,
    EventKind.RETRIEVE,
    EventKind.COMPUTE,
    EventKind.COMPUTE,
)


def decode(
    timing: TimedTiling, order: Ints, state: ScheduleArrays, scheduler: str, cycles_lower_bound: int
) -> TileSchedule:
    """Return the schedule that a finished state with events holds, timed by the clock.

    The kernel's own times are estimates.

    Args:
        timing: The tiling.
        order: Canonical number of each operation of the state.
        state: Of ``schedule_in_order(.., keep=True)``.
        scheduler: Name to show.
        cycles_lower_bound: What no schedule of the operator beats, however it is tiled; 0 where
            nothing is proven [cycle].
    """
    graph = timing.tiling.graph([tuple(item.nest for item in row) for row in timing.nests])
    reader = _Reader(timing, graph)
    events = tuple(reader.event(row, order) for row in state.event[: state.scalar[EVENTS]].tolist())
    places = tuple(
        reader.place(row) for row in state.placement[: state.scalar[PLACEMENTS]].tolist()
    )
    schedule = TileSchedule(
        graph=graph,
        events=events,
        placements=places,
        scheduler=scheduler,
        cycles=int(state.scalar[MAKESPAN]),
        cycles_lower_bound=cycles_lower_bound,
        scope=Scope.ALL_SCHEDULES if cycles_lower_bound else None,
    )
    return timed(schedule, timing.site.arch)


class _Reader:
    """Translates numbers of tiles; parameters are numbered on their own."""

    def __init__(self, timing: TimedTiling, graph: TileGraph) -> None:
        self.base, self.capacity = (
            timing.site.place.workspace_address,
            timing.site.parameter_range,
        )
        self.tensors = np.atleast_2d(timing.problem.param_bytes)
        self.first_param = next(
            (number for number, tile in enumerate(graph.tiles) if tile.role is Role.PARAM),
            len(graph.tiles),
        )
        sizes = timing.problem.size
        self.finish_of = timing.tiling.finishing
        self.has_output = not timing.site.resident[Operand.O]
        for number, tile in enumerate(graph.tiles[: self.first_param]):
            assert tile.is_resident or tile.bytes == sizes[number]

    def event(self, row: list[int], order: Ints) -> Event:
        kind, subject, engine, start, end, clear = row
        if kind in (COMPUTE, FINISH):
            unit = Unit.MX if kind == COMPUTE else Unit.VX
            number = int(order[subject])
            if kind == FINISH:
                number = int(self.finish_of[number])
        else:
            unit, number = Unit.DMA, self._tile(subject)
        return Event(
            kind=_KINDS[kind],
            subject=number,
            unit=unit,
            index=engine,
            start=start,
            end=end,
            clear=bool(clear),
        )

    def place(self, row: list[int]) -> Placement:
        tile, npu, address, first, last = row
        start = self.capacity[0] + address * int(self.tensors.max()) if tile < 0 else 0
        return Placement(
            tile=self._tile(tile),
            npu=npu,
            address=start if tile < 0 else self.base + address,
            first_event=first,
            last_event=last,
        )

    def _tile(self, number: int) -> int:
        return number if number >= 0 else self.first_param - 1 - number
