"""Where the tiles of one operator lie in one memory: as it has them, mirrored, or moved together.

    0    a   b      size        0    b   a      size        0  a   b        size
    |    [--][---]     |   or   |    [---][--]     |   or   |  [--][---]       |   ...

Tiles of one operator fit together in the order of its events, and so they do mirrored, or moved
together to either end of what they may use. Which way is better depends on what the operators
before left where. A tile may also lie elsewhere by itself, beside all those that come while it is
there: then these still find their places.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accnn.ir.tiles.events import Placement
from accnn.ir.tiles.touches import Accesses
from tests.passes.scheduling.across.plain.address_space import AddressSpace, Ints, SpaceKey


@dataclass(frozen=True)
class PlacedTile:
    """A tile of an operator whose schedule is not joined with others yet.

    Attributes:
        item: As it was placed.
        size: What it occupies [byte].
        start: When it first needs its place there [cycle].
    """

    item: Placement
    size: int
    start: int


@dataclass(frozen=True)
class Layout:
    """Tiles of one operator in one memory.

    Attributes:
        tiles: Those that have a place there, by their first event.
        is_mirrored: Whether they are turned around in the range that they take.
        shift: By how much they are moved together [byte].
    """

    tiles: tuple[PlacedTile, ...]
    is_mirrored: bool = False
    shift: int = 0

    def place(self, item: Placement, size: int) -> tuple[int, int]:
        """Return the first byte of a tile, and the one past its last.

        Args:
            item: As it was placed.
            size: What it occupies [byte].
        """
        address = item.address
        if self.is_mirrored:
            address = sum(self._range) - address - size
        return address + self.shift, address + self.shift + size

    def beside(self, item: Placement) -> Ints:
        """Return the places of the tiles that come while a tile is there ``[tiles, 2]``.

        Args:
            item: The tile as it was placed.
        """
        low = bisect_left(self._begins, item.first_event)
        high = bisect_right(self._begins, item.last_event)
        own = next((k for k in range(low, high) if self.tiles[k].item is item), high)
        return np.concatenate((self._places[low:own], self._places[own + 1 : high]))

    @cached_property
    def _places(self) -> Ints:
        """Where all tiles lie; thousands may come while one is there."""
        places = [self.place(placed.item, placed.size) for placed in self.tiles]
        return np.array(places, np.int64).reshape(-1, 2)

    @cached_property
    def _begins(self) -> tuple[int, ...]:
        return tuple(placed.item.first_event for placed in self.tiles)

    @cached_property
    def _range(self) -> tuple[int, int]:
        ends = (placed.item.address + placed.size for placed in self.tiles)
        return min(placed.item.address for placed in self.tiles), max(ends)

    def wait(self, space: AddressSpace) -> tuple[int, int]:
        """Return how late the operator is for its places, and how long its tiles wait for them.

        Those count that come before the first one leaves: when the operator could begin as it did,
        so that each of them has its place in time, and the sum of the cycles from which on they
        have them.

        Args:
            space: The memory.
        """
        first = min(placed.item.last_event for placed in self.tiles)
        early = [placed for placed in self.tiles if placed.item.first_event <= first]
        free = [space.free_at(*self.place(placed.item, placed.size)) for placed in early]
        late = (begin - placed.start for begin, placed in zip(free, early, strict=True))
        return max(late), sum(free)

    def ways(self, within: tuple[int, int]) -> Iterator["Layout"]:
        """Yield the tiles as they lie, mirrored, and both at either end of a range.

        Args:
            within: First byte that they may use, and the one past the last; if they use others,
                they are only mirrored.
        """
        low, high = self._range
        fits = within[0] <= low and high <= within[1]
        shifts = {0, within[0] - low, within[1] - high} if fits else {0}
        for shift in sorted(shifts, key=lambda shift: (abs(shift), shift)):
            yield Layout(self.tiles, shift=shift)
            yield Layout(self.tiles, is_mirrored=True, shift=shift)


def layouts(accesses: Accesses) -> Mapping[tuple[int, SpaceKey], Layout]:
    """Return how the tiles of a schedule lie, by operator and memory.

    Args:
        accesses: Of the schedule, its operators in turn.
    """
    schedule, found = accesses.schedule, dict[tuple[int, SpaceKey], list[PlacedTile]]()
    for item in sorted(schedule.placements, key=lambda item: item.first_event):
        tile, first = schedule.graph.tiles[item.tile], schedule.events[item.first_event]
        placed = found.setdefault((first.step, (tile.space, item.npu)), [])
        placed.append(PlacedTile(item, tile.occupied, first.start))
    return {key: Layout(tuple(tiles)) for key, tiles in found.items()}
