"""Place tiles in an address range, making space by the furthest next use."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass

NEVER = 1 << 50
"""The next use of a tile that is not used again."""

AT_ONCE = -1
"""The next use of a tile that may not leave."""


@dataclass(slots=True)
class Occupant:
    """A tile at an address.

    Attributes:
        tile: Number of the tile.
        address: First byte.
        bytes: Size [byte].
        next_use: Position in the order of operations at which it is needed next, or ``NEVER``, or
            ``AT_ONCE``.
        is_result: Whether it is an output or a sum.
        first_event: The event that brought it; -1 before there is one.
        last_event: The event that touched it last; -1 before there is one.
    """

    tile: int
    address: int
    bytes: int
    next_use: int
    is_result: bool = False
    first_event: int = -1
    last_event: int = -1


def _address(occupant: Occupant) -> int:
    return occupant.address


class Allocator:
    """One address range and the tiles in it; local to one scheduling run.

    Attributes:
        base: First byte.
        size: Number of bytes.
        occupants: The tiles that are there now, by tile.
    """

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self.occupants: dict[int, Occupant] = {}
        self._ordered: list[Occupant] = []

    def add(self, occupant: Occupant) -> None:
        """Add an occupant, at free addresses."""
        self.occupants[occupant.tile] = occupant
        insort(self._ordered, occupant, key=_address)

    def remove(self, occupant: Occupant) -> None:
        """Remove an occupant."""
        del self.occupants[occupant.tile]
        del self._ordered[bisect_left(self._ordered, occupant.address, key=_address)]

    def between(self, low: int, high: int) -> Iterator[Occupant]:
        """Yield the occupants that overlap an address range."""
        position = max(0, bisect_right(self._ordered, low, key=_address) - 1)
        while position < len(self._ordered) and self._ordered[position].address < high:
            occupant = self._ordered[position]
            if occupant.address + occupant.bytes > low:
                yield occupant
            position += 1

    def find(
        self,
        size: int,
        *,
        high: bool,
        horizon: int,
        ready: Callable[[int, int], int] = lambda address, size: 0,
    ) -> tuple[int, tuple[Occupant, ...]] | None:
        """Return an address and who must leave for it; ``None`` where pinned tiles forbid it.

        Allocator that is free, or taken by tiles that are not used again, is preferred, and of that
        what is ready first; else the window of tiles whose earliest next use is furthest away,
        then the one that loses the fewest bytes.

        Args:
            size: Bytes that are needed.
            high: Whether to place at the high end of what is chosen.
            horizon: Tiles that are used up to then are pinned: they remain.
            ready: When all that touched an address range so far is done.
        """
        if size > self.size:
            return None
        best: tuple[tuple[int, int, int, int, int], tuple[Occupant, ...]] | None = None
        for start, stop, leaving, soonest in self._windows(size, horizon):
            if best is not None and -soonest > best[0][0]:
                continue
            lost = sum(occupant.bytes for occupant in leaving)
            address = stop - size if high else start
            wait = ready(address, size) if soonest == NEVER else 0
            rating = -soonest, wait, lost, stop - start, address
            if best is None or rating < best[0]:
                best = rating, leaving
        if best is None:
            return None
        address = best[0][-1]
        return address, tuple(
            occupant
            for occupant in best[1]
            if occupant.address < address + size and address < occupant.address + occupant.bytes
        )

    def _windows(
        self, size: int, horizon: int
    ) -> Iterator[tuple[int, int, tuple[Occupant, ...], int]]:
        """Yield, for each start, the shortest window that is large enough and has no pinned tile.

        Each has its first byte, its end, the tiles in it, and the earliest of their next uses.
        """
        ordered = self._ordered
        uses = [occupant.next_use for occupant in ordered]
        starts = [self.base, *(occupant.address + occupant.bytes for occupant in ordered)]
        stops = [*(occupant.address for occupant in ordered), self.base + self.size]
        last = 0
        for first, start in enumerate(starts):
            last = max(last, first)
            while last < len(ordered) and stops[last] - start < size and uses[last] > horizon:
                last += 1
            if stops[last] - start >= size:
                soonest = min(uses[first:last], default=NEVER)
                yield start, stops[last], tuple(ordered[first:last]), soonest
