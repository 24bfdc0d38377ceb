"""Where the tiles of one operator lie in one memory: as it has them, or turned around.

    0      a   b      size            0      b   a      size
    |      [--][---]  |       ->      |  [---][--]      |

Tiles of one operator fit together in the order of its events, and so they do mirrored. Which way
is better depends on what the operators before left where. A tile may also lie elsewhere by itself,
beside all those that come while it is there: then these still find their places.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....ir.tiles.events import Placement
from ....ir.tiles.touches import Accesses
from ..engine.address_space import AddressSpace, SpaceKey

Ranges = Sequence[tuple[int, int]]
"""First bytes, and those past the last."""


@dataclass(frozen=True)
class Layout:
    """Tiles of one operator in one memory.

    Attributes:
        items: The tiles as they were placed, by their first event, and the bytes that they occupy.
        turn: What an address and the mirrored end of its tile add up to; ``None`` leaves all tiles
            where they were [byte].
    """

    items: tuple[tuple[Placement, int], ...]
    turn: int | None = None

    def place(self, item: Placement, size: int) -> tuple[int, int]:
        """Return the first byte of a tile, and the one past its last.

        Args:
            item: As it was placed.
            size: What it occupies [byte].
        """
        address = item.address if self.turn is None else self.turn - item.address - size
        return address, address + size

    def beside(self, item: Placement) -> Iterator[tuple[int, int]]:
        """Yield the places of the tiles that come while a tile is there.

        Args:
            item: The tile as it was placed.
        """
        low = bisect_left(self._begins, item.first_event)
        high = bisect_right(self._begins, item.last_event)
        for other, size in self.items[low:high]:
            if other is not item:
                yield self.place(other, size)

    @cached_property
    def _begins(self) -> tuple[int, ...]:
        return tuple(item.first_event for item, _ in self.items)

    @property
    def _range(self) -> tuple[int, int]:
        ends = (item.address + size for item, size in self.items)
        return min(item.address for item, _ in self.items), max(ends)

    def wait(self, space: AddressSpace) -> int:
        """Return how long all tiles wait for their places that come before the first one leaves.

        Args:
            space: The memory.
        """
        first = min(item.last_event for item, _ in self.items)
        early = (pair for pair in self.items if pair[0].first_event <= first)
        return sum(space.free_at(*self.place(*pair)) for pair in early)

    def mirrored(self, within: tuple[int, int]) -> "Layout":
        """Return the tiles turned around in a range, or in their own if that is no part of it.

        Args:
            within: First byte that they may use, and the one past the last.
        """
        low, high = self._range
        fits = within[0] <= low and high <= within[1]
        return Layout(self.items, sum(within) if fits else low + high)


def layouts(accesses: Accesses) -> Mapping[tuple[int, SpaceKey], Layout]:
    """Return how the tiles of a schedule lie, by operator and memory.

    Args:
        accesses: Of the schedule, its operators in turn.
    """
    schedule, found = accesses.schedule, dict[tuple[int, SpaceKey], list[tuple[Placement, int]]]()
    for item in sorted(schedule.placements, key=lambda item: item.first_event):
        tile = schedule.graph.tiles[item.tile]
        step = schedule.events[item.first_event].step
        key = step, (tile.space, item.npu)
        found.setdefault(key, []).append((item, tile.occupied))
    return {key: Layout(tuple(items)) for key, items in found.items()}
