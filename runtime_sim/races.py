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
from itertools import takewhile

from ..ir.errors import RaceError
from ..ir.isa import Space
from ..ir.program import Program, SymbolKind
from .machine import Memory
from .overlap import Overlaps
from .placed import Placed

_FORGET_EVERY = 256
"""Instructions after which accesses are dropped that all to come are ordered behind."""


class _Log:
    """The accesses of one queue to one memory in one direction, by position.

    Of equal accesses the last stands for all: who is ordered behind it is behind them.

    Attributes:
        entries: By first byte and region: position, first byte, one past the last, and the access.
            Regions are distinguished by identity; entries keep theirs alive.
        queue: Number of the queue.
        last: Position of its last access.
    """

    __slots__ = ("entries", "last", "queue")

    def __init__(self, queue: int) -> None:
        self.entries: dict[tuple[int, int], tuple[int, int, int, Placed]] = {}
        self.queue = queue
        self.last = -1

    def add(self, position: int, placed: Placed) -> None:
        """Take an access in, behind all others."""
        key = (placed.low, id(placed.touch.region))
        self.entries.pop(key, None)
        self.entries[key] = (position, placed.low, placed.high, placed)
        self.last = position

    def forget(self, before: int) -> None:
        """Drop the accesses of instructions in front of a position."""
        old = [key for key, _ in takewhile(lambda item: item[1][0] < before, self.entries.items())]
        for key in old:
            del self.entries[key]


class RaceDetector:
    """Vector clocks of all instructions, and the accesses that are not yet ordered behind all."""

    def __init__(self, program: Program, memories: Sequence[Memory]) -> None:
        self._program = program
        self._memories = memories
        self._lengths = [len(queue.instructions) for queue in program.queues]
        self._latest = [[0] * len(program.queues) for _ in program.queues]
        self._awaited = _awaited(program)
        self._reads: list[dict[int, _Log]] = [{} for _ in memories]
        self._writes: list[dict[int, _Log]] = [{} for _ in memories]
        self._off_chip = [memory.space is Space.DRAM for memory in memories]
        self._constants = _constant_ranges(program)
        self._overlaps = Overlaps()
        self._observed = 0

    def observe(self, queue: int, position: int, touched: Sequence[Placed]) -> None:
        """Take account of an instruction, after all that it waits for.

        Args:
            queue: Number of its queue.
            position: Its position there.
            touched: What it reads and writes.

        Raises:
            RaceError: It conflicts with an earlier one; names both, and the byte.
        """
        known = self._advance(queue, position)
        for placed in touched:
            if not self._is_constant(placed):
                self._check(placed, queue, position, known)
        self._observed += 1
        if self._observed % _FORGET_EVERY == 0:
            self._forget()

    def _advance(self, queue: int, position: int) -> list[int]:
        """Set the clock of an instruction's retirement and return it."""
        known = self._latest[queue]
        for wait in self._program.queues[queue].instructions[position].waits:
            if known[wait.queue] < wait.count:  # else what it waits for is known with all before it
                other = self._awaited[wait.queue][wait.count - 1]
                known = [a if a > b else b for a, b in zip(known, other, strict=True)]
        known[queue] = position + 1
        self._latest[queue] = known
        if position in self._awaited[queue]:
            self._awaited[queue][position] = tuple(known)
        return known

    def _check(self, placed: Placed, queue: int, position: int, known: list[int]) -> None:
        reads, writes = self._reads[placed.memory], self._writes[placed.memory]
        self._compare(writes, placed, queue, known)
        if placed.writes:
            self._compare(reads, placed, queue, known)
        logs = writes if placed.writes else reads
        log = logs.get(queue)
        if log is None:
            log = logs[queue] = _Log(queue)
        log.add(position, placed)

    def _compare(self, logs: dict[int, _Log], placed: Placed, queue: int, known: list[int]) -> None:
        """Compare an access with all concurrent ones in one direction."""
        for log in logs.values():
            if log.last >= known[log.queue] and log.queue != queue:
                self._compare_with(log, placed, known[log.queue])

    def _compare_with(self, log: _Log, placed: Placed, done: int) -> None:
        """Compare an access with those of another queue from position ``done`` on."""
        low, high = placed.low, placed.high
        for position, first, end, earlier in reversed(log.entries.values()):
            if position < done:
                break
            if first < high and low < end:
                byte = self._overlaps.common_byte(placed.touch, earlier.touch)
                if byte is not None:
                    self._report(placed, earlier, byte, (log.queue, position))

    def _report(self, placed: Placed, earlier: Placed, byte: int, place: tuple[int, int]) -> None:
        memory = self._memories[placed.memory]
        raise RaceError(
            f"race on byte {byte:#x} of {memory.name}: it {placed.touch.way}s what "
            f"{self._program.where(*place)} {'wrote' if earlier.writes else 'read'}, and no wait "
            "orders them"
        )

    def _forget(self) -> None:
        """Drop accesses that every instruction to come is ordered behind."""
        for queue, length in enumerate(self._lengths):
            known = [
                latest[queue]
                for other, latest in enumerate(self._latest)
                if other != queue and latest[other] < self._lengths[other]
            ]
            for logs in (*self._reads, *self._writes):
                if queue in logs:
                    logs[queue].forget(min(known, default=length))

    def _is_constant(self, placed: Placed) -> bool:
        """Whether a read lies in one constant, which nothing may write."""
        if placed.writes or not self._off_chip[placed.memory]:
            return False
        starts, ends = self._constants
        found = bisect_right(starts, placed.low) - 1
        return found >= 0 and placed.high <= ends[found]


def _awaited(program: Program) -> list[dict[int, tuple[int, ...]]]:
    """Return, per queue, the positions that others wait for, with arrays for their clocks."""
    found: list[dict[int, tuple[int, ...]]] = [{} for _ in program.queues]
    for queue in program.queues:
        for instruction in queue.instructions:
            for wait in instruction.waits:
                found[wait.queue][wait.count - 1] = ()
    return found


def _constant_ranges(program: Program) -> tuple[list[int], list[int]]:
    ranges = sorted(
        (symbol.address, symbol.address + symbol.type.bytes)
        for symbol in program.symbols
        if symbol.kind is SymbolKind.CONSTANT
    )
    return [start for start, _ in ranges], [end for _, end in ranges]
