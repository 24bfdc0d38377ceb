"""Rows of MobileNetV3's tables.

References:
    Howard et al.: Searching for MobileNetV3. ICCV 2019, tables 1 and 2.
"""

from typing import NamedTuple


class InvertedResidual(NamedTuple):
    """A row: an inverted residual.

    Attributes:
        kernel: Height and width of the depthwise window [tap].
        expanded: Channels of the depthwise convolution.
        channels: Channels of the result.
        excite: Whether channels are weighted by squeeze and excitation.
        swish: Whether it activates by hard swish, not ReLU.
        stride: Of the depthwise convolution.
    """

    kernel: int
    expanded: int
    channels: int
    excite: bool
    swish: bool
    stride: int


LARGE = (
    InvertedResidual(3, 16, 16, False, False, 1),
    InvertedResidual(3, 64, 24, False, False, 2),
    InvertedResidual(3, 72, 24, False, False, 1),
    InvertedResidual(5, 72, 40, True, False, 2),
    InvertedResidual(5, 120, 40, True, False, 1),
    InvertedResidual(5, 120, 40, True, False, 1),
    InvertedResidual(3, 240, 80, False, True, 2),
    InvertedResidual(3, 200, 80, False, True, 1),
    InvertedResidual(3, 184, 80, False, True, 1),
    InvertedResidual(3, 184, 80, False, True, 1),
    InvertedResidual(3, 480, 112, True, True, 1),
    InvertedResidual(3, 672, 112, True, True, 1),
    InvertedResidual(5, 672, 160, True, True, 2),
    InvertedResidual(5, 960, 160, True, True, 1),
    InvertedResidual(5, 960, 160, True, True, 1),
)
"""MobileNetV3-Large."""

SMALL = (
    InvertedResidual(3, 16, 16, True, False, 2),
    InvertedResidual(3, 72, 24, False, False, 2),
    InvertedResidual(3, 88, 24, False, False, 1),
    InvertedResidual(5, 96, 40, True, True, 2),
    InvertedResidual(5, 240, 40, True, True, 1),
    InvertedResidual(5, 240, 40, True, True, 1),
    InvertedResidual(5, 120, 48, True, True, 1),
    InvertedResidual(5, 144, 48, True, True, 1),
    InvertedResidual(5, 288, 96, True, True, 2),
    InvertedResidual(5, 576, 96, True, True, 1),
    InvertedResidual(5, 576, 96, True, True, 1),
)
"""MobileNetV3-Small."""

LOW_BLOCK = 3
"""Row of the large table whose result LR-ASPP reads beside the last."""

DILATED_FROM = 12
"""First row of the large table that LR-ASPP dilates by 2 in place of a stride."""


def multiple_of_8(channels: int) -> int:
    """Round to a multiple of 8, but by no more than a tenth down."""
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
