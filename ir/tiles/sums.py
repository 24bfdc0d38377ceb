"""When the partial sums of accumulator tiles are there, element by element.

Several operations may each work on a part of one accumulator tile. A part holds nothing that can
be added to until an operation clears it, whatever became of the other parts; where the tile
leaves the chip, those parts that hold sums leave and come back. The elements of a tile that was
only added to as a whole are alike, so that one stands for all.
"""

from dataclasses import dataclass, field
from types import EllipsisType
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import VerifyError
from .contents import NEVER
from .events import Event, Placement
from .graph import Range, Tile, TileGraph

_Times: TypeAlias = npt.NDArray[np.int64]
_Flags: TypeAlias = npt.NDArray[np.bool_]
_Where: TypeAlias = tuple[slice, ...] | EllipsisType
_Key = TypeVar("_Key")
_Element = TypeVar("_Element", np.int64, np.bool_)

_NOBODY = -1


@dataclass
class TileSums:
    """Follows the content of accumulator tiles; local to one verification.

    Attributes:
        graph: Tiles and operations.
    """

    graph: TileGraph
    _on_chip: dict[Placement, _Times] = field(default_factory=dict[Placement, _Times])
    _adders: dict[Placement, _Times] = field(default_factory=dict[Placement, _Times])
    _spilled: dict[int, _Times] = field(default_factory=dict[int, _Times])
    _cleared: dict[int, _Flags] = field(default_factory=dict[int, _Flags])

    def add(self, place: Placement, part: tuple[Range, ...], event: Event) -> None:
        """Add products to a part of a tile.

        An array adds in the order of its queue, so that what it has itself added last may still be
        on its way.

        Args:
            place: Where the tile is.
            part: What is added to, one range for each axis.
            event: Who adds.

        Raises:
            VerifyError: The part is cleared although it holds sums, or is added to while it is
                not cleared or not there.
        """
        tile = self.graph.tiles[place.tile]
        where = _within(tile, part)
        cleared = _elements(self._cleared, place.tile, tile, where, np.bool_(False))
        if event.clear and cleared[where].any():
            raise VerifyError(f"clears what holds sums: tile {place.tile}")
        if not event.clear and not cleared[where].all():
            raise VerifyError(f"adds to what was not cleared: tile {place.tile}")
        ready = _elements(self._on_chip, place, tile, where, np.int64(NEVER))
        adders = _elements(self._adders, place, tile, where, np.int64(_NOBODY))
        is_there = (ready[where] <= event.start) | (adders[where] == event.index)
        if not event.clear and not is_there.all():
            raise VerifyError(f"adds to tile {place.tile} while it is not there")
        cleared[where] = True
        ready[where] = event.end
        adders[where] = event.index
        self._spilled.pop(place.tile, None)  # no longer what the sums are

    def ready(self, place: Placement) -> int:
        """Return when all sums of a tile are there; ``NEVER`` if one is not [cycle]."""
        return int(self._on_chip[place].max()) if place in self._on_chip else NEVER

    def finish(self, place: Placement) -> None:
        """Forget a tile; nothing is added to it any more."""
        self._on_chip.pop(place, None)
        self._adders.pop(place, None)

    def spill(self, place: Placement, start: int, end: int) -> bool:
        """Write off what a tile holds; return whether all sums so far were there.

        Args:
            place: Where the tile is.
            start: When the transfer begins [cycle].
            end: When it ends [cycle].
        """
        cleared = self._cleared.get(place.tile)
        if cleared is None or place not in self._on_chip:
            return False
        self._spilled[place.tile] = np.where(cleared, end, NEVER)
        return bool((~cleared | (self._on_chip[place] <= start)).all())

    def retrieve(self, place: Placement, start: int, end: int) -> bool:
        """Bring back what was spilled; return whether it was off chip by then.

        Args:
            place: Where the tile comes to.
            start: When the transfer begins [cycle].
            end: When it ends [cycle].
        """
        spilled = self._spilled.get(place.tile)
        if spilled is None or int(spilled.min()) > start:
            return False
        self._on_chip[place] = np.where(spilled < NEVER, end, NEVER)
        return True


def _within(tile: Tile, part: tuple[Range, ...]) -> _Where:
    """Return where a part lies in the elements of a tile."""
    if part == tile.box:
        return ...
    return tuple(
        slice(inner.start - outer.start, inner.stop - outer.start)
        for inner, outer in zip(part, tile.box, strict=True)
    )


def _elements(
    kept: dict[_Key, npt.NDArray[_Element]], key: _Key, tile: Tile, where: _Where, first: _Element
) -> npt.NDArray[_Element]:
    """Return what is kept of a tile: of all its elements, or of one while all are alike.

    Args:
        kept: What is kept.
        key: Of the tile.
        tile: The tile.
        where: Which elements may come to differ from the others.
        first: What each element is at first.
    """
    if key not in kept:
        kept[key] = np.full((1,) * len(tile.box), first)
    if where is not ... and kept[key].shape != tile.shape:
        kept[key] = np.broadcast_to(kept[key], tile.shape).copy()
    return kept[key]
