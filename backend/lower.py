"""Lower scheduled tiles to instruction streams.

Every event of a tile schedule becomes one instruction of its engine's queue, in program order;
whole tensors that the graph schedule loads, spills, retrieves or stores become copies around
them. Waits follow from memory alone: an instruction waits for the last earlier instruction of
every other queue that touched the tiles, or the elements of whole tensors, that it needs
(``ir/hazards.py``, ``footprint.py``), unless another wait implies that (``waits.py``).

A schedule of several operators has the whole tensors that move among its events; it stands for
the entire network, and its waits are told apart by region (``ir/schedule_hazards.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..ir.errors import PassError
from ..ir.graph_schedule import GraphSchedule
from ..ir.isa import Access, Copy, Space, Unit
from ..ir.module import Module
from ..ir.program import Program, Symbol
from ..ir.schedule_hazards import ScheduleHazards
from ..ir.tile_events import Placement
from ..ir.tile_schedule import TileSchedule
from .executable import check_executable
from .footprint import whole
from .joint_steps import event_steps
from .layout import Layout, lay_out, moved_tensors, multiplier_of
from .lower_event import EventLowering, JointEvent
from .streams import Streams


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program and the constants that only it has.

    Attributes:
        program: The instruction streams.
        derived: Requantisation factors by symbol, float32.
    """

    program: Program
    derived: Mapping[str, npt.NDArray[np.float32]]


def lower(module: Module) -> Lowered:
    """Return the program of a scheduled module.

    Raises:
        PassError: A stage is missing, or the machine has no instruction for an operator.
    """
    if module.arch is None or module.graph_schedule is None or not module.tile_schedules:
        raise PassError("lowering needs an architecture, a graph schedule and tile schedules")
    check_executable(module.arch)
    derived = {
        f"{op.name}.multiplier": multiplier_of(module.graph, op)
        for op in module.graph.ops
        if op.kind in ("conv2d", "dense") and op.result.type.quant is not None
    }
    run = _Lowering(module, derived)
    run.execute()
    return Lowered(run.streams.program(), derived)


@dataclass
class _Lowering:
    """One lowering run."""

    module: Module
    derived: Mapping[str, npt.NDArray[np.float32]]

    def __post_init__(self) -> None:
        arch, plan = self.module.arch, self.module.graph_schedule
        assert arch is not None and plan is not None
        self.plan: GraphSchedule = plan
        self.streams = Streams(arch, self.module.graph, plan, self._lay_out())

    def _lay_out(self) -> Layout:
        plan = self.plan
        moved = list(moved_tensors(item.graph for item in self.module.tile_schedules))
        for transfers in (plan.loads, plan.spills, plan.retrieves):
            moved += [item.tensor for item in transfers]
        derived = [(name, len(self.derived[name])) for name in moved if name in self.derived]
        return lay_out(self.module.graph, moved, derived)

    def execute(self) -> None:
        if any(len(item.graph.operators) > 1 for item in self.module.tile_schedules):
            self._execute_joint()
            return
        ends = {name: item for item in self.module.tile_schedules for name in item.graph.operators}
        done: set[int] = set()
        for step, name in enumerate(self.plan.order):
            self.streams.op_number = step
            self._move(step, before=True)
            schedule = ends[name]
            if id(schedule) not in done:
                done.add(id(schedule))
                self._schedule(schedule)
            self._move(step, before=False)

    def _execute_joint(self) -> None:
        """Lower a schedule of all operators.

        Raises:
            PassError: There are several schedules, or the moves of the plan are not in it.
        """
        if len(self.module.tile_schedules) != 1:
            raise PassError("a schedule of several operators must be the only one")
        (schedule,) = self.module.tile_schedules
        if set(schedule.graph.operators) != set(self.plan.order):
            raise PassError("a schedule of several operators must have them all")
        hazards = ScheduleHazards(schedule)
        steps = event_steps(schedule, self.plan)
        for number, event in enumerate(schedule.events):
            touches, ticks = hazards.before(number)
            queue = self.streams.queue(event.unit, event.index)
            lowering = JointEvent(self.streams, schedule, event, {}, {}, hazards.accesses, number)
            self.streams.op_number = steps[number]
            self.streams.append(queue, lowering.instruction(), (ticks,))
            hazards.note(number, touches, queue, self.streams.length(queue))

    def _move(self, step: int, *, before: bool) -> None:
        """Copy whole tensors as the plan says, before or after the operator of a step."""
        if not before:
            for item in self.plan.stores:
                if item.step == step:
                    symbol = self.streams.store_symbol(item.tensor)
                    self._copy_whole(item.tensor, step, symbol, inwards=False)
            return
        for item in self.plan.spills:
            if item.step == step:
                symbol = self.streams.symbol(item.tensor)
                self._copy_whole(item.tensor, step - 1, symbol, inwards=False)
        for item in (*self.plan.loads, *self.plan.retrieves):
            if item.step == step:
                symbol = self.streams.symbol(item.tensor)
                self._copy_whole(item.tensor, step, symbol, inwards=True)

    def _copy_whole(self, tensor: str, step: int, symbol: Symbol, *, inwards: bool) -> None:
        place = self.plan.resident(tensor, step)
        if place is None:
            raise PassError(f"%{tensor} is transferred at step {step} but not resident there")
        size = self.module.graph.types[tensor].bytes
        chip = Access(Space.GB, 0, place.address, (1,))
        outside = Access(Space.DRAM, 0, symbol.address, (1,))
        dst, src = (chip, outside) if inwards else (outside, chip)
        everything = whole(self.module.graph.types[tensor].elements)
        inside = (self.streams.resident(place), everything)
        outer = (self.streams.off_chip(symbol.name), everything)
        into, from_ = (inside, outer) if inwards else (outer, inside)
        self.streams.emit(
            (Unit.DMA, self.streams.channel()),
            Copy(dst=dst, src=src, shape=(size,), element_bytes=1),
            reads=(from_,),
            writes=(into,),
            author=f"move {tensor} {step}",
        )

    def _schedule(self, schedule: TileSchedule) -> None:
        starting: dict[int, list[Placement]] = {}
        for item in schedule.placements:
            starting.setdefault(item.first_event, []).append(item)
        steps = {name: self.plan.step_of[name] for name in schedule.graph.operators}
        here: dict[tuple[int, int], Placement] = {}
        for number, event in enumerate(schedule.events):
            for item in starting.get(number, ()):
                space = schedule.graph.tiles[item.tile].space
                here[(item.tile, 0 if space.is_shared else item.npu)] = item
                self.streams.place(schedule.graph, item)
            EventLowering(self.streams, schedule, event, here, steps).lower()
        self.streams.placed.clear()
