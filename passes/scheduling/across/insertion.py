"""Insert the events of all operators, one after the other, where their engine is idle first.

    a: load compute store           dma  load_a load_b store_a store_b
    b: load compute store    ->     mx          compute_a compute_b

Events are taken layer by layer. Each starts as soon as what it reads is there and its place is
free, in the first gap of its engine that is long enough, even before events of earlier operators.
A tile may move to whatever room of the scratchpad is free first. No event is ever put off for a
later one, and places are given out in the order of the events, so that none waits for ever.

References:
    Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for
    Heterogeneous Computing. IEEE TPDS 13(3), 2002 (insertion-based list scheduling).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa import Space, Unit
from ....ir.tile_schedule import Event, Placement, TileSchedule
from ....ir.touches import Accesses, OffChip, OnChip, Storage, Touch, Touches
from .engines import Engine
from .join import Joined
from .npus import dealt, work_of_steps
from .occupancy import AddressSpace, Stay

Times: TypeAlias = npt.NDArray[np.int64]
"""Per element of a tensor, when it was written [cycle]."""


@dataclass(frozen=True, slots=True)
class NoRoom(Exception):  # noqa: N818 - a signal, not an error
    """A tile of a step finds no room; the step must keep its addresses."""

    step: int


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
    spaces: dict[tuple[Space, int], AddressSpace] = field(
        default_factory=dict[tuple[Space, int], AddressSpace]
    )
    stays: dict[Storage, Stay] = field(default_factory=dict[Storage, Stay])
    written: dict[Storage, int] = field(default_factory=dict[Storage, int])
    elements: dict[Storage, Times] = field(default_factory=dict[Storage, Times])
    left: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    address: dict[Placement, int] = field(default_factory=dict[Placement, int])
    npu: dict[Placement, int] = field(default_factory=dict[Placement, int])
    live: dict[Placement, tuple[int, int]] = field(default_factory=dict[Placement, tuple[int, int]])
    touching: dict[Placement, list[int]] = field(default_factory=dict[Placement, list[int]])

    def __post_init__(self) -> None:
        self.accesses = Accesses(self.joined.schedule)
        self.graph = self.joined.schedule.graph
        self.blocked = _blocked(self.plan)
        npus = len(self.arch.npus)
        self.work = work_of_steps(self.joined, npus)
        self.npus = tuple(range(npus))
        self.step = -1

    def add(self, number: int) -> None:
        """Insert the next event."""
        event, step = self.joined.schedule.events[number], self.joined.steps[number]
        if step != self.step:
            self.step = step
            if self.deal:
                self.npus = dealt(self.work[step], self.engines)
        touches = self.accesses.of(number)
        if self.accesses.starts_residence(number):
            for touch in touches.writes:
                self.stays.pop(touch.storage, None)
                self.elements.pop(touch.storage, None)
        ready = self._ready(touches, step)
        added = self._run(event, ready)
        self.events.append(added)
        self._note(number, touches, added.end)

    def _ready(self, touches: Touches, step: int) -> int:
        """Return when the contents that an event reads and the room that it fills are there."""
        ready = max((self._written(touch) for touch in touches.reads), default=0)
        for touch in touches.both:
            stay = self._stay(touch.storage, step)
            if stay is not None:
                ready = max(ready, stay.begin)
        return ready

    def _written(self, touch: Touch) -> int:
        if touch.region is None:
            return self.written.get(touch.storage, 0)
        if touch.storage not in self.elements:
            return 0
        return int(touch.region.within(self.elements[touch.storage]).max())

    def _stay(self, storage: Storage, step: int) -> Stay | None:
        """Return a content on chip, giving it room at its first use; ``None`` off chip."""
        if storage not in self.stays:
            if isinstance(storage, Placement):
                self.stays[storage] = self._place(storage, step)
            elif isinstance(storage, OnChip):
                size = self.accesses.elements[storage] * self.accesses.element_bytes[storage]
                space = self._space(Space.GB, 0)
                self.stays[storage] = space.claim(storage.base, storage.base + size)
        return self.stays.get(storage)

    def _place(self, item: Placement, step: int) -> Stay:
        """Give a tile its room; one that returns must have left before.

        Raises:
            NoRoom: Free room is in pieces.
        """
        tile = self.graph.tiles[item.tile]
        npu = 0 if tile.space.is_shared else self.npus[item.npu]
        space = self._space(tile.space, npu)
        address: int | None = item.address
        if tile.space is Space.GB:
            if not self.keep[step]:
                blocked = (*self.blocked[step], *self.live.values())
                address = space.earliest(tile.bytes, blocked, self.plan.budget)
            if address is None:
                raise NoRoom(step)
            self.live[item] = (address, address + tile.bytes)
        self.address[item] = address
        self.npu[item] = npu
        stay = space.claim(address, address + tile.bytes)
        stay.begin = max(stay.begin, self.left.get((item.tile, npu), 0))
        return stay

    def _space(self, space: Space, npu: int) -> AddressSpace:
        return self.spaces.setdefault((space, npu), AddressSpace())

    def _run(self, event: Event, ready: int) -> Event:
        """Put an event into the first gap of its engine, or of any DMA channel."""
        cycles = event.end - event.start
        dma = range(self.arch.dma.channels)
        channels = dma if event.unit is Unit.DMA else (self.npus[event.index],)
        options = [
            (self._engine(event.unit, index).first_gap(ready, cycles), index) for index in channels
        ]
        start, index = min(options)
        self._engine(event.unit, index).occupy(start, cycles)
        return replace(event, index=index, start=start, end=start + cycles)

    def _engine(self, unit: Unit, index: int) -> Engine:
        return self.engines.setdefault((unit, index), Engine())

    def _note(self, number: int, touches: Touches, end: int) -> None:
        """Record what an event touched, and who leaves with it."""
        for touch in touches.writes:
            self._write(touch, end)
        for touch in touches.both:
            storage = touch.storage
            if storage in self.stays:
                self.stays[storage].end = max(self.stays[storage].end, end)
            if isinstance(storage, Placement):
                self.touching.setdefault(storage, []).append(number)
                if storage.last_event == number:
                    self._leave(storage)

    def _write(self, touch: Touch, end: int) -> None:
        storage = touch.storage
        if touch.region is None:
            self.written[storage] = max(self.written.get(storage, 0), end)
            return
        assert isinstance(storage, OnChip | OffChip)
        if storage not in self.elements:
            self.elements[storage] = np.zeros(self.accesses.elements[storage], np.int64)
        touch.region.within(self.elements[storage])[...] = end

    def _leave(self, item: Placement) -> None:
        self.live.pop(item, None)
        self.left[(item.tile, self.npu[item])] = self.stays[item].end

    def finish(self) -> TileSchedule:
        """Return the schedule, its events sorted by time."""
        order = sorted(range(len(self.events)), key=lambda number: self.events[number].start)
        place = {number: position for position, number in enumerate(order)}
        placements = tuple(
            replace(
                item,
                npu=self.npu[item],
                address=self.address[item],
                first_event=min(place[number] for number in numbers),
                last_event=max(place[number] for number in numbers),
            )
            for item, numbers in self.touching.items()
        )
        return replace(
            self.joined.schedule,
            events=tuple(self.events[number] for number in order),
            placements=tuple(sorted(placements, key=lambda item: item.first_event)),
            cycles=max((event.end for event in self.events), default=0),
        )


def _blocked(plan: GraphSchedule) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """Return the address ranges that resident tensors hold at each step."""
    found: dict[int, list[tuple[int, int]]] = {step: [] for step in range(len(plan.order))}
    for item in plan.residences:
        for step in range(item.first_step, item.last_step + 1):
            found[step].append((item.address, item.address + item.bytes))
    return {step: tuple(ranges) for step, ranges in found.items()}
