"""Pools whose windows lie side by side: what they read is put together to whole windows.

A pool of 2x2 behind a filter that makes 7 columns at a time works on 14, once both parts are there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....ir.graph import Graph, Op
from ....ir.operators.access import AxisMap, Box, size_of
from ....ir.operators.spec import Family
from ....ir.ops import aligned_part, operand_types, spec_of
from ....ir.tiles.graph import Range
from ....ir.workload import Dim

Size = tuple[int, int]
"""Rows and columns."""

_SINGLE = (1, 1)


def windows_of(graph: Graph, op: Op) -> Size | None:
    """Return the windows of a pool if they do not overlap and cover its operand.

    Args:
        graph: The network.
        op: The operator; ``None`` is returned for all others, and for pools of all rows.
    """
    if spec_of(op).family is not Family.POOL:
        return None
    (read,) = aligned_part(op, operand_types(op, graph.types)).reads
    shape, made = read.view.shape, op.result.type.shape
    fits = made[2] > 1 or shape[2] == 1
    fits = fits and all(map(_lie_side_by_side, read.axes, shape, made))
    return (read.axes[2].taps, read.axes[3].taps) if fits else None


def _lie_side_by_side(axis: AxisMap, extent: int, made: int) -> bool:
    """Whether windows along an axis do not overlap and cover the operand."""
    is_dense = axis.first == 0 and axis.dilation == 1
    return is_dense and axis.taps * made == extent and (made == 1 or axis.step == axis.taps)


def windows_together(graph: Graph, chain: Sequence[Op]) -> Size:
    """Return what one element of a chain's last result needs of its first one.

    Args:
        graph: The network.
        chain: The chain.
    """
    sizes = [_SINGLE, *(windows_of(graph, op) or _SINGLE for op in chain[1:])]
    rows, columns = map(math.prod, zip(*sizes, strict=True))
    return rows, columns


@dataclass(frozen=True)
class Windows:
    """What a chain's pools read, put together part by part; local to one stripe.

    Attributes:
        size: What one element of the chain's last result needs of its first one.
        made: Rows of the first one that the stripe makes.
        is_torn: Whether it makes them in parts that end within windows.
    """

    size: Size
    made: Range
    is_torn: bool = False
    _done: dict[tuple[str, Box], int] = field(default_factory=dict[tuple[str, Box], int])

    @classmethod
    def of(cls, graph: Graph, chain: Sequence[Op], parts: Sequence[Range]) -> "Windows":
        """Return those of a chain.

        Args:
            graph: The network.
            chain: The chain.
            parts: Rows of its first result, as the stripe makes them one after the other.
        """
        size = windows_together(graph, chain)
        made = Range(parts[0].start, parts[-1].stop)
        return cls(size, made, any(part.stop % size[0] for part in parts))

    def around(
        self, part: Mapping[Dim, Range], tile: Mapping[Dim, int], whole: Mapping[Dim, Range]
    ) -> Mapping[Dim, Range]:
        """Return whole windows around a part: the least that is made of whole tiles.

        Rows that are made in parts that end within windows are put together in the whole stripe.

        Args:
            part: Index ranges of a tile.
            tile: Extents of the nest's tiles; those at its end may be smaller.
            whole: What the nest makes.
        """
        if self.size == _SINGLE:
            return part
        pairs = zip((Dim.P, Dim.Q), self.size, strict=True)
        found = {dim: _around(part[dim], tile[dim], size, whole[dim]) for dim, size in pairs}
        return {**part, **found, Dim.P: self.made if self.is_torn else found[Dim.P]}

    def is_complete(self, pool: str, part: Box, whole: Box) -> bool:
        """Whether all of some windows is there, once a part of them is made.

        Args:
            pool: Name of the pool that reads them.
            part: The part, which was not made before.
            whole: The windows that it belongs to.
        """
        done = self._done.get((pool, whole), 0) + size_of(part)
        self._done[pool, whole] = done
        return done == size_of(whole)


def _around(part: Range, tile: int, window: int, whole: Range) -> Range:
    step = math.lcm(tile, window)
    start = whole.start + (part.start - whole.start) // step * step
    return Range(start, min(start + step, whole.stop))


def pooled(box: Box, size: Size) -> Box:
    """Return what a pool makes of whole windows.

    Args:
        box: The windows, along the four axes of an image.
        size: Of one window.
    """
    sides = zip(box[2:], size, strict=True)
    return (*box[:2], *(Range(axis.start // side, axis.stop // side) for axis, side in sides))
