"""MobileNetV3, large and small (as torchvision).

References:
    Howard, Sandler, Chu, Chen, Chen, Tan, Wang, Zhu, Pang, Vasudevan, Le, Adam: Searching for
    MobileNetV3. ICCV 2019, tables 1 and 2.
"""

from collections.abc import Sequence

from ...published.mobilenetv3 import (
    DILATED_FROM,
    LARGE,
    LOW_BLOCK,
    SMALL,
    InvertedResidual,
    multiple_of_8,
)
from ..layers.builder import LayerFunction, NetBuilder
from ..layers.structure import LayerValue

_BRANCH_GAIN = 0.25
_SWISH = LayerFunction.HARD_SWISH
_EPSILON = 1e-3


def mobilenetv3_large(net: NetBuilder) -> LayerValue:
    """Add MobileNetV3-Large (5,483,032 parameters)."""
    return _classify(net, _features(net, LARGE)[0], 1280)


def mobilenetv3_small(net: NetBuilder) -> LayerValue:
    """Add MobileNetV3-Small (2,542,856 parameters)."""
    return _classify(net, _features(net, SMALL)[0], 1024)


def dilated_trunk(net: NetBuilder) -> tuple[LayerValue, LayerValue]:
    """Add the large one with dilation in place of the last stride.

    Returns:
        The result, and that of the fourth block.
    """
    return _features(net, LARGE, dilated_from=DILATED_FROM)


def _features(
    net: NetBuilder, blocks: Sequence[InvertedResidual], *, dilated_from: int | None = None
) -> tuple[LayerValue, LayerValue]:
    x = net.unit(
        net.image(),
        "features.0",
        net.channels(16),
        3,
        stride=2,
        act=_SWISH,
        epsilon=_EPSILON,
    )
    low = x
    for index, block in enumerate(blocks):
        dilated = dilated_from is not None and index >= dilated_from
        x = _inverted_residual(net, x, f"features.{index + 1}", block, dilated=dilated)
        low = x if index == LOW_BLOCK else low
    last = net.channels(6 * blocks[-1].channels)
    x = net.unit(x, f"features.{len(blocks) + 1}", last, act=_SWISH, epsilon=_EPSILON)
    return x, low


def _classify(net: NetBuilder, x: LayerValue, hidden: int) -> LayerValue:
    pooled = net.flatten(net.global_average_pool(x, "avgpool"), "flatten")
    y = net.linear(pooled, "classifier.0", net.channels(hidden))
    return net.linear(net.activation(y, "classifier", _SWISH), "classifier.3", net.options.classes)


def _inverted_residual(
    net: NetBuilder, x: LayerValue, name: str, block: InvertedResidual, *, dilated: bool
) -> LayerValue:
    act = _SWISH if block.swish else LayerFunction.RELU
    hidden, channels = net.channels(block.expanded), net.channels(block.channels)
    y = x
    if hidden != x.shape[1]:
        y = net.unit(y, f"{name}.expand", hidden, act=act, epsilon=_EPSILON)
    y = net.unit(
        y,
        f"{name}.depthwise",
        hidden,
        block.kernel,
        stride=1 if dilated else block.stride,
        dilation=2 if dilated else 1,
        groups=hidden,
        act=act,
        epsilon=_EPSILON,
    )
    if block.excite:
        squeezed = multiple_of_8(hidden // 4)
        y = net.squeeze_excite(y, f"{name}.se", squeezed, gate=LayerFunction.HARD_SIGMOID)
    return net.project_back(x, y, name, channels, gain=_BRANCH_GAIN, epsilon=_EPSILON)
