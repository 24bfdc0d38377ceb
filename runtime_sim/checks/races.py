"""Find two accesses to one byte, at least one a write, that no wait orders. Exact per byte.

Every instruction has a vector clock: how many instructions of each queue are known to have
retired before it, from its own queue's order and its waits, transitively. An access is concurrent
with those of another queue that were executed and are beyond its clock. In a program that waits
for what it needs these are few: they are compared one by one, first the bounds of their bytes,
and where those meet, byte by byte.

What is found does not depend on the order in which instructions were executed: of two unordered
accesses one comes second, and finds the other.

References:
    Lamport: Time, clocks, and the ordering of events in a distributed system, CACM 1978.
    Flanagan, Freund: FastTrack: efficient and precise dynamic race detection, PLDI 2009.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ...ir.errors import RaceError
from ...ir.isa.instructions import Space
from ...ir.isa.program import Program, SymbolKind
from ..accesses import ByteTouch
from ..functional.region import ByteRegion, Lattice
from .placed import Placed, Places
from .race_kernel import BEFORE, MEMORY, PLACE, POSITION, QUEUE, Clocks, Ints, meetings

_AT_ONCE = 256
"""Instructions that are compared together."""

_CONSTANT = BEFORE - MEMORY
"""Of what is touched: column behind memory, direction and bounds; 1 where nothing may write it."""


class Overlaps:
    """Answers, remembered by the two regions and how far apart they lie."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[int | None, ByteRegion, ByteRegion]] = {}
        """Regions are told apart by identity, which their being kept here makes theirs alone."""

    def common_byte(self, one: ByteTouch, other: ByteTouch) -> int | None:
        """Return the address of a byte that both touch, or ``None``; they lie in one memory."""
        distance = other.access.address - one.access.address
        key = (id(one.region), id(other.region), distance)
        found = self._known.get(key)
        if found is None:
            byte = _between(one.region, other.region, distance)
            found = self._known[key] = (byte, one.region, other.region)
        byte = found[0]
        return None if byte is None else one.access.address + byte


def _between(one: ByteRegion, other: ByteRegion, distance: int) -> int | None:
    """Return a common byte, relative to the address of ``one``; ``other`` lies at ``distance``."""
    for a in one.lattices:
        for b in other.lattices:
            low = max(a.offset, b.offset + distance)
            if low >= min(a.end, b.end + distance):
                continue
            if a.is_dense and b.is_dense:
                return low
            byte = _marked_byte(a, b, distance)
            if byte is not None:
                return byte
    return None


def _marked_byte(a: Lattice, b: Lattice, distance: int) -> int | None:
    """Mark the bytes of one lattice and look at those of the other."""
    base = min(a.offset, b.offset + distance)
    marks: Any = np.zeros(max(a.end, b.end + distance) - base, np.uint8)
    np.ndarray(b.shape, np.uint8, marks, b.offset + distance - base, b.strides)[...] = 1
    seen = np.ndarray(a.shape, np.uint8, marks, a.offset - base, a.strides)
    if not seen.any():
        return None
    index = np.unravel_index(int(np.argmax(seen)), seen.shape)
    return a.offset + sum(int(i) * stride for i, stride in zip(index, a.strides, strict=True))


