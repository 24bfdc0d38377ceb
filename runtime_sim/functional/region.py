"""Which bytes an access touches, as lattices relative to its address."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, product

from ...ir.errors import SimulationError
from ...ir.isa.instructions import Access, Window


@dataclass(frozen=True, slots=True)
class Lattice:
    """Bytes at ``offset + sum(index * stride)``.

    Attributes:
        offset: Of the lowest byte, relative to the access's address.
        shape: Extents, outermost first.
        strides: Positive byte strides, as many as extents.
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_dense(self) -> bool:
        """Whether it is bytes in a row."""
        return self.strides == (1,)

    @property
    def end(self) -> int:
        """One past the highest byte."""
        reach = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset + reach + 1


@dataclass(frozen=True)
class ByteRegion:
    """The union of lattices; empty if there are none."""

    lattices: tuple[Lattice, ...]

    @cached_property
    def low(self) -> int:
        """Lowest byte."""
        return min((lattice.offset for lattice in self.lattices), default=0)

    @cached_property
    def high(self) -> int:
        """One past the highest byte."""
        return max((lattice.end for lattice in self.lattices), default=0)

    @cached_property
    def bytes(self) -> int:
        """Bytes touched; those that loops meet twice count twice, repeats (stride 0) once."""
        return sum(math.prod(lattice.shape) for lattice in self.lattices)


def has_form(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether an access has one stride per loop and every loop runs."""
    return len(shape) == len(strides) and bool(shape) and min(shape) >= 1


def check_form(access: Access, shape: tuple[int, ...]) -> None:
    """Check that an access has one stride per loop and that every loop runs.

    Raises:
        SimulationError: It does not.
    """
    if has_form(shape, access.strides):
        return
    where = f"{access.space}:{access.address:#x}"
    if len(shape) != len(access.strides):
        raise SimulationError(
            f"access to {where} has {len(access.strides)} strides for {len(shape)} loops"
        )
    raise SimulationError(f"access to {where} has extents {shape}")


@lru_cache(maxsize=1 << 16)
def strided_region(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> ByteRegion:
    """Return the bytes of a strided access to elements of ``size`` bytes.

    Args:
        shape: Extents of the loops.
        strides: Of each loop [byte].
        size: Of one element [byte].
    """
    return ByteRegion((_lattice(0, tuple(zip(shape, strides, strict=True)), size),))


@lru_cache(maxsize=1 << 16)
def window_region(
    leading: tuple[int, ...],
    outputs: tuple[int, int],
    taps: tuple[int, int],
    window: Window,
    strides: tuple[int, ...],
    size: int,
) -> ByteRegion:
    """Return the bytes that sliding windows touch, padding excluded.

    Args:
        leading: Extents of the loops before row and column.
        outputs: Output rows and columns.
        taps: Taps, vertical and horizontal.
        window: Geometry.
        strides: Byte strides of the leading loops, the row and the column.
        size: Bytes of one element.
    """
    rows = progressions(outputs[0], taps[0], window, 0)
    columns = progressions(outputs[1], taps[1], window, 1)
    *outer, row, column = strides
    lattices: list[Lattice] = []
    for (r0, rn, rs), (c0, cn, cs) in product(rows, columns):
        loops = (*zip(leading, outer, strict=True), (rn, rs * row), (cn, cs * column))
        lattices.append(_lattice(r0 * row + c0 * column, loops, size))
    return ByteRegion(tuple(lattices))


def progressions(outputs: int, taps: int, window: Window, axis: int) -> list[tuple[int, int, int]]:
    """Return the rows (axis 0) or columns that windows touch as (first, count, step) triples.

    Args:
        outputs: Number of windows.
        taps: Of a window.
        window: Geometry.
        axis: 0 for rows, 1 for columns.
    """
    step, dilation = window.stride[axis], window.dilation[axis]
    before, size = ((window.top, window.rows), (window.left, window.columns))[axis]
    by_tap = [
        [line for p in range(outputs) if 0 <= (line := p * step + r * dilation - before) < size]
        for r in range(taps)
    ]
    union = sorted({line for lines in by_tap for line in lines})
    if len({b - a for a, b in pairwise(union)}) <= 1:
        return [_triple(union)] if union else []
    return [_triple(lines) for lines in by_tap if lines]


def _triple(lines: Sequence[int]) -> tuple[int, int, int]:
    return lines[0], len(lines), lines[1] - lines[0] if len(lines) > 1 else 1


def _lattice(offset: int, loops: Sequence[tuple[int, int]], size: int) -> Lattice:
    """Drop loops that do not move, turn negative strides round, merge contiguous loops."""
    offset += sum((n - 1) * stride for n, stride in loops if stride < 0)
    moving = sorted(((abs(stride), n) for n, stride in loops if n > 1 and stride), reverse=True)
    merged: list[tuple[int, int]] = [(1, size)]
    for stride, n in reversed(moving):
        inner_stride, inner_n = merged[-1]
        if stride == inner_stride * inner_n:
            merged[-1] = (inner_stride, inner_n * n)
        else:
            merged.append((stride, n))
    merged.reverse()
    return Lattice(offset, tuple(n for _, n in merged), tuple(stride for stride, _ in merged))
