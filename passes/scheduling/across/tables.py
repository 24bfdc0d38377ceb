"""Operators one after the other, as the arrays that insertion reads.

    0    a   b      size        0    b   a      size        0  a   b        size
    |    [--][---]     |   or   |    [---][--]     |   or   |  [--][---]       |   ...

Tiles of one operator in one memory are a *layout*. They fit together in the order of its events,
and so they do mirrored, or moved together to either end of what they may use. Which way is better
depends on what the operators before left where. A tile may also lie elsewhere by itself, beside all
those that come while it is there: then these still find their places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa.instructions import Space, Unit
from ....ir.isa.spaces import ON_CHIP, space_bytes
from ....ir.tiles.events import INWARDS, Event, Placement
from ....ir.tiles.schedule import TileSchedule
from ....ir.tiles.touches import Accesses, OnChip, SpilledSums, Storage, Touch, Touches
from ..engine.kernel.insertion import ELSEWHERE, TENSOR, TILE, InsertedArrays
from ..timing.issued import firsts
from ..timing.ports import Ports
from ..timing.retime import lone_works

Ints = NDArray[np.int64]

LayoutKey = tuple[int, Space, int]
"""An operator's step, a space, and the NPU that it belongs to; 0 where NPUs share it."""

Queue = tuple[Unit, int, bool]
"""An engine, and whether events bring something in."""


