"""How the MAC array sees activations: ``N G channel row column``, whatever axes they have.

An image ``[N, C, H, W]`` has its channels split into groups; of a matrix ``[rows, columns]`` the
columns are channels. Tiles have either these axes or the tensor's own.
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
        is_matrix: Whether the tensor is a matrix rather than an image.
    """

    channels: int
    is_matrix: bool = False

    def own_box(self, box: Box) -> Box | None:
        """Return a box over ``N G channel row column`` as one over the tensor's own axes.

        ``None`` where it is no box there: parts of the channels of several groups.
        """
        n, group, channel, row, column = box
        if self.is_matrix:
            return row, channel
        if group.size > 1 and channel.size < self.channels:
            return None
        start = group.start * self.channels + channel.start
        return n, Range(start, start + group.size * channel.size), row, column

    def split(self, strides: Sequence[int]) -> tuple[int, ...]:
        """Return strides along the tensor's own axes as those along the array's."""
        if self.is_matrix:
            row, channel = strides
            return 0, 0, channel, row, 0
        n, channel, row, column = strides
        return n, channel * self.channels, channel, row, column


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
