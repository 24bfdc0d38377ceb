"""Whether two strided accesses touch a byte in common, exactly."""

from typing import Any

import numpy as np

from .accesses import Touch
from .region import Lattice, Region


class Overlaps:
    """Answers, remembered by the two regions and how far apart they lie."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[int | None, Region, Region]] = {}
        """Regions are told apart by identity, which their being kept here makes theirs alone."""

    def common_byte(self, one: Touch, other: Touch) -> int | None:
        """Return the address of a byte that both touch, or ``None``; they lie in one memory."""
        distance = other.access.address - one.access.address
        key = (id(one.region), id(other.region), distance)
        found = self._known.get(key)
        if found is None:
            byte = _between(one.region, other.region, distance)
            found = self._known[key] = (byte, one.region, other.region)
        byte = found[0]
        return None if byte is None else one.access.address + byte


def _between(one: Region, other: Region, distance: int) -> int | None:
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
