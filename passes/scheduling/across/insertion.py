"""Insert the events of all operators, one after the other, where their engine is idle first.

    a: load compute store           dma  load_a load_b store_a store_b
    b: load compute store    ->     mx          compute_a compute_b

Events are taken layer by layer. Each starts as soon as what it reads is there and its place is
free, in the first gap of its engine that is long enough, even before events of earlier operators.
A tile may move to whatever room of its memory is free first. No event is ever put off for a
later one, and places are given out in the order of the events, so that none waits for ever.

References:
    Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for
    Heterogeneous Computing. IEEE TPDS 13(3), 2002 (insertion-based list scheduling).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa import Unit
from ....ir.tile_events import INWARDS, Event, Placement
from ....ir.tile_schedule import TileSchedule
from ....ir.touches import Accesses, OnChip, Storage, Touches
from .contents import Contents
from .engines import Engine
from .join import Joined
from .npus import dealt, work_of_steps
from .rooms import Rooms


def insert(
    joined: Joined,
    plan: GraphSchedule,
    arch: Architecture,
    keep: Sequence[bool],
    *,
    deal: bool = False,
) -> TileSchedule:
    """Return the events in their new order, with the times at which they were inserted.

    Args:
        joined: All operators, layer by layer.
        plan: Tells which tensors are resident.
        arch: The machine.
        keep: For each step, whether its tiles stay where they were.
        deal: Whether the NPUs of an operator change places, so that those work that are idle;
            all NPUs must be alike.

    Raises:
        NoRoom: A step without ``keep`` is too fragmented.
    """
    run = _Insertion(joined, plan, arch, keep, deal)
    for number in range(len(joined.schedule.events)):
        run.add(number)
    return run.finish()


@dataclass
class _Insertion:
    """The new schedule in the making."""

    joined: Joined
    plan: GraphSchedule
    arch: Architecture
    keep: Sequence[bool]
    deal: bool
    events: list[Event] = field(default_factory=list[Event])
    engines: dict[tuple[Unit, int], Engine] = field(default_factory=dict[tuple[Unit, int], Engine])
    ports: dict[bool, Engine] = field(default_factory=dict[bool, Engine])
    touching: dict[Placement, list[int]] = field(default_factory=dict[Placement, list[int]])

    def __post_init__(self) -> None:
        self.accesses = Accesses(self.joined.schedule)
        self.contents = Contents(self.accesses)
        self.rooms = Rooms(self.accesses, self.plan, self.arch)
        self.work = work_of_steps(self.joined, len(self.arch.npus))
        self.npus = tuple(range(len(self.arch.npus)))
        self.step = -1

    def add(self, number: int) -> None:
        """Insert the next event."""
        self._enter(self.joined.steps[number])
        touches = self.accesses.of(number)
        if self.accesses.starts_residence(number):
            for touch in touches.writes:
                self.rooms.forget(touch.storage)
                self.contents.forget(touch.storage)
        added = self._run(self.joined.schedule.events[number], self._ready(touches))
        self.events.append(added)
        self._note(number, touches, added.end)

    def _enter(self, step: int) -> None:
        """Deal the NPUs anew where a step begins."""
        if step != self.step and self.deal:
            self.npus = dealt(self.work[step], self.engines)
        self.step = step

    def _ready(self, touches: Touches) -> int:
        """Return when the contents that an event reads and the room that it fills are there."""
        ready = max((self.contents.written(touch) for touch in touches.reads), default=0)
        for touch in touches.both:
            self._make_room(touch.storage)
            stay = self.rooms.stay(touch.storage)
            if stay is not None:
                ready = max(ready, stay.begin)
        return ready

    def _make_room(self, storage: Storage) -> None:
        """Give a content on chip its room at its first use."""
        if self.rooms.stay(storage) is not None:
            return
        if isinstance(storage, OnChip):
            self.rooms.hold(storage)
        elif isinstance(storage, Placement):
            shared = self.joined.schedule.graph.tiles[storage.tile].space.is_shared
            npu = 0 if shared else self.npus[storage.npu]
            self.rooms.place(storage, self.step, npu, move=not self.keep[self.step])

    def _run(self, event: Event, ready: int) -> Event:
        """Put an event into the first gap of its engine, or of any DMA channel."""
        cycles = event.end - event.start
        if event.unit is Unit.DMA:
            channels = range(self.arch.dma.channels)
            start, index = min((self._transfer_gap(event, ready, item), item) for item in channels)
            lead = self.arch.dma.startup
            self._port(event).occupy(start + lead, cycles - lead)
        else:
            index = self.npus[event.index]
            start = self._engine(event.unit, index).first_gap(ready, cycles)
        self._engine(event.unit, index).occupy(start, cycles)
        return replace(event, index=index, start=start, end=start + cycles)

    def _transfer_gap(self, event: Event, ready: int, channel: int) -> int:
        """Return when a transfer finds both its channel and, past start-up, the port idle."""
        cycles, lead = event.end - event.start, self.arch.dma.startup
        while True:
            start = self._engine(Unit.DMA, channel).first_gap(ready, cycles)
            moving = self._port(event).first_gap(start + lead, cycles - lead)
            if moving == start + lead:
                return start
            ready = moving - lead

    def _port(self, event: Event) -> Engine:
        """Return the port of off-chip memory that a transfer takes: alone, all of it."""
        inwards = event.kind in INWARDS and not self.arch.off_chip.shared_port
        return self.ports.setdefault(inwards, Engine())

    def _engine(self, unit: Unit, index: int) -> Engine:
        return self.engines.setdefault((unit, index), Engine())

    def _note(self, number: int, touches: Touches, end: int) -> None:
        """Record what an event touched, and who leaves with it."""
        for touch in touches.writes:
            self.contents.write(touch, end)
        for touch in touches.both:
            storage = touch.storage
            stay = self.rooms.stay(storage)
            if stay is not None:
                stay.end = max(stay.end, end)
            if isinstance(storage, Placement):
                self.touching.setdefault(storage, []).append(number)
                if storage.last_event == number:
                    self.rooms.leave(storage)

    def finish(self) -> TileSchedule:
        """Return the schedule, its events sorted by time."""
        order = sorted(range(len(self.events)), key=lambda number: self.events[number].start)
        position = {number: place for place, number in enumerate(order)}
        placements = [
            replace(
                self.rooms.moved(item),
                first_event=min(position[number] for number in numbers),
                last_event=max(position[number] for number in numbers),
            )
            for item, numbers in self.touching.items()
        ]
        return replace(
            self.joined.schedule,
            events=tuple(self.events[number] for number in order),
            placements=tuple(sorted(placements, key=lambda item: item.first_event)),
            cycles=max((event.end for event in self.events), default=0),
        )
