"""Who held which addresses last, and until when."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stay:
    """A content of an address range.

    Attributes:
        begin: When all former contents of the range have been used [cycle].
        end: When its last use so far ends [cycle].
    """

    begin: int
    end: int


@dataclass(slots=True)
class AddressSpace:
    """One memory: address ranges with their latest content, ascending.

    Attributes:
        parts: First byte, byte past the last, content.
    """

    parts: list[tuple[int, int, Stay]] = field(default_factory=list[tuple[int, int, Stay]])

    def claim(self, low: int, high: int) -> Stay:
        """Give a range a new content, which begins when the old ones end."""
        begin = self.free_at(low, high)
        stay = Stay(begin, begin)
        kept: list[tuple[int, int, Stay]] = [(low, high, stay)]
        for start, stop, other in self.parts:
            kept += [
                (left, right, other)
                for left, right in ((start, min(stop, low)), (max(start, high), stop))
                if left < right
            ]
        self.parts = sorted(kept, key=lambda part: part[0])
        return stay

    def free_at(self, low: int, high: int) -> int:
        """Return when the last use of a range so far ends [cycle]."""
        return max(
            (stay.end for start, stop, stay in self.parts if start < high and low < stop),
            default=0,
        )

    def earliest(self, size: int, blocked: Iterable[tuple[int, int]], top: int) -> int | None:
        """Return the address of the room that is free first, ``None`` if there is none.

        Of equal ones the one in the tightest gap is taken, then the lowest.

        Args:
            size: Bytes that are needed.
            blocked: Ranges that must not be used.
            top: Size of the memory [byte].
        """
        options = [
            (self.free_at(address, address + size), high - low, address)
            for low, high in _gaps(blocked, top)
            for address in self._candidates(low, high, size)
        ]
        return min(options)[2] if options else None

    def _candidates(self, low: int, high: int, size: int) -> set[int]:
        """Return addresses in a gap that touch its edges or those of a content."""
        if high - low < size:
            return set()
        edges = {low, high - size}
        for start, stop, _ in self.parts:
            edges |= {start, stop - size}
        return {address for address in edges if low <= address <= high - size}


def _gaps(blocked: Iterable[tuple[int, int]], top: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between blocked ones."""
    low = 0
    for start, stop in sorted(blocked):
        if start > low:
            yield low, start
        low = max(low, stop)
    if low < top:
        yield low, top