@dataclass(frozen=True, eq=False)
class InTurn:
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
    def _accesses(self) -> Accesses:
        return Accesses(self.schedule)

    @cached_property
    def cycles(self) -> Ints:
        """How long every event takes alone, without fill and drain: they mostly hide [cycle]."""
        bandwidths = Ports(self.arch).bandwidths
        works = lone_works(self.schedule, self.arch)
        cycles = {work: work.lead + work.length(bandwidths) for work in dict.fromkeys(works)}
        return np.array([cycles[work] for work in works], np.int64)

    @cached_property
    def steps(self) -> tuple[Ints, ...]:
        """Numbers of the events of each operator."""
        by_step = self.schedule.by_step
        count = len(self.schedule.graph.operators)
        return tuple(np.array(by_step.get(step, ()), np.int64) for step in range(count))

    @cached_property
    def units(self) -> Mapping[Unit, int]:
        """The number of the first engine of each kind: channels, then the others by NPU."""
        others = dict.fromkeys(event.unit for event in self.schedule.events)
        others.pop(Unit.DMA, None)
        first, npus = self.arch.dma.channels, len(self.arch.npus)
        return {Unit.DMA: 0} | {unit: first + npus * at for at, unit in enumerate(others)}

    @property
    def engines(self) -> int:
        """How many engines there are."""
        return self.arch.dma.channels + (len(self.units) - 1) * len(self.arch.npus)

    @property
    def memories(self) -> int:
        """How many memories there are."""
        return len(ON_CHIP) * len(self.arch.npus)

    @cached_property
    def queues(self) -> tuple[Queue, ...]:
        """Engines that operators have, with the direction of transfers."""
        return tuple(dict.fromkeys(map(queue_of, self.schedule.events)))

    @cached_property
    def layouts(self) -> Mapping[LayoutKey, Sequence[Placement]]:
        """The tiles of each operator in each memory, by their first event."""
        schedule, found = self.schedule, dict[LayoutKey, list[Placement]]()
        for item in sorted(schedule.placements, key=lambda item: item.first_event):
            space, first = schedule.graph.tiles[item.tile].space, schedule.events[item.first_event]
            found.setdefault((first.step, space, item.npu), []).append(item)
        return found

    @cached_property
    def touches(self) -> tuple[Touches, ...]:
        """What every event touches."""
        return tuple(map(self._accesses.of, range(len(self.schedule.events))))

    @cached_property
    def storages(self) -> Mapping[Storage, int]:
        """Numbers of all that holds contents, in the order in which operators touch it."""
        found = dict[Storage, int]()
        numbers: list[int] = np.concatenate(self.steps).tolist()
        for number in numbers:
            for touch in self.touches[number].both:
                found.setdefault(touch.storage, len(found))
        return found

    @cached_property
    def touched(self) -> tuple[Ints, Ints]:
        """Per touch its event and what it touches ``[touches]``, ``[touches]``."""
        pairs = [
            (number, self.storages[touch.storage])
            for number, touches in enumerate(self.touches)
            for touch in touches.both
        ]
        found = np.array(pairs, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    @cached_property
    def arrays(self) -> InsertedArrays:
        """What insertion reads."""
        cells = _Cells(self._accesses)
        rows = [(touch, *cells.of(touch)) for item in self.touches for touch in item.both]
        touches = [(self.storages[touch.storage], first, last) for touch, first, last in rows]
        places, members = self._members()
        storages = [self._storage_row(item, cells, places) for item in self.storages]
        layouts, walls = self._layout_rows()
        lengths, kinds = np.unique(self.cycles, return_inverse=True)
        return InsertedArrays(
            channels=self.arch.dma.channels,
            startup=self.arch.dma.startup,
            ports=1 if self.arch.off_chip.shared_port else 2,
            lengths=len(lengths),
            events=self._event_rows(kinds),
            touches=np.array(touches, np.int64).reshape(-1, 3),
            cells=np.array(cells.lists, np.int64),
            storages=np.array(storages, np.int64).reshape(-1, 13),
            layouts=layouts,
            members=np.array(members, np.int64).reshape(-1, 5),
            walls=np.array(walls, np.int64).reshape(-1, 2),
        )

    def _event_rows(self, kinds: Ints) -> Ints:
        """Return the rows of events, and one where touches end ``[events + 1, 9]``."""
        queues = {queue: number for number, queue in enumerate(self.queues)}
        touches = firsts([len(item.both) for item in self.touches]).tolist()
        rows = [
            (
                self.units[event.unit],
                event.index,
                event.kind in INWARDS,
                self.cycles[number],
                kinds[number],
                touches[number],
                touches[number] + len(self.touches[number].reads),
                self._accesses.starts_residence(number),
                queues[queue_of(event)],
            )
            for number, event in enumerate(self.schedule.events)
        ]
        return np.array([*rows, (0, 0, 0, 0, 0, touches[-1], 0, 0, 0)], np.int64)

    def _members(self) -> tuple[Mapping[Placement, tuple[int, int]], list[tuple[int, ...]]]:
        """Return layout and place of each tile, and the rows of all tiles."""
        places, rows = dict[Placement, tuple[int, int]](), list[tuple[int, ...]]()
        for layout, items in enumerate(self.layouts.values()):
            for item in items:
                places[item] = layout, len(rows)
                start = self.schedule.events[item.first_event].start
                size = self.schedule.graph.tiles[item.tile].occupied
                rows.append((item.first_event, item.last_event, start, item.address, size))
        return places, rows

    def _storage_row(
        self, storage: Storage, cells: "_Cells", places: Mapping[Placement, tuple[int, int]]
    ) -> tuple[int, ...]:
        first, past = cells.known.get(storage, (0, 0))
        if isinstance(storage, OnChip):
            size = self._accesses.bytes(storage)
            return TENSOR, 0, storage.base, size, 0, first, past, 0, 0, 0, 1, 0, 0
        if not isinstance(storage, Placement):
            return ELSEWHERE, 0, 0, 0, 0, first, past, 0, 0, 0, 1, 0, 0
        tile, npus = self.schedule.graph.tiles[storage.tile], len(self.arch.npus)
        return (
            TILE,
            ON_CHIP.index(tile.space) * npus,
            storage.address,
            tile.occupied,
            tile.rolls,
            first,
            past,
            storage.last_event,
            *places[storage],
            tile.space.is_shared,
            storage.npu,
            storage.tile * npus,
        )

    def _layout_rows(self) -> tuple[Ints, list[tuple[int, int]]]:
        """Return the rows of layouts, and one where tiles and walls end; and the walls."""
        sizes = {**space_bytes(self.arch), Space.GB: self.plan.budget}
        tiles, rows = self.schedule.graph.tiles, list[tuple[int, ...]]()
        walls, members = list[tuple[int, int]](), 0
        for (step, space, _), items in self.layouts.items():
            low = min(item.address for item in items)
            high = max(item.address + tiles[item.tile].occupied for item in items)
            within = self._range(step) if space is Space.GB else (0, sizes[space])
            rows.append((members, len(walls), low, high, *within, sizes[space]))
            walls += self._residents(step) if space is Space.GB else ()
            members += len(items)
        rows.append((members, len(walls), 0, 0, 0, 0, 0))
        return np.array(rows, np.int64), walls

    def _range(self, step: int) -> tuple[int, int]:
        """Return what the tiles of an operator may use of the scratchpad, from and to."""
        workspace = self.plan.workspace(step)
        assert workspace is not None, "tiles in the scratchpad have a workspace"
        return workspace.address, workspace.address + workspace.bytes

    def _residents(self, step: int) -> list[tuple[int, int]]:
        """Return the address ranges that resident tensors hold at a step, ascending."""
        there = (item for item in self.plan.residences if item.first_step <= step <= item.last_step)
        return sorted((item.address, item.address + item.bytes) for item in there)


class _Cells:
    """Numbers the cells of tensors, and the rows of tiles that roll.

    Attributes:
        known: First cell, and past the last, of what has any.
        lists: Numbers of cells, one list after the other.
    """

    def __init__(self, accesses: Accesses) -> None:
        self.accesses = accesses
        self.known: dict[Storage, tuple[int, int]] = {}
        self.lists: list[int] = []
        self._count = 0

    def of(self, touch: Touch) -> tuple[int, int]:
        """Return where the cells of a touch are listed, from and to; -1 twice without any."""
        storage = touch.storage
        if touch.cells is None or isinstance(storage, SpilledSums):
            return -1, -1
        if storage not in self.known:
            first = self._count
            self._count += self.accesses.parts(storage)
            self.known[storage] = first, self._count
        first, begin = self.known[storage][0], len(self.lists)
        self.lists += (first + cell for cell in touch.cells)
        return begin, len(self.lists)


def queue_of(event: Event) -> Queue:
    """Return which events of an operator an event has its place among."""
    return event.unit, event.index, event.kind in INWARDS
