"""What the events of a schedule wait for and do, and when the clock lets them run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.isa.instructions import Unit
from .clock import Shares, Tasks, run_tasks
from .work import Work, Works
from .work_bound import work_bound

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IssuedEvents:
    """What is known of events when they are issued, before they have a time; in program order.

    Attributes:
        engines: Kind and number of the engine of each queue, in the order in which they get events.
        queue: Of each event ``[events]``.
        work: Of each event, its place among the works ``[events]``.
        works: What events do.
        waits_from: Of each event the first of its waits; and how many there are ``[events + 1]``.
        waits: A queue, and how many of its events have to end before; never the event's own queue
            ``[., 2]``.
    """

    engines: Sequence[tuple[Unit, int]]
    queue: Ints
    work: Ints
    works: Sequence[Work]
    waits_from: Ints
    waits: Ints

    def spans(self, known: Works) -> Ints:
        """Return start, begin, done and end of each event [cycle] ``[events, 4]``.

        Args:
            known: The works of the machine.
        """
        found = np.empty((len(self.queue), 4), np.int64)
        pipelined = [unit is Unit.MX for unit, _ in self.engines]
        found[self._by_queue] = run_tasks(
            self._tasks(known), pipelined, len(known.ports.bandwidths)
        )
        return found

    @cached_property
    def _by_queue(self) -> Ints:
        """Numbers of the events, one queue after the other."""
        return np.argsort(self.queue, kind="stable")

    def _tasks(self, known: Works) -> Tasks:
        """Return the events as tasks of the clock, one queue after the other."""
        work = self.work[self._by_queue]
        rows = [(item.lead + item.fill, known.length(item), item.drain) for item in self.works]
        return Tasks(
            first=firsts(np.bincount(self.queue, minlength=len(self.engines))),
            tasks=np.array(rows, np.int64).reshape(-1, 3)[work],
            waits_from=firsts(np.diff(self.waits_from)[self._by_queue]),
            waits=self.waits[entries(self.waits_from, self._by_queue)],
            shares=self._shares(known, work),
        )

    def _shares(self, known: Works, work: Ints) -> Shares:
        """Return what each of some works takes of the ports."""
        bandwidths = known.ports.bandwidths
        numbers = {port: number for number, port in enumerate(bandwidths)}
        port = [numbers[port] for item in self.works for port, _ in item.moved]
        part = [
            size / (bandwidths[port] * known.length(item))
            for item in self.works
            for port, size in item.moved
        ]
        first = firsts(np.array([len(item.moved) for item in self.works], np.int64))
        wanted = entries(first, work)
        return Shares(
            first=firsts(np.diff(first)[work]),
            port=np.array(port, np.int64)[wanted],
            part=np.array(part, np.float64)[wanted],
        )

    def bound(self, known: Works) -> int:
        """Return what no order of these events can beat [cycle].

        Args:
            known: The works of the machine.
        """
        pairs, counts = np.unique(np.stack((self.queue, self.work)), axis=1, return_counts=True)
        asked = Counter[tuple[Unit, Work]]()
        for queue, work, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            asked[self.engines[queue][0], self.works[work]] += count
        return work_bound(asked, known)


def times_of(unit: Unit, span: Sequence[int]) -> tuple[int, int, int, int]:
    """Return start, end, fill and drain of an event [cycle].

    Args:
        unit: Kind of its engine; only the array fills and drains beside its other work.
        span: Start, begin, done and end.
    """
    start, begin, done, end = span
    if unit is Unit.MX:
        return start, end, begin - start, end - done
    return start, end, 0, 0


def firsts(lengths: Sequence[int] | Ints) -> Ints:
    """Return where each of some lists begins if one follows the other, and where the last ends.

    Args:
        lengths: Of the lists.
    """
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def entries(first: Ints, lists: Ints) -> Ints:
    """Return the numbers of the entries of some lists, one list after the other.

    Args:
        first: Where each of all lists begins, and where the last one ends.
        lists: Numbers of those that are wanted.
    """
    lengths: Ints = np.diff(first)[lists]
    shifts: Ints = np.repeat(first[lists] - firsts(lengths)[:-1], lengths)
    return shifts + np.arange(len(shifts))
