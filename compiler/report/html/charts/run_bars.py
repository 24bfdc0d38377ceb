"""What every engine did during a run, as few bars as a screen can show.

A network has up to millions of instructions, a screen a few thousand pixels. Neighbours in a queue
that work for one operator and lie closer than a screen can tell become one bar, which says how
much of its time is work; so do those of several operators that are too short to be seen apart.
Bars begin and end where instructions do: nothing is rounded.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .....ir.isa.instructions import Halt, Sync
from .....ir.isa.program import Queue
from .....runtime_sim.result import QueueTimeline, SimulationResult

FINEST = 2400
"""Gaps of less than this part of the run are not drawn."""

MOST_BARS = 30_000
"""The picture gets coarser rather than larger."""

_FULLNESS = ((2 / 3, "full"), (1 / 3, "half"), (0.0, "little"))


@dataclass(frozen=True, slots=True)
class EngineBar:
    """Neighbouring instructions of one queue for one operator.

    Attributes:
        operator: Its position in the program, -1 for none or several.
        first: Start of the first instruction [cycle].
        end: Retirement of the last [cycle].
        busy: Cycles in between that are work.
    """

    operator: int
    first: int
    end: int
    busy: int

    @property
    def fullness(self) -> str:
        """How much of its time is work: ``full``, ``half`` or ``little``."""
        part = self.busy / max(1, self.end - self.first)
        return next(word for least, word in _FULLNESS if part >= least)


def queue_bars(queue: Queue, timeline: QueueTimeline, gap: int) -> tuple[EngineBar, ...]:
    """Return what a queue did, as bars in ascending order.

    Args:
        queue: The instructions; those that only wait are left out.
        timeline: Their times.
        gap: Cycles below which a pause is not seen; 0 keeps every instruction.
    """
    kept = [
        number
        for number, item in enumerate(queue.instructions)
        if not isinstance(item, Sync | Halt)
    ]
    operators = np.array([queue.instructions[number].op for number in kept], np.int64)
    starts, ends = timeline.starts[kept], timeline.shown_ends[kept]
    operators, starts, ends = (item[ends > starts] for item in (operators, starts, ends))
    if not len(starts):
        return ()
    apart = (operators[1:] != operators[:-1]) | (starts[1:] - ends[:-1] >= gap)
    heads = np.concatenate(([0], np.flatnonzero(apart) + 1))
    tails = np.concatenate((heads[1:], [len(starts)])) - 1
    busy = np.add.reduceat(ends - starts, heads)
    columns = (operators[heads], starts[heads], ends[tails], busy)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return _without_specks((EngineBar(*row) for row in rows), gap)


def _without_specks(items: Iterable[EngineBar], gap: int) -> tuple[EngineBar, ...]:
    """Return bars with neighbours joined as long as they are shorter than a gap.

    Of two neighbours that remain one is as long as a gap, or the pause between them is.
    """
    found: list[EngineBar] = []
    for item in items:
        last = found[-1] if found else None
        lengths = (item.end - item.first, gap if last is None else last.end - last.first)
        if last is None or max(*lengths, item.first - last.end) >= gap:
            found.append(item)
            continue
        operator = item.operator if item.operator == last.operator else -1
        found[-1] = EngineBar(operator, last.first, item.end, last.busy + item.busy)
    return tuple(found)


def all_bars(simulation: SimulationResult) -> dict[Queue, tuple[EngineBar, ...]]:
    """Return the bars of every queue that did something, as fine as the page allows."""
    assert simulation.timelines is not None
    lines = list(zip(simulation.program.queues, simulation.timelines, strict=True))
    gap = max(1, simulation.cycles // FINEST)
    while True:
        found = {queue: queue_bars(queue, line, gap) for queue, line in lines}
        if gap > simulation.cycles or sum(map(len, found.values())) <= MOST_BARS:
            return {queue: items for queue, items in found.items() if items}
        gap *= 2
