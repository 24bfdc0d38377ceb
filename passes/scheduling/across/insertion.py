"""Insert the events of all operators, one after the other, where their engine is idle first.

    a: load compute store           dma  load_a load_b store_a store_b
    b: load compute store    ->     mx          compute_a compute_b

Events are taken layer by layer. Each starts as soon as what it reads is there and its place is
free, in the first gap of its engine that is long enough, even before events of earlier operators.
Events of the operator itself may be kept in their order: their durations are those that they have
alone, so that gaps may only seem to be there, and who fills them takes ports from others.
The tiles of an operator are mirrored in their memory, or moved together, where that is free sooner,
and single ones may lie where they find space first. No event is ever put off for a later one, and
places are given out in the order of the events, so that none waits for ever.

References:
    Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for
    Heterogeneous Computing. IEEE TPDS 13(3), 2002 (insertion-based list scheduling).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.isa.instructions import Space, Unit
from ....ir.tiles.events import Placement
from ....ir.tiles.schedule import TileSchedule
from ..engine.kernel.gaps import END
from ..engine.kernel.insertion import (
    OWNER,
    PLACED,
    InsertionArrays,
    PolicyArrays,
    insert_events,
    nothing_inserted,
)
from .tables import InTurn

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class InsertionPolicy:
    """What insertion is free to do.

    Attributes:
        moving: Where a tile may lie elsewhere than beside the others of its operator.
        ordered: Engines that begin the events of an operator in the order that they have in it; of
            DMA channels, those in each direction.
        deal: Whether the NPUs of an operator change places, so that those work that are idle;
            all NPUs must be alike.
    """

    moving: frozenset[Space] = frozenset()
    ordered: frozenset[Unit] = frozenset()
    deal: bool = False


def insert(given: InTurn, policy: InsertionPolicy) -> "Inserted":
    """Insert all events.

    Args:
        given: All operators, layer by layer.
        policy: What is free.
    """
    arrays, free = given.arrays, _policy(given, policy)
    npus, tiles = np.arange(len(given.arch.npus)), len(given.schedule.graph.tiles)
    sizes = given.engines, given.memories, tiles * len(npus)
    run, cycles = nothing_inserted(arrays, free, *sizes), 0
    for numbers in given.steps:
        if policy.deal:
            npus = np.array(dealt(_work(given, numbers), _free_from(given, run)), np.int64)
        cycles = max(cycles, int(insert_events(arrays, free, npus, numbers, run)))
    placed = run.storages[:, (PLACED, OWNER)].copy()
    return Inserted(given, run.times[:-1], placed, cycles)


def _policy(given: InTurn, policy: InsertionPolicy) -> PolicyArrays:
    return PolicyArrays(
        moves=np.array([space in policy.moving for _, space, _ in given.layouts] + [False]),
        ordered=np.array([unit in policy.ordered for unit, *_ in given.queues] + [False]),
    )


def _work(given: InTurn, numbers: Ints) -> tuple[int, ...]:
    """Return the cycles that each NPU works for the events of an operator."""
    work, chosen = [0] * len(given.arch.npus), list[int](numbers.tolist())
    for number in chosen:
        event = given.schedule.events[number]
        if event.unit is not Unit.DMA:
            work[event.index] += int(given.cycles[number])
    return tuple(work)


def _free_from(given: InTurn, run: InsertionArrays) -> tuple[int, ...]:
    """Return when each NPU has done all its work so far [cycle]."""
    busy, found = run.engines, np.zeros(len(given.arch.npus), np.int64)
    for engine in range(given.arch.dma.channels, given.engines):
        count, npu = busy.counts[engine], (engine - given.arch.dma.channels) % len(found)
        if count:
            found[npu] = max(found[npu], busy.spans[engine, count - 1, END])
    return tuple(found.tolist())


def dealt(work: Sequence[int], free: Sequence[int]) -> tuple[int, ...]:
    """Return the new NPU of each old one: most work goes to the one that is idle first.

    Args:
        work: Of each NPU, for the operator that comes [cycle].
        free: When each has done all work of those before [cycle].
    """
    npus = range(len(work))
    olds = sorted(npus, key=lambda npu: (-work[npu], npu))
    news = sorted(npus, key=lambda npu: (free[npu], npu))
    place = dict(zip(olds, news, strict=True))
    return tuple(place[npu] for npu in npus)


@dataclass(frozen=True, eq=False)
class Inserted:
    """Events with the times at which they were inserted.

    Attributes:
        given: All operators, layer by layer.
        times: Start of each event [cycle], and its engine ``[events, 2]``.
        placed: First byte and NPU of all that holds contents ``[storages, 2]``.
        cycles: When the last event ends.
    """

    given: InTurn
    times: Ints
    placed: Ints
    cycles: int

    @property
    def differs_by(self) -> tuple[bytes, bytes]:
        """What is equal for the same events and places."""
        return self.times.tobytes(), self.placed.tobytes()

    @cached_property
    def schedule(self) -> TileSchedule:
        """The schedule, its events sorted by time."""
        given = self.given
        order = np.argsort(self.times[:, 0], kind="stable")
        numbers: list[int] = order.tolist()
        starts, engines = self.times[order].T.tolist()
        ends = (self.times[order, 0] + given.cycles[order]).tolist()
        events = [given.schedule.events[number] for number in numbers]
        return given.schedule.rescheduled(
            scheduler="across",
            events=tuple(
                event.at(start, end, index=engine - given.units[event.unit])
                for event, start, end, engine in zip(events, starts, ends, engines, strict=True)
            ),
            placements=self._placements(np.argsort(order)),
            cycles=self.cycles,
        )

    def _placements(self, position: Ints) -> tuple[Placement, ...]:
        """Return where tiles lie, by their first events.

        Args:
            position: Of each event in the new order.
        """
        event, storage = self.given.touched
        first = np.full(len(self.placed), len(position))
        last = np.zeros(len(self.placed), np.int64)
        np.minimum.at(first, storage, position[event])
        np.maximum.at(last, storage, position[event])
        items = zip(self.given.storages, self.placed.tolist(), strict=True)
        rows = zip(items, first.tolist(), last.tolist(), strict=True)
        found = [
            replace(item, npu=npu, address=address, first_event=begin, last_event=end)
            for (item, (address, npu)), begin, end in rows
            if isinstance(item, Placement)
        ]
        return tuple(sorted(found, key=lambda item: item.first_event))
