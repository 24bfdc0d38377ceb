"""How the MAC array sees activations: ``N G channel row column``, whatever axes they have.

An image ``[N, C, H, W]`` has its channels split into groups; of a matrix ``[rows, columns]`` the
columns are channels, and each matrix of a batch ``[.., rows, columns]`` is a group. Tiles have
either these axes or the tensor's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..tiles.graph import Range
from .access import Box
from .views import SlidingWindow

AXES = 5
"""Axes under which the array sees activations; other tiles have the axes of their tensor."""


@dataclass(frozen=True, slots=True)
class ImageAxes:
    """The axes of one activation of an operator of the MAC array.

    Attributes:
        channels: Of one group.
        batch: Extents of the axes before the rows of a matrix; ``None``: the tensor is an image.
    """

    channels: int
    batch: tuple[int, ...] | None = None

    def own_box(self, box: Box) -> Box | None:
        """Return a box over ``N G channel row column`` as one over the tensor's own axes.

        ``None`` where it is no box there: parts of the channels of several groups, or matrices that
        are no box along several axes of a batch.
        """
        n, group, channel, row, column = box
        if self.batch is not None:
            matrices = _along(self.batch, group)
            return None if matrices is None else (*matrices, row, channel)
        if group.size > 1 and channel.size < self.channels:
            return None
        start = group.start * self.channels + channel.start
        return n, Range(start, start + group.size * channel.size), row, column

    def split(self, strides: Sequence[int]) -> tuple[int, ...]:
        """Return strides along the tensor's own axes as those along the array's."""
        if self.batch is not None:
            *matrices, row, channel = strides
            return 0, _step(self.batch, matrices), channel, row, 0
        n, channel, row, column = strides
        return n, channel * self.channels, channel, row, column


def matrix_axes(kind: str, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the extents of the batch of an operator's activation, ``None`` if it is an image.

    Args:
        kind: Of the operator of the MAC array.
        shape: Of the activation.
    """
    return tuple(shape[:-2]) if kind == "dense" else None


def _along(batch: Sequence[int], part: Range) -> Box | None:
    """Return consecutive indices of several axes as a box along these, ``None`` if it is none."""
    found: list[Range] = []
    start, size = part.start, part.size
    for extent in reversed(batch):
        first = start % extent
        if size % extent == 0 and first == 0:
            found.append(Range(0, extent))
            size //= extent
        elif first + size <= extent:
            found.append(Range(first, first + size))
            size = 1
        else:
            return None
        start //= extent
    return tuple(reversed(found))


def _step(batch: Sequence[int], strides: Sequence[int]) -> int:
    """Return how far apart the matrices of a box along the axes of a batch are."""
    long = (step for extent, step in zip(batch, strides, strict=True) if extent > 1)
    return next(reversed(tuple(long)), 0)


def rows_met(window: SlidingWindow, axis: int, outputs: Range, taps: Range, extent: int) -> Range:
    """Return the rows (or columns) of an input that outputs and taps meet, at least one.

    Args:
        window: Stride, padding and dilation.
        axis: 0 for rows, 1 for columns.
        outputs: Positions of outputs.
        taps: Of the filter.
        extent: Rows (or columns) that the input has.
    """
    stride, dilation, before = window.stride[axis], window.dilation[axis], window.pads[axis]
    step = stride if taps.size == 1 else 1
    first = outputs.start * stride + taps.start * dilation - before
    last = (outputs.stop - 1) * stride + (taps.stop - 1) * dilation - before
    if first < 0:
        first %= step
    last = min(last, extent - 1)
    if first > last:
        nearest = 0 if last < 0 else min(first, extent - 1)
        return Range(nearest, nearest + 1)
    return Range(first, last + 1, step)
