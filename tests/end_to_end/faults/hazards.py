"""The bookkeeping of hazards against the definition: conflicting accesses are ordered by waits."""

from dataclasses import dataclass, field
from itertools import combinations

from hypothesis import strategies as st

from accnn.ir.isa.instructions import Space
from accnn.ir.tiles.hazards import HazardTracker, Ticks, waits_for

QUEUES = 3
SIZE = 8
"""Bytes of the memory in which contents lie; elements have one byte."""


@dataclass
class Stream:
    """Accesses in program order, each with the waits that the bookkeeping asks for.

    Attributes:
        accesses: Per access its queue, position there, bytes, whether it writes, and its author.
        before: Per access, those known to be over before it: of its own queue, and by its waits.
    """

    accesses: list[tuple[int, int, frozenset[int], bool, str]] = field(default_factory=list)
    before: list[frozenset[int]] = field(default_factory=list)
    _at: dict[tuple[int, int], int] = field(default_factory=dict)
    _lengths: list[int] = field(default_factory=lambda: [0] * QUEUES)

    def next_tick(self, queue: int) -> int:
        """Return the number of a queue's next access."""
        return self._lengths[queue] + 1

    def add(
        self, queue: int, touched: frozenset[int], author: str, ticks: Ticks, *, writes: bool
    ) -> None:
        """Append an access that waits."""
        tick = self.next_tick(queue)
        known = [(queue, tick - 1)] if tick > 1 else []
        known += waits_for((ticks,), queue).items()
        over: set[int] = set()
        for place in known:
            over |= {self._at[place]} | self.before[self._at[place]]
        self._lengths[queue] = tick
        self._at[queue, tick] = len(self.accesses)
        self.accesses.append((queue, tick, touched, writes, author))
        self.before.append(frozenset(over))

    def unordered(self) -> list[tuple[int, int]]:
        """Return the pairs of conflicting accesses that nothing orders.

        Parts that one operator writes in turn are disjoint, whatever their blocks.
        """
        return [
            (a, b)
            for a, b in combinations(range(len(self.accesses)), 2)
            if self._conflict(a, b) and a not in self.before[b]
        ]

    def _conflict(self, a: int, b: int) -> bool:
        _, _, first, a_writes, a_author = self.accesses[a]
        _, _, second, b_writes, b_author = self.accesses[b]
        if not first & second or not (a_writes or b_writes):
            return False
        return not (a_writes and b_writes and a_author == b_author)


@st.composite
def blocks(draw: st.DrawFn) -> Stream:
    """Draw claims, reads and writes of whole blocks."""
    stream, tracker = Stream(), HazardTracker()
    live = []
    for number in range(draw(st.integers(3, 14))):
        if not live or draw(st.integers(0, 3)) == 0:
            low = draw(st.integers(0, SIZE - 1))
            high = draw(st.integers(low + 1, SIZE))
            block = tracker.claim(Space.GB, 0, low, high - low)
            live = [(b, t) for b, t in live if b.high <= low or high <= b.low]
            live.append((block, frozenset(range(low, high))))
        block, touched = draw(st.sampled_from(live))
        queue = draw(st.integers(0, QUEUES - 1))
        tick = stream.next_tick(queue)
        if draw(st.booleans()):
            author = f"{number}" if draw(st.booleans()) else "same"
            stream.add(
                queue,
                touched,
                f"{id(block)} {author}",
                block.before_write(author),
                writes=True,
            )
            block.note_write(queue, tick, author)
        else:
            stream.add(queue, touched, "", block.before_read(), writes=False)
            block.note_read(queue, tick)
    return stream


@st.composite
def contents(draw: st.DrawFn) -> Stream:
    """Draw tensors of which every cell, one byte here, is written once before it is read."""
    stream, tracker = Stream(), HazardTracker()
    for number in range(draw(st.integers(1, 4))):
        low = draw(st.integers(0, SIZE - 2))
        size = draw(st.integers(2, SIZE - low))
        block = tracker.claim(Space.GB, 0, low, size)
        cut = draw(st.integers(1, size - 1))
        for first, last in ((0, cut), (cut, size)):
            queue = draw(st.integers(0, QUEUES - 1))
            cells = tuple(range(first, last))
            ticks = block.before_write(f"{number}", cells)
            tick = stream.next_tick(queue)
            stream.add(queue, _bytes(low, first, last), f"{number}", ticks, writes=True)
            block.note_write(queue, tick, f"{number}", cells)
        for _ in range(draw(st.integers(0, 3))):
            first = draw(st.integers(0, size - 1))
            last = draw(st.integers(first + 1, size))
            queue = draw(st.integers(0, QUEUES - 1))
            tick = stream.next_tick(queue)
            ticks = block.before_read(tuple(range(first, last)))
            stream.add(queue, _bytes(low, first, last), "", ticks, writes=False)
            block.note_read(queue, tick)
    return stream


def _bytes(low: int, first: int, last: int) -> frozenset[int]:
    return frozenset(range(low + first, low + last))
