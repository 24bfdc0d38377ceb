"""MobileNetV3, large and small (as torchvision).

References:
    Howard, Sandler, Chu, Chen, Chen, Tan, Wang, Zhu, Pang, Vasudevan, Le, Adam: Searching for
    MobileNetV3. ICCV 2019, tables 1 and 2.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..layers.builder import Activation, NetBuilder
from ..layers.structure import Value

_BRANCH_GAIN = 0.25
_EPSILON = 1e-3


class _Block(NamedTuple):
    """A row of the paper's tables."""

    kernel: int
    expanded: int
    channels: int
    excite: bool
    act: Activation
    stride: int


_RE, _HS = Activation.RELU, Activation.HARD_SWISH
_LARGE = (
    _Block(3, 16, 16, False, _RE, 1),
    _Block(3, 64, 24, False, _RE, 2),
    _Block(3, 72, 24, False, _RE, 1),
    _Block(5, 72, 40, True, _RE, 2),
    _Block(5, 120, 40, True, _RE, 1),
    _Block(5, 120, 40, True, _RE, 1),
    _Block(3, 240, 80, False, _HS, 2),
    _Block(3, 200, 80, False, _HS, 1),
    _Block(3, 184, 80, False, _HS, 1),
    _Block(3, 184, 80, False, _HS, 1),
    _Block(3, 480, 112, True, _HS, 1),
    _Block(3, 672, 112, True, _HS, 1),
    _Block(5, 672, 160, True, _HS, 2),
    _Block(5, 960, 160, True, _HS, 1),
    _Block(5, 960, 160, True, _HS, 1),
)
_SMALL = (
    _Block(3, 16, 16, True, _RE, 2),
    _Block(3, 72, 24, False, _RE, 2),
    _Block(3, 88, 24, False, _RE, 1),
    _Block(5, 96, 40, True, _HS, 2),
    _Block(5, 240, 40, True, _HS, 1),
    _Block(5, 240, 40, True, _HS, 1),
    _Block(5, 120, 48, True, _HS, 1),
    _Block(5, 144, 48, True, _HS, 1),
    _Block(5, 288, 96, True, _HS, 2),
    _Block(5, 576, 96, True, _HS, 1),
    _Block(5, 576, 96, True, _HS, 1),
)
_LOW_BLOCK = 3
_DILATED_FROM = 12


def mobilenetv3_large(net: NetBuilder) -> Value:
    """Add MobileNetV3-Large (5,483,032 parameters)."""
    return _classify(net, _features(net, _LARGE)[0], 1280)


def mobilenetv3_small(net: NetBuilder) -> Value:
    """Add MobileNetV3-Small (2,542,856 parameters)."""
    return _classify(net, _features(net, _SMALL)[0], 1024)


def dilated_trunk(net: NetBuilder) -> tuple[Value, Value]:
    """Add the large one with dilation in place of the last stride.

    Returns:
        The result, and that of the fourth block.
    """
    return _features(net, _LARGE, dilated_from=_DILATED_FROM)


def _features(
    net: NetBuilder, blocks: Sequence[_Block], *, dilated_from: int | None = None
) -> tuple[Value, Value]:
    x = net.unit(
        net.image(), "features.0", net.channels(16), 3, stride=2, act=_HS, epsilon=_EPSILON
    )
    low = x
    for index, block in enumerate(blocks):
        dilated = dilated_from is not None and index >= dilated_from
        x = _inverted_residual(net, x, f"features.{index + 1}", block, dilated=dilated)
        low = x if index == _LOW_BLOCK else low
    last = net.channels(6 * blocks[-1].channels)
    x = net.unit(x, f"features.{len(blocks) + 1}", last, act=_HS, epsilon=_EPSILON)
    return x, low


def _classify(net: NetBuilder, x: Value, hidden: int) -> Value:
    pooled = net.flatten(net.global_average_pool(x, "avgpool"), "flatten")
    y = net.linear(pooled, "classifier.0", net.channels(hidden))
    return net.linear(net.activation(y, "classifier", _HS), "classifier.3", net.options.classes)


def _inverted_residual(
    net: NetBuilder, x: Value, name: str, block: _Block, *, dilated: bool
) -> Value:
    hidden, channels = net.channels(block.expanded), net.channels(block.channels)
    y = x
    if hidden != x.shape[1]:
        y = net.unit(y, f"{name}.expand", hidden, act=block.act, epsilon=_EPSILON)
    y = net.unit(
        y,
        f"{name}.depthwise",
        hidden,
        block.kernel,
        stride=1 if dilated else block.stride,
        dilation=2 if dilated else 1,
        groups=hidden,
        act=block.act,
        epsilon=_EPSILON,
    )
    if block.excite:
        squeezed = _multiple_of_8(hidden // 4)
        y = net.squeeze_excite(y, f"{name}.se", squeezed, gate=Activation.HARD_SIGMOID)
    return net.project_back(x, y, name, channels, gain=_BRANCH_GAIN, epsilon=_EPSILON)


def _multiple_of_8(channels: int) -> int:
    """Round to a multiple of 8, but by no more than a tenth down."""
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
