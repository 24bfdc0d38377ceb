"""Insertion of the events of all operators, with objects for all that is kept of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from accnn.ir.arch import Architecture
from accnn.ir.graph_schedule import GraphSchedule
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import INWARDS, Event, Placement
from accnn.ir.tiles.schedule import TileSchedule
from accnn.ir.tiles.touches import Accesses, OffChip, OnChip, Storage, Touch, Touches
from accnn.passes.scheduling.across.insertion import InsertionPolicy, dealt
from accnn.passes.scheduling.timing.ports import Ports
from accnn.passes.scheduling.timing.retime import lone_works
from tests.passes.scheduling.across.plain.address_space import SpaceKey
from tests.passes.scheduling.across.plain.allocators import Allocators
from tests.passes.scheduling.across.plain.engines import Engines
from tests.passes.scheduling.across.plain.layouts import Layout, layouts

Times: TypeAlias = npt.NDArray[np.int64]
"""Per cell of a tensor, or row of a tile that rolls, when it was written or read [cycle]."""


@dataclass(slots=True)
class PlainContents:
    """What has been written so far, and read of tiles that roll; local to one scheduling run."""

    accesses: Accesses
    _tiles: dict[Storage, int] = field(default_factory=dict[Storage, int])
    _cells: dict[Storage, Times] = field(default_factory=dict[Storage, Times])
    _read: dict[Storage, Times] = field(default_factory=dict[Storage, Times])

    def written(self, touch: Touch) -> int:
        """Return when all that is read was written; 0 for what was there before [cycle]."""
        if touch.cells is None:
            return self._tiles.get(touch.storage, 0)
        if touch.storage not in self._cells:
            return 0
        return int(self._cells[touch.storage][list(touch.cells)].max())

    def write(self, touch: Touch, end: int) -> None:
        """Note that something is written at a cycle."""
        storage = touch.storage
        if touch.cells is None:
            self._tiles[storage] = max(self._tiles.get(storage, 0), end)
            return
        self._note(self._cells, touch, end)

    def replaced(self, touch: Touch) -> int:
        """Return when the rows were last touched whose place a write of new ones takes [cycle]."""
        storage = touch.storage
        if not isinstance(storage, Placement) or touch.cells is None:
            return 0
        rolls = self.accesses.graph.tiles[storage.tile].rolls
        old = [row - rolls for row in touch.cells if row >= rolls]
        times = (found[storage][old] for found in (self._cells, self._read) if storage in found)
        return max((int(item.max(initial=0)) for item in times), default=0)

    def read(self, touch: Touch, end: int) -> None:
        """Note that something is read until a cycle; of what does not roll, nothing changes."""
        if isinstance(touch.storage, Placement) and touch.cells is not None:
            self._note(self._read, touch, end)

    def _note(self, times: dict[Storage, Times], touch: Touch, end: int) -> None:
        storage, cells = touch.storage, list(touch.cells or ())
        assert isinstance(storage, OnChip | OffChip | Placement)
        if storage not in times:
            times[storage] = np.zeros(self.accesses.parts(storage), np.int64)
        times[storage][cells] = np.maximum(times[storage][cells], end)

    def forget(self, storage: Storage) -> None:
        """Note that a tensor is about to be brought in anew."""
        self._cells.pop(storage, None)


@dataclass(frozen=True)
class PlainInTurn:
    """Operators one after the other, with what each event touches and takes, worked out once.

    Attributes:
        schedule: The operators.
        plan: Tells which tensors are resident.
        arch: The machine.
    """

    schedule: TileSchedule
    plan: GraphSchedule
    arch: Architecture

    @cached_property
    def accesses(self) -> Accesses:
        """Tells what events touch."""
        return Accesses(self.schedule)

    @cached_property
    def touches(self) -> tuple[Touches, ...]:
        """What every event touches."""
        return tuple(self.accesses.of(number) for number in range(len(self.schedule.events)))

    @cached_property
    def layouts(self) -> Mapping[tuple[int, SpaceKey], Layout]:
        """How the tiles of each operator lie in each memory."""
        return layouts(self.accesses)

    @cached_property
    def cycles(self) -> tuple[int, ...]:
        """How long every event takes alone, without fill and drain: they mostly hide [cycle]."""
        bandwidths = Ports(self.arch).bandwidths
        works = lone_works(self.schedule, self.arch)
        cycles = {work: work.lead + work.length(bandwidths) for work in dict.fromkeys(works)}
        return tuple(cycles[work] for work in works)


def insert_plainly(given: PlainInTurn, policy: InsertionPolicy) -> TileSchedule:
    """Return the events in their new order, with the times at which they were inserted.

    Args:
        given: All operators, layer by layer.
        policy: What is free.
    """
    allocators = Allocators(given.accesses, given.layouts, given.plan, given.arch)
    run = _Insertion(given, policy, PlainContents(given.accesses), allocators, Engines(given.arch))
    numbers = given.schedule.by_step
    for step in range(len(given.schedule.graph.operators)):
        run.add_step(step, numbers.get(step, ()))
    return run.finish()


@dataclass
class _Insertion:
    """The new schedule in the making."""

    given: PlainInTurn
    policy: InsertionPolicy
    contents: PlainContents
    allocators: Allocators
    engines: Engines
    events: list[Event] = field(default_factory=list[Event])
    touching: dict[Placement, list[int]] = field(default_factory=dict[Placement, list[int]])
    step: int = -1
    npus: tuple[int, ...] = ()
    begun: dict[tuple[Unit, int, bool], int] = field(
        default_factory=dict[tuple[Unit, int, bool], int]
    )

    def add_step(self, step: int, numbers: Sequence[int]) -> None:
        """Insert the events of an operator."""
        self.step, self.npus = step, tuple(range(len(self.given.arch.npus)))
        self.begun.clear()
        if self.policy.deal:
            free = [self.engines.npu_free_at(npu) for npu in range(len(self.given.arch.npus))]
            self.npus = dealt(self._work(numbers), free)
        for number in numbers:
            self._add(number)

    def _work(self, numbers: Sequence[int]) -> list[int]:
        """Return the cycles that each NPU works for the events of an operator."""
        work = [0] * len(self.given.arch.npus)
        for number in numbers:
            event = self.given.schedule.events[number]
            if event.unit is not Unit.DMA:
                work[event.index] += self.given.cycles[number]
        return work

    def _add(self, number: int) -> None:
        """Insert the next event."""
        touches, event = self.given.touches[number], self.given.schedule.events[number]
        if self.given.accesses.starts_residence(number):
            for touch in touches.writes:
                self.allocators.forget(touch.storage)
                self.contents.forget(touch.storage)
        cycles = self.given.cycles[number]
        added = self._run(event, cycles, self._ready(event, cycles, touches))
        self.events.append(added)
        self.begun[_queue(event)] = added.start
        self._note(number, touches, added.end)

    def _ready(self, event: Event, cycles: int, touches: Touches) -> int:
        """Return when the contents that an event reads and the space that it fills are there."""
        ready = max((self.contents.written(touch) for touch in touches.reads), default=0)
        ready = max([ready, *(self.contents.replaced(touch) for touch in touches.writes)])
        if event.unit in self.policy.ordered:
            ready = max(ready, self.begun.get(_queue(event), 0))

        def quiet() -> int:
            return self._first_gap(event, cycles, ready)

        return max([ready, *(self._free_from(touch.storage, quiet) for touch in touches.both)])

    def _first_gap(self, event: Event, cycles: int, ready: int) -> int:
        """Return when an engine could run an event, as far as it is concerned."""
        if event.unit is Unit.DMA:
            return self.engines.transfer_gap(event.kind, cycles, ready)[0]
        return self.engines.of(event.unit, self.npus[event.index]).first_gap(ready, cycles)

    def _free_from(self, storage: Storage, quiet: Callable[[], int]) -> int:
        """Return when a content's space is free, given at its first use; 0 off chip [cycle].

        Args:
            storage: Of the content.
            quiet: Tells until when it cannot be used anyway [cycle].
        """
        begin = self.allocators.begin(storage)
        if begin is not None:
            return begin
        if isinstance(storage, OnChip):
            return self.allocators.hold(storage)
        if isinstance(storage, Placement):
            space = self.given.schedule.graph.tiles[storage.tile].space
            npu = space.owner(self.npus[storage.npu])
            wait = quiet() if space in self.policy.moving else None
            return self.allocators.place(storage, self.step, npu, wait)
        return 0

    def _run(self, event: Event, cycles: int, ready: int) -> Event:
        """Put an event into the first gap of its engine, or of any DMA channel."""
        if event.unit is Unit.DMA:
            start, index = self.engines.transfer(event.kind, cycles, ready)
        else:
            index = self.npus[event.index]
            start = self.engines.work(event.unit, index, cycles, ready)
        return event.at(start, start + cycles, index=index)

    def _note(self, number: int, touches: Touches, end: int) -> None:
        """Record what an event touched, and who leaves with it."""
        for touch in touches.writes:
            self.contents.write(touch, end)
        for touch in touches.reads:
            self.contents.read(touch, end)
        for touch in touches.both:
            storage = touch.storage
            self.allocators.use(storage, end)
            if isinstance(storage, Placement):
                self.touching.setdefault(storage, []).append(number)
                if storage.last_event == number:
                    self.allocators.leave(storage)

    def finish(self) -> TileSchedule:
        """Return the schedule, its events sorted by time."""
        order = sorted(range(len(self.events)), key=lambda number: self.events[number].start)
        position = {number: place for place, number in enumerate(order)}
        placements = [
            replace(
                self.allocators.moved(item),
                first_event=min(position[number] for number in numbers),
                last_event=max(position[number] for number in numbers),
            )
            for item, numbers in self.touching.items()
        ]
        return self.given.schedule.rescheduled(
            scheduler="across",
            events=tuple(self.events[number] for number in order),
            placements=tuple(sorted(placements, key=lambda item: item.first_event)),
            cycles=max((event.end for event in self.events), default=0),
        )


def _queue(event: Event) -> tuple[Unit, int, bool]:
    """Return which events of an operator an event has its place among."""
    return event.unit, event.index, event.kind in INWARDS
