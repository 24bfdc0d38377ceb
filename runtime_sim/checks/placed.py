"""Touches with their place in the machine: which memory, and between which bytes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...ir.isa.instructions import Space
from ..accesses import ByteTouch, Way
from ..functional.machine import Memory

_NOWHERE = -1


class Placed(NamedTuple):
    """A touch and where it lies.

    Attributes:
        touch: What is touched.
        memory: Number of its memory.
        low: First byte there.
        high: One past the last.
        writes: Whether it is written.
    """

    touch: ByteTouch
    memory: int
    low: int
    high: int
    writes: bool


class Places:
    """Numbers all memories of a machine, and all that is touched in them.

    Touches of the same bytes in the same way are one: programs come back to the same tiles again
    and again.

    Attributes:
        memories: Of the machine.
        touched: What was touched so far, each once; its number is its place here.
    """

    def __init__(self, memories: Mapping[tuple[Space, int], Memory]) -> None:
        self.memories = tuple(memories.values())
        self.touched: list[Placed] = []
        self._numbers = {key: number for number, key in enumerate(memories)}
        self._sizes = [memory.bytes.size for memory in self.memories]
        self._known: dict[tuple[Space, int, int, int, Way], tuple[int, ByteTouch]] = {}
        """Regions are told apart by identity, which their being kept here makes theirs alone."""

    def of(self, touched: Sequence[ByteTouch]) -> list[int]:
        """Return the numbers of touches.

        Those that leave their memory, which trap where they are executed, and those of no byte
        are left out.
        """
        known = self._known
        found: list[int] = []
        for touch in touched:
            access, region, way = touch
            key = (access.space, access.npu, access.address, id(region), way)
            entry = known.get(key)
            if entry is None:
                entry = known[key] = (self._place(touch), touch)
            if entry[0] != _NOWHERE:
                found.append(entry[0])
        return found

    def _place(self, touch: ByteTouch) -> int:
        """Return the number of a touch that is new."""
        access, region = touch.access, touch.region
        memory = self._numbers.get((access.space, access.npu))
        low, high = access.address + region.low, access.address + region.high
        if memory is None or not region.lattices or low < 0 or high > self._sizes[memory]:
            return _NOWHERE
        self.touched.append(Placed(touch, memory, low, high, touch.way is Way.WRITE))
        return len(self.touched) - 1
