"""Place tiles in an address range, making room by the furthest next use."""

from collections.abc import Callable
from dataclasses import dataclass, field

NEVER = 1 << 50
"""The next use of a tile that is not used again."""


@dataclass(slots=True)
class Stay:
    """A tile at an address since an event."""

    tile: int
    address: int
    bytes: int
    first_event: int
    last_event: int


@dataclass(slots=True)
class Room:
    """One address range and the tiles in it; local to one scheduling run.

    Attributes:
        base: First byte.
        size: Number of bytes.
        stays: The tiles that are there now, by tile.
    """

    base: int
    size: int
    stays: dict[int, Stay] = field(default_factory=dict[int, Stay])

    def find(
        self,
        size: int,
        *,
        high: bool,
        is_pinned: Callable[[int], bool],
        next_use: Callable[[int], int],
        ready: Callable[[int, int], int] = lambda address, size: 0,
    ) -> tuple[int, tuple[Stay, ...]] | None:
        """Return an address and who must leave for it; ``None`` where pinned tiles forbid it.

        Room that is free, or taken by tiles that are not used again, is preferred, and of that
        what is ready first; else the window of tiles whose earliest next use is furthest away,
        then the one that loses the fewest bytes.

        Args:
            size: Bytes that are needed.
            high: Whether to place at the high end of what is chosen.
            is_pinned: Whether a tile must stay.
            next_use: When a tile is used next; ``NEVER`` is furthest.
            ready: When all that touched an address range so far is done.
        """
        if size > self.size:
            return None
        ordered = sorted(self.stays.values(), key=lambda stay: stay.address)
        options: list[tuple[int, int, int, int, int, tuple[Stay, ...]]] = []
        for first in range(len(ordered) + 1):
            start = (
                self.base if first == 0 else ordered[first - 1].address + ordered[first - 1].bytes
            )
            leaving: list[Stay] = []
            for last in range(first, len(ordered) + 1):
                stop = self.base + self.size if last == len(ordered) else ordered[last].address
                if stop - start >= size:
                    soonest = min((next_use(stay.tile) for stay in leaving), default=NEVER)
                    lost = sum(stay.bytes for stay in leaving)
                    address = stop - size if high else start
                    wait = ready(address, size) if soonest == NEVER else 0
                    options.append((-soonest, wait, lost, stop - start, address, tuple(leaving)))
                    break
                if last == len(ordered) or is_pinned(ordered[last].tile):
                    break
                leaving.append(ordered[last])
        if not options:
            return None
        _, _, _, _, address, gone = min(options, key=lambda option: option[:5])
        return address, tuple(
            stay
            for stay in gone
            if stay.address < address + size and address < stay.address + stay.bytes
        )
