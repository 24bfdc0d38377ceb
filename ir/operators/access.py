"""Access maps: which box of each operand an operator reads for a box of its result.

Tensors are seen under *views*: axes of one's own choosing, each with its extent and its stride, so
that a transposition is another order of axes and a depth-to-space a split of them. Along every axis
an operand's indices are an affine function of the result's. Tiles, transfers, instructions,
windows, the bytes that pass a port and the meaning of moves all follow from these maps.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ..tiles.graph import Range, dense_strides
from ..tiles.regions import Region
from .elementary import Array

Box: TypeAlias = tuple[Range, ...]

MOST_LOOPS = 6
"""Loops of one instruction or transfer."""


def whole(shape: tuple[int, ...]) -> Box:
    """Return the box that covers a tensor."""
    return tuple(Range(0, extent) for extent in shape)


def size_of(box: Box) -> int:
    """Return the number of elements of a box."""
    return math.prod(axis.size for axis in box)


@dataclass(frozen=True, slots=True)
class View:
    """All elements of a tensor under axes of one's own choosing.

    Attributes:
        shape: Extents.
        strides: Distance along each axis [element].
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def dense(cls, shape: Iterable[int]) -> "View":
        """Return the view whose axes run row by row."""
        shape = tuple(shape)
        return cls(shape, dense_strides(shape))

    def permuted(self, perm: Iterable[int]) -> "View":
        """Return the view with its axes in another order: axis ``i`` is axis ``perm[i]``."""
        order = tuple(perm)
        return View(
            tuple(self.shape[axis] for axis in order), tuple(self.strides[axis] for axis in order)
        )

    def region(self, box: Box) -> Region:
        """Return the elements of a box."""
        axes = tuple(zip(box, self.strides, strict=True))
        return Region(
            sum(axis.start * stride for axis, stride in axes),
            tuple(axis.size for axis in box),
            tuple(axis.step * stride for axis, stride in axes),
        )


@dataclass(frozen=True, slots=True)
class AxisMap:
    """Indices ``first + step * i + dilation * t`` for ``t < taps`` where the result has ``i``.

    Those outside of the operand are padding, which is not read.

    Attributes:
        first: Index for the result's index 0.
        step: What the next index of the result adds; 0 repeats (broadcast), below 0 reverses.
        taps: How many indices one of the result needs.
        dilation: Distance of the taps.
    """

    first: int = 0
    step: int = 1
    taps: int = 1
    dilation: int = 1

    def range(self, outputs: Range, extent: int) -> Range:
        """Return the range from the first to the last index within ``extent``."""
        ends = [self.first + i * self.step for i in (outputs.start, outputs.stop - 1)]
        reach = (self.taps - 1) * self.dilation + 1
        last = max(ends) + reach
        return Range(min(max(min(ends), 0), extent - 1), max(1, min(last, extent)))

    def lines(self, outputs: Range, extent: int) -> int:
        """Return how many indices are read, padding left out.

        Where they do not lie evenly, each tap reads its own.
        """
        if self.taps == 1:
            return outputs.size if self.step else 1
        if not self.step and not self.first:
            return self.taps
        by_tap = [
            {
                line
                for output in range(outputs.start, outputs.stop)
                if 0 <= (line := output * self.step + tap * self.dilation + self.first) < extent
            }
            for tap in range(self.taps)
        ]
        union = sorted(set[int]().union(*by_tap))
        is_even = len({after - before for before, after in pairwise(union)}) <= 1
        return len(union) if is_even else sum(map(len, by_tap))


SAME = AxisMap()
"""The operand's index is the result's."""

ONCE = AxisMap(step=0)
"""The operand has one index, which is read for all of the result's."""


@dataclass(frozen=True, slots=True)
class Read:
    """What an operator reads of one operand.

    Attributes:
        operand: Position of the operand.
        view: The operand, with one axis for each of the result's view.
        axes: The map along each axis.
    """

    operand: int
    view: View
    axes: tuple[AxisMap, ...]

    def box(self, box: Box) -> Box:
        """Return the box that a box of the result needs."""
        return tuple(
            axis.range(outputs, extent)
            for axis, outputs, extent in zip(self.axes, box, self.view.shape, strict=True)
        )

    def elements(self, box: Box) -> int:
        """Return how many elements are read for a box of the result; repeated ones count once."""
        return math.prod(
            axis.lines(outputs, extent)
            for axis, outputs, extent in zip(self.axes, box, self.view.shape, strict=True)
        )

    def strides(self, strides: Sequence[int]) -> tuple[int, ...]:
        """Return what one step of the result is in the operand, given its own strides."""
        return tuple(size * axis.step for size, axis in zip(strides, self.axes, strict=True))

    def back(self, box: Box, strides: Sequence[int]) -> int:
        """Return how far the first element lies behind the corner of :meth:`box`, by strides."""
        return sum(
            (outputs.size - 1) * -axis.step * size
            for axis, outputs, size in zip(self.axes, box, strides, strict=True)
            if axis.step < 0
        )

    def region(self, box: Box) -> Region:
        """Return the element that each element of a box of the result reads (one tap each)."""
        corner = self.view.region(self.box(box)).offset
        return Region(
            corner + self.back(box, self.view.strides),
            tuple(axis.size for axis in box),
            self.strides(self.view.strides),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an operator that is cut into tiles by itself.

    All parts of an operator share the view of the result; their domains cover it, each element
    once.

    Attributes:
        out: The result.
        domain: Box of the result that this part makes.
        reads: What it reads, in the order of the operands.
    """

    out: View
    domain: Box
    reads: tuple[Read, ...]

    def covers(self, box: Box) -> bool:
        """Whether a box of the result lies within this part."""
        return all(
            outer.start <= inner.start and inner.stop <= outer.stop
            for inner, outer in zip(box, self.domain, strict=True)
        )


def one_part(out: View, *reads: Read) -> tuple[Part, ...]:
    """Return the part that makes all of a result."""
    return (Part(out, whole(out.shape), reads),)


def all_along(axis: int, extent: int, rank: int) -> tuple[AxisMap, ...]:
    """Return the maps of an operand that is read as a whole along one axis.

    Args:
        axis: The axis.
        extent: The operand's extent along it.
        rank: How many axes there are.
    """
    return tuple(AxisMap(step=0, taps=extent) if at == axis else SAME for at in range(rank))


def broadcast(operand: int, shape: tuple[int, ...], result: tuple[int, ...]) -> Read:
    """Return what is read of an operand that broadcasts to a result.

    Args:
        operand: Its position.
        shape: Its shape.
        result: The result's, of at least as many axes.
    """
    padded = (1,) * (len(result) - len(shape)) + shape
    axes = (ONCE if own < extent else SAME for own, extent in zip(padded, result, strict=True))
    return Read(operand, View.dense(padded), tuple(axes))


def move(parts: Iterable[Part], operands: tuple[Array, ...], shape: tuple[int, ...]) -> Array:
    """Return the result of an operator that only moves elements: the meaning of its access map.

    Args:
        parts: Its parts.
        operands: Its operands, of any shape.
        shape: Shape of the result.
    """
    flat = [np.ascontiguousarray(operand).reshape(-1) for operand in operands]
    result = np.empty(math.prod(shape), flat[0].dtype)
    for part in parts:
        (read,) = part.reads
        target = part.out.region(part.domain).within(result)
        target[...] = read.region(part.domain).within(flat[read.operand])
    return result.reshape(shape)
