"""Lower scheduled tiles to instruction streams.

Every event of a tile schedule becomes one instruction of its engine's queue, in program order;
whole tensors that the graph schedule loads, spills, retrieves or stores become copies around
them. Waits follow from memory alone: an instruction waits for the last earlier instruction of
every other queue that touched the bytes it needs (``ir/hazards.py``), unless another wait implies
that (``waits.py``).

A schedule of several operators has the whole tensors that move among its events; it stands for
the entire network, and its waits are told apart by region (``ir/schedule_hazards.py``).
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..ir.errors import PassError
from ..ir.graph import Graph, Op
from ..ir.graph_schedule import GraphSchedule, Residence, Transfer
from ..ir.hazards import Block, HazardTracker, Ticks, waits_for
from ..ir.isa import Access, AnyInstruction, Copy, Halt, Space, Unit, Wait
from ..ir.module import Module
from ..ir.program import MacProfile, Program, Queue, SpaceSize, Symbol, SymbolKind
from ..ir.schedule_hazards import ScheduleHazards
from ..ir.spaces import space_bytes
from ..ir.tile_schedule import Event, EventKind, Placement, TileSchedule
from ..ir.tiles import Role, TileGraph
from ..ir.touches import Accesses
from ..ir.types import DType, TensorType
from .addressing import off_chip, on_chip, squeeze
from .executable import check_executable
from .layout import Layout, lay_out, moved_tensors, multiplier_of
from .select import Site, select_compute, select_finish
from .waits import WaitFilter


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
    return Lowered(run.program(), derived)


@dataclass
class _Lowering:
    """One lowering run."""

    module: Module
    derived: Mapping[str, npt.NDArray[np.float32]]
    tracker: HazardTracker = field(default_factory=HazardTracker)
    profiles: list[MacProfile] = field(default_factory=list[MacProfile])

    def __post_init__(self) -> None:
        arch, plan = self.module.arch, self.module.graph_schedule
        assert arch is not None and plan is not None
        self.arch, self.plan = arch, plan
        self.graph: Graph = self.module.graph
        units = [(Unit.DMA, channel) for channel in range(arch.dma.channels)]
        units += [
            (unit, npu)
            for npu in range(len(arch.npus))
            for unit in (Unit.LD, Unit.MX, Unit.VX, Unit.ST)
        ]
        self.queue_of = {key: number for number, key in enumerate(units)}
        self.queues: list[list[AnyInstruction]] = [[] for _ in units]
        self.waits = WaitFilter(len(units))
        self.layout: Layout = self._lay_out()
        self.residents: dict[Residence, Block] = {}
        self.dram: dict[str, Block] = {}
        self.placed: dict[Placement, Block] = {}
        self.profile_index: dict[MacProfile, int] = {}
        self.op_number = -1

    def _lay_out(self) -> Layout:
        plan = self.plan
        moved = list(moved_tensors(item.graph for item in self.module.tile_schedules))
        for transfers in (plan.loads, plan.spills, plan.retrieves, plan.stores):
            moved += [item.tensor for item in transfers]
        derived = [(name, len(self.derived[name])) for name in moved if name in self.derived]
        return lay_out(self.graph, moved, derived)

    def execute(self) -> None:
        if any(len(item.graph.operators) > 1 for item in self.module.tile_schedules):
            self._execute_joint()
            return
        ends = {name: item for item in self.module.tile_schedules for name in item.graph.operators}
        done: set[int] = set()
        for step, name in enumerate(self.plan.order):
            self.op_number = step
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
        steps = _event_steps(schedule, self.plan)
        for number, event in enumerate(schedule.events):
            touches, ticks = hazards.before(number)
            queue = self.queue_of[(event.unit, event.index)]
            lowering = _JointEvent(self, schedule, event, {}, {}, hazards.accesses, number)
            self.op_number = steps[number]
            self._append(queue, lowering.instruction(), (ticks,))
            hazards.note(number, touches, queue, len(self.queues[queue]))

    def program(self) -> Program:
        sizes = {**space_bytes(self.arch), Space.DRAM: self.layout.end}
        return Program(
            name=self.graph.name,
            arch=self.arch,
            spaces=tuple(SpaceSize(space, sizes[space]) for space in Space if space in sizes),
            symbols=tuple(self.layout.symbols.values()),
            operators=self.plan.order,
            profiles=tuple(self.profiles),
            queues=tuple(
                Queue(unit=unit, index=index, instructions=(*self.queues[number], Halt()))
                for (unit, index), number in self.queue_of.items()
            ),
        )

    def _move(self, step: int, *, before: bool) -> None:
        """Copy whole tensors as the plan says, before or after the operator of a step."""
        if not before:
            for item in self.plan.stores:
                if item.step == step:
                    self._copy_whole(item.tensor, step, inwards=False)
            return
        for item in self.plan.spills:
            if item.step == step:
                self._copy_whole(item.tensor, step - 1, inwards=False)
        for item in (*self.plan.loads, *self.plan.retrieves):
            if item.step == step:
                self._copy_whole(item.tensor, step, inwards=True)

    def _copy_whole(self, tensor: str, step: int, *, inwards: bool) -> None:
        place = self.plan.resident(tensor, step)
        if place is None:
            raise PassError(f"%{tensor} is transferred at step {step} but not resident there")
        size = self.graph.types[tensor].bytes
        chip = Access(Space.GB, 0, place.address, (1,))
        outside = Access(Space.DRAM, 0, self.symbol(tensor).address, (1,))
        dst, src = (chip, outside) if inwards else (outside, chip)
        blocks = (self._resident(place), self._dram_block(tensor))
        into, from_ = blocks if inwards else (blocks[1], blocks[0])
        self._emit(
            (Unit.DMA, self._channel()),
            Copy(dst=dst, src=src, shape=(size,), element_bytes=1),
            reads=(from_,),
            writes=(into,),
            author=f"move {tensor} {step}",
        )

    def _channel(self) -> int:
        """Return the DMA channel with the fewest instructions."""
        return min(
            range(self.arch.dma.channels),
            key=lambda channel: len(self.queues[self.queue_of[(Unit.DMA, channel)]]),
        )

    def symbol(self, tensor: str) -> Symbol:
        """Return the room of a tensor off chip."""
        if tensor not in self.layout.symbols:
            self.layout.add(tensor, SymbolKind.ACTIVATION, self.graph.types[tensor])
        return self.layout.symbols[tensor]

    def _dram_block(self, tensor: str) -> Block:
        if tensor not in self.dram:
            symbol = self.layout.symbols[tensor]
            self.dram[tensor] = self.tracker.claim(Space.DRAM, 0, symbol.address, symbol.type.bytes)
        return self.dram[tensor]

    def _resident(self, place: Residence) -> Block:
        if place not in self.residents:
            self.residents[place] = self.tracker.claim(Space.GB, 0, place.address, place.bytes)
        return self.residents[place]

    def _emit(
        self,
        queue_key: tuple[Unit, int],
        instruction: AnyInstruction,
        *,
        reads: Iterable[Block],
        writes: Iterable[Block],
        author: str,
    ) -> None:
        """Append an instruction with the waits that its blocks ask for."""
        queue = self.queue_of[queue_key]
        reads, writes = tuple(reads), tuple(writes)
        before: list[Ticks] = [self.tracker.before_read(block) for block in reads]
        before += [self.tracker.before_write(block, author) for block in writes]
        self._append(queue, instruction, before)
        tick = len(self.queues[queue])
        for block in reads:
            self.tracker.note_read(block, queue, tick)
        for block in writes:
            self.tracker.note_write(block, queue, tick, author)

    def _append(self, queue: int, instruction: AnyInstruction, before: Iterable[Ticks]) -> None:
        """Append an instruction that comes after others."""
        needed = self.waits.needed(queue, waits_for(before, queue))
        waits = tuple(Wait(other, tick) for other, tick in sorted(needed.items()))
        self.queues[queue].append(replace(instruction, waits=waits, op=self.op_number))

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
                self.placed[item] = self.tracker.claim(
                    space, item.npu, item.address, schedule.graph.tiles[item.tile].bytes
                )
            _EventLowering(self, schedule, event, here, steps).lower()
        self.placed.clear()

    def profile(self, graph: TileGraph, number: int) -> int:
        """Return the program's index of a tile graph's profile."""
        item = graph.profiles[number]
        if item not in self.profile_index:
            self.profile_index[item] = len(self.profiles)
            self.profiles.append(item)
        return self.profile_index[item]

    def resident_block(self, tensor: str, step: int) -> Block:
        """Return the block of a tensor that is resident during a step."""
        place = self.plan.resident(tensor, step)
        if place is None:
            raise PassError(f"%{tensor} is not resident at step {step}")
        return self._resident(place)

    def spill_symbol(self, graph: TileGraph, tile: int) -> str:
        """Return the name of the off-chip room of an accumulator tile."""
        item = graph.tiles[tile]
        name = f"{item.tensor}.psum{tile}"
        self.layout.add(name, SymbolKind.ACTIVATION, TensorType(DType.U8, (item.bytes,)))
        return name

    def dram_block(self, tensor: str) -> Block:
        """Return the block of a tensor in off-chip memory."""
        return self._dram_block(tensor)

    def emit(
        self,
        queue_key: tuple[Unit, int],
        instruction: AnyInstruction,
        reads: Iterable[Block],
        writes: Iterable[Block],
        author: str,
    ) -> None:
        """Append an instruction with its waits."""
        self._emit(queue_key, instruction, reads=reads, writes=writes, author=author)


@dataclass(frozen=True, slots=True)
class _EventLowering:
    """Turns one event into one instruction."""

    run: _Lowering
    schedule: TileSchedule
    event: Event
    here: Mapping[tuple[int, int], Placement]
    steps: Mapping[str, int]

    @property
    def graph(self) -> TileGraph:
        return self.schedule.graph

    def lower(self) -> None:
        if self.event.kind in (EventKind.COMPUTE, EventKind.FINISH):
            self._operation()
        else:
            self._transfer()

    def _npu(self, tile: int) -> int:
        """Return whose space an event touches: its own NPU's, or a transferred tile's."""
        if self.graph.tiles[tile].space.is_shared:
            return 0
        if self.event.unit is not Unit.DMA:
            return self.event.index
        npus = range(len(self.run.arch.npus))
        places = [self.here[tile, npu] for npu in npus if (tile, npu) in self.here]
        return max(places, key=lambda item: item.first_event).npu

    def _address(self, tile: int) -> int:
        item = self.graph.tiles[tile]
        if item.address is not None:
            return item.address
        return self.here[(tile, self._npu(tile))].address

    def _block(self, tile: int) -> Block:
        item = self.graph.tiles[tile]
        if item.is_resident:
            step = self.steps[self._operator().name]
            return self.run.resident_block(item.tensor, step)
        return self.run.placed[self.here[(tile, self._npu(tile))]]

    def _operator(self) -> Op:
        name = self.graph.operators[0]
        if self.event.kind in (EventKind.COMPUTE, EventKind.FINISH):
            name = self.graph.ops[self.event.subject].operator
        return self.run.graph.producer[name]

    def instruction(self) -> AnyInstruction:
        """Return the instruction, without waits."""
        if self.event.kind is EventKind.FINISH:
            return select_finish(self._site())
        if self.event.kind is not EventKind.COMPUTE:
            return self._copy()
        step = self.graph.ops[self.event.subject]
        profile = (
            self.run.profile(self.graph, step.profile[self.event.index]) if step.profile else 0
        )
        return select_compute(self._site(), clear=self.event.clear, profile=profile)

    def _site(self) -> Site:
        step = self.graph.ops[self.event.subject]
        npu = self.event.index
        return Site(self.run.graph, self._operator(), self.graph, step, npu, self._address)

    def _operation(self) -> None:
        step = self.graph.ops[self.event.subject]
        reads = [tile for tile in step.reads if not self._is_parameter(tile) or step.acc is None]
        if self.event.kind is EventKind.FINISH:
            assert step.acc is not None
            reads = [*(tile for tile in step.reads if self._is_parameter(tile)), step.acc]
            written = step.out
        else:
            written = step.out if step.acc is None else step.acc
            if step.acc is not None and not self.event.clear:
                reads.append(step.acc)
        self.run.emit(
            (self.event.unit, self.event.index),
            self.instruction(),
            [self._block(tile) for tile in reads],
            [self._block(written)],
            step.operator,
        )

    def _is_parameter(self, tile: int) -> bool:
        return self.graph.tiles[tile].role is Role.PARAM

    def _outside(self) -> str:
        """Return the symbol off chip of the tile that is transferred."""
        tile = self.graph.tiles[self.event.subject]
        if tile.role is Role.PSUM:
            return self.run.spill_symbol(self.graph, self.event.subject)
        return self.run.symbol(tile.tensor).name

    def _is_inwards(self) -> bool:
        return self.event.kind in (EventKind.LOAD, EventKind.RETRIEVE)

    def _copy(self) -> Copy:
        tile = self.event.subject
        item = self.graph.tiles[tile]
        chip = on_chip(item, self._npu(tile), self._address(tile), item.box)
        base = self.run.layout.symbols[self._outside()].address
        if item.role is Role.PSUM:
            outside = Access(Space.DRAM, 0, base, item.strides)
        else:
            outside = off_chip(item, base)
        dst, src = (chip, outside) if self._is_inwards() else (outside, chip)
        shape, (dst, src) = squeeze(item.shape, dst, src)
        return Copy(dst=dst, src=src, shape=shape, element_bytes=item.element_bytes)

    def _transfer(self) -> None:
        copy = self._copy()
        blocks = (self._block(self.event.subject), self.run.dram_block(self._outside()))
        into, from_ = blocks if self._is_inwards() else (blocks[1], blocks[0])
        author = self.event.kind.value if self._is_inwards() else self._operator().name
        self.run.emit((self.event.unit, self.event.index), copy, (from_,), (into,), author)


@dataclass(frozen=True, slots=True)
class _JointEvent(_EventLowering):
    """Turns one event of a schedule of several operators into one instruction."""

    accesses: Accesses
    number: int

    def _npu(self, tile: int) -> int:
        item = self.graph.tiles[tile]
        if item.is_resident or item.space.is_shared:
            return 0
        return self.accesses.stay(tile, self.number).npu

    def _address(self, tile: int) -> int:
        address = self.graph.tiles[tile].address
        return self.accesses.stay(tile, self.number).address if address is None else address


def _event_steps(schedule: TileSchedule, plan: GraphSchedule) -> list[int]:
    """Return the step of the operator that each event works for.

    Raises:
        PassError: A move of the plan is missing, or there is one that it does not have.
    """
    graph, step_of = schedule.graph, plan.step_of
    owner: dict[int, int] = {}
    for op in graph.ops:
        for tile in (*op.reads, op.out, *(() if op.acc is None else (op.acc,))):
            owner.setdefault(tile, step_of[op.operator])
    inwards, outwards = _moves(plan.loads, plan.retrieves), _moves(plan.stores, plan.spills)
    steps: list[int] = []
    for number, event in enumerate(schedule.events):
        if event.kind in (EventKind.COMPUTE, EventKind.FINISH):
            steps.append(step_of[graph.ops[event.subject].operator])
        elif not graph.tiles[event.subject].is_resident:
            steps.append(owner[event.subject])
        else:
            moves = inwards if event.kind in (EventKind.LOAD, EventKind.RETRIEVE) else outwards
            tensor = graph.tiles[event.subject].tensor
            if not moves.get(tensor):
                raise PassError(f"event {number} moves %{tensor}, the graph schedule does not")
            steps.append(moves[tensor].popleft())
    left = [name for moves in (inwards, outwards) for name, items in moves.items() if items]
    if left:
        raise PassError(f"%{left[0]} is moved by the graph schedule, but by no event")
    return steps


def _moves(*transfers: Iterable[Transfer]) -> dict[str, deque[int]]:
    """Return the steps at which tensors are moved whole, in order."""
    found: dict[str, list[int]] = {}
    for item in (move for moves in transfers for move in moves):
        found.setdefault(item.tensor, []).append(item.step)
    return {tensor: deque(sorted(steps)) for tensor, steps in found.items()}