class RaceDetector:
    """Vector clocks of all instructions, and the accesses that are not yet ordered behind all.

    Instructions are compared some at a time, so that a race may be reported a while after it has
    been observed; :meth:`finish` reports what is left.
    """

    def __init__(self, program: Program, places: Places) -> None:
        self._program = program
        self._places = places
        self._constants = _constant_ranges(program)
        self._overlaps = Overlaps()
        self._lengths = np.array([len(queue.instructions) for queue in program.queues], np.int64)
        self._clocks = _clocks(program)
        self._heads = np.full((len(places.memories), 2, len(program.queues)), -1, np.int64)
        self._log = np.zeros((0, BEFORE + 1), np.int64)
        self._known = np.zeros((0, _CONSTANT + 1), np.int64)
        self._learned = 0
        self._instructions: list[tuple[int, int, int]] = []
        self._touched: list[int] = []
        self._crowd = 0

    def observe(self, queue: int, position: int, touched: Sequence[int]) -> None:
        """Take account of an instruction, after all that it waits for.

        Args:
            queue: Number of its queue.
            position: Its position there.
            touched: What it reads and writes, by its places' numbers.

        Raises:
            RaceError: It, or one observed before, conflicts with an earlier one; names both, and
                the byte.
        """
        self._touched += touched
        self._instructions.append((queue, position, len(self._touched)))
        if len(self._instructions) == _AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Compare what was observed and not compared yet.

        Raises:
            RaceError: Two accesses conflict.
        """
        if not self._instructions:
            return
        begin = len(self._log)
        instructions = self._enter()
        pairs = meetings(self._clocks, instructions, self._log, begin, self._heads)
        for numbers, touched in zip(pairs, self._log[pairs, PLACE].tolist(), strict=True):
            self._look_at(numbers, touched)
        if len(self._log) > 2 * self._crowd:
            self._forget()
            self._crowd = len(self._log)

    def _enter(self) -> Ints:
        """Append what was observed to the log.

        Returns:
            Queue, position and one past the last access of each instruction ``[instructions, 3]``.
        """
        self._learn()
        instructions = np.array(self._instructions, np.int64)
        touched = np.array(self._touched, np.int64)
        self._instructions, self._touched = [], []

        number = np.diff(instructions[:, 2], prepend=0)
        rows = np.empty((len(touched), BEFORE + 1), np.int64)
        rows[:, [QUEUE, POSITION]] = np.repeat(instructions[:, :2], number, axis=0)
        rows[:, PLACE] = touched
        rows[:, MEMORY:BEFORE] = self._known[touched, :_CONSTANT]
        rows[:, BEFORE] = -1
        is_kept = self._known[touched, _CONSTANT] == 0
        kept = np.append(0, np.cumsum(is_kept))
        instructions[:, 2] = len(self._log) + kept[instructions[:, 2]]
        self._log = np.concatenate((self._log, rows[is_kept]))
        return instructions

    def _learn(self) -> None:
        """Make rows of what was touched for the first time."""
        fresh = self._places.touched[self._learned :]
        if not fresh:
            return
        end = self._learned + len(fresh)
        if end > len(self._known):
            more = np.empty((end, _CONSTANT + 1), np.int64)
            self._known = np.concatenate((self._known, more))
        self._known[self._learned : end] = [self._row(item) for item in fresh]
        self._learned = end

    def _row(self, placed: Placed) -> tuple[int, ...]:
        """Return the columns of a log that follow from what is touched, and ``_CONSTANT``."""
        _, memory, low, high, writes = placed
        return memory, writes, low, high, self._is_constant(placed)

    def _look_at(self, numbers: Ints, touched: Sequence[int]) -> None:
        """Compare two concurrent accesses byte by byte.

        Args:
            numbers: Of the later one and the earlier one in the log.
            touched: What they touch, by its places' numbers.
        """
        second, first = (self._places.touched[number] for number in touched)
        byte = self._overlaps.common_byte(second.touch, first.touch)
        if byte is not None:
            later, earlier = map(self._where, numbers)
            raise RaceError(
                f"{later}: race on byte {byte:#x} of "
                f"{self._places.memories[second.memory].name}: it {second.touch.way}s what "
                f"{earlier} {'wrote' if first.writes else 'read'}, and no wait "
                "orders them"
            )

    def _where(self, access: int) -> str:
        """Return which instruction an access is of."""
        queue, position = self._log[access, [QUEUE, POSITION]].tolist()
        return self._program.where(queue, position)

    def _forget(self) -> None:
        """Drop accesses that every instruction to come is ordered behind."""
        latest = self._clocks.latest.copy()
        np.fill_diagonal(latest, self._lengths)
        latest[np.diag(self._clocks.latest) >= self._lengths] = self._lengths
        is_kept = self._log[:, POSITION] >= latest.min(axis=0)[self._log[:, QUEUE]]
        number = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
        number = np.append(number, -1)  # what -1 stands for
        self._log = self._log[is_kept]
        self._log[:, BEFORE] = number[self._log[:, BEFORE]]
        self._heads = number[self._heads]

    def _is_constant(self, placed: Placed) -> bool:
        """Whether a read lies in one constant, which nothing may write."""
        if placed.writes or self._places.memories[placed.memory].space is not Space.DRAM:
            return False
        starts, ends = self._constants
        found = bisect_right(starts, placed.low) - 1
        return found >= 0 and placed.high <= ends[found]


def _clocks(program: Program) -> Clocks:
    """Return the clocks before the first instruction."""
    queues = [queue.instructions for queue in program.queues]
    first = np.array([0, *accumulate(len(items) for items in queues)], np.int64)
    waits = [item.waits for items in queues for item in items]
    flat = np.array([(w.queue, w.count) for own in waits for w in own], np.int64).reshape(-1, 2)
    awaited = first[flat[:, 0]] + flat[:, 1] - 1
    distinct, wait_row = np.unique(awaited, return_inverse=True)
    row = np.full(first[-1], -1, np.int64)
    row[distinct] = np.arange(len(distinct))
    return Clocks(
        latest=np.zeros((len(queues), len(queues)), np.int64),
        awaited=np.zeros((len(distinct), len(queues)), np.int64),
        row=row,
        first=first,
        wait=np.stack((flat[:, 0], wait_row), axis=1),
        least=flat[:, 1].copy(),
        wait_from=np.array([0, *accumulate(map(len, waits))], np.int64),
    )


def _constant_ranges(program: Program) -> tuple[list[int], list[int]]:
    ranges = sorted(
        (symbol.address, symbol.address + symbol.type.bytes)
        for symbol in program.symbols
        if symbol.kind is SymbolKind.CONSTANT
    )
    return [start for start, _ in ranges], [end for _, end in ranges]
