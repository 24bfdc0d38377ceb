"""Find two accesses to one byte, at least one a write, that no wait orders. Exact per byte.

Every instruction has a vector clock: how many instructions of each queue are known to have
retired before it, from its own queue's order and its waits, transitively. The shadow of a memory
keeps, per queue and byte, the last instruction that wrote it and the last that read it. Since a
queue is in order, an earlier access of it is ordered before all that the last one is ordered
before; so the comparison with the last one decides.

What is found does not depend on the order in which instructions were executed: of two unordered
accesses one comes second, and finds the other.

References:
    Flanagan, Freund: FastTrack: efficient and precise dynamic race detection, PLDI 2009.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir.errors import RaceError
from ..ir.isa import Access, Space
from ..ir.program import Program, SymbolKind
from .accesses import Touch, Way
from .machine import Machine, Memory
from .region import Lattice

_STAMP = np.dtype(np.int32)


@dataclass(slots=True)
class _History:
    """The accesses of one queue to one memory, in one direction.

    Attributes:
        stamps: Per byte, the count of the queue's instructions up to the last that touched it.
        latest: The greatest of all.
    """

    stamps: npt.NDArray[np.int32]
    latest: int = 0


@dataclass(slots=True)
class _Shadow:
    """The history of one memory, by queue."""

    size: int
    writes: dict[int, _History] = field(default_factory=dict[int, _History])
    reads: dict[int, _History] = field(default_factory=dict[int, _History])


class RaceDetector:
    """Vector clocks of all instructions and shadows of all memories."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self._program = program
        self._memories = machine.memories
        queues = len(program.queues)
        self._clocks = [
            np.zeros((len(queue.instructions), queues), _STAMP) for queue in program.queues
        ]
        self._shadows: dict[tuple[Space, int], _Shadow] = {}
        self._constants = _constant_ranges(program)

    def observe(self, queue: int, position: int, touched: Sequence[Touch]) -> None:
        """Take account of an instruction, after all that it waits for.

        Args:
            queue: Number of its queue.
            position: Its position there.
            touched: What it reads and writes.

        Raises:
            RaceError: It conflicts with an earlier one; names both, and the byte.
        """
        known = self._advance(queue, position)
        for touch in touched:
            if touch.region.lattices and not self._is_constant(touch):
                self._check(touch, queue, position, known)

    def _advance(self, queue: int, position: int) -> list[int]:
        """Set the clock of an instruction's retirement and return it."""
        clocks = self._clocks[queue]
        clock = clocks[position]
        if position:
            clock[:] = clocks[position - 1]
        for wait in self._program.queues[queue].instructions[position].waits:
            np.maximum(clock, self._clocks[wait.queue][wait.count - 1], out=clock)
        clock[queue] = position + 1
        return clock.tolist()

    def _check(self, touch: Touch, queue: int, position: int, known: list[int]) -> None:
        key = (touch.access.space, touch.access.npu)
        shadow = self._shadows.get(key)
        if shadow is None:
            shadow = self._shadows[key] = _Shadow(self._memories[key].bytes.size)
        self._compare(shadow.writes, Way.WRITE, touch, queue, known)
        own = shadow.reads
        if touch.way is Way.WRITE:
            self._compare(shadow.reads, Way.READ, touch, queue, known)
            own = shadow.writes
        history = own.get(queue)
        if history is None:
            history = own[queue] = _History(np.zeros(shadow.size, _STAMP))
        history.latest = position + 1
        for lattice in touch.region.lattices:
            _bytes(history.stamps, touch.access, lattice)[...] = position + 1

    def _compare(
        self,
        histories: dict[int, _History],
        way: Way,
        touch: Touch,
        queue: int,
        known: list[int],
    ) -> None:
        for other, history in histories.items():
            if other == queue or history.latest <= known[other]:
                continue
            for lattice in touch.region.lattices:
                stamps = _bytes(history.stamps, touch.access, lattice)
                if stamps.max() > known[other]:
                    first = np.unravel_index(int(np.argmax(stamps > known[other])), stamps.shape)
                    self._report(way, touch, lattice, other, first, stamps)

    def _report(
        self,
        way: Way,
        touch: Touch,
        lattice: Lattice,
        other: int,
        index: tuple[Any, ...],
        stamps: npt.NDArray[np.int32],
    ) -> None:
        offset = sum(int(i) * s for i, s in zip(index, lattice.strides, strict=True))
        byte = touch.access.address + lattice.offset + offset
        memory: Memory = self._memories[touch.access.space, touch.access.npu]
        first = self._program.where(other, int(stamps[index]) - 1)
        raise RaceError(
            f"race on byte {byte:#x} of {memory.name}: it {touch.way}s what {first} "
            f"{'wrote' if way is Way.WRITE else 'read'}, and no wait orders them"
        )

    def _is_constant(self, touch: Touch) -> bool:
        """Whether a read lies in one constant, which nothing may write."""
        if touch.access.space is not Space.DRAM or touch.way is Way.WRITE:
            return False
        starts, ends = self._constants
        low = touch.access.address + touch.region.low
        found = bisect_right(starts, low) - 1
        return found >= 0 and touch.access.address + touch.region.high <= ends[found]


def _bytes(stamps: npt.NDArray[np.int32], access: Access, lattice: Lattice) -> Any:
    start = 4 * (access.address + lattice.offset)
    strides = tuple(4 * stride for stride in lattice.strides)
    return np.ndarray(lattice.shape, _STAMP, stamps, start, strides)


def _constant_ranges(program: Program) -> tuple[list[int], list[int]]:
    ranges = sorted(
        (symbol.address, symbol.address + symbol.type.bytes)
        for symbol in program.symbols
        if symbol.kind is SymbolKind.CONSTANT
    )
    return [start for start, _ in ranges], [end for _, end in ranges]
