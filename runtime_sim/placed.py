"""Touches with their place in the machine: which memory, and between which bytes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..ir.isa import Space
from .accesses import Touch, Way
from .machine import Memory


class Placed(NamedTuple):
    """A touch and where it lies.

    Attributes:
        touch: What is touched.
        memory: Number of its memory.
        low: First byte there.
        high: One past the last.
        writes: Whether it is written.
    """

    touch: Touch
    memory: int
    low: int
    high: int
    writes: bool


class Places:
    """Numbers all memories of a machine and places touches in them."""

    def __init__(self, memories: Mapping[tuple[Space, int], Memory]) -> None:
        self.memories = tuple(memories.values())
        self._numbers = {key: number for number, key in enumerate(memories)}
        self._sizes = [memory.bytes.size for memory in self.memories]

    def of(self, touched: Sequence[Touch]) -> list[Placed]:
        """Return touches with their places.

        Those that leave their memory, which trap where they are executed, and those of no byte
        are left out.
        """
        found: list[Placed] = []
        for touch in touched:
            access, region = touch.access, touch.region
            number = self._numbers.get((access.space, access.npu))
            if number is None or not region.lattices:
                continue
            low, high = access.address + region.low, access.address + region.high
            if low >= 0 and high <= self._sizes[number]:
                found.append(Placed(touch, number, low, high, touch.way is Way.WRITE))
        return found
