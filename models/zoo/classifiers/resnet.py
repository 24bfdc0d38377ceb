"""ResNet and ResNeXt for 1000 classes, with the stride in the 3x3 layer (as torchvision).

References:
    He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition. CVPR 2016.
    The variant with the stride in the 3x3 layer is known as ResNet v1.5.
    Xie, Girshick, Dollar, Tu, He: Aggregated Residual Transformations for Deep Neural Networks.
    CVPR 2017.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

# Scale of the last normalisation in a branch: sums grow slowly with depth, as in trained networks.
_BRANCH_GAIN = 0.25

_RESNET50 = (3, 4, 6, 3)
"""Blocks of each stage (table 1)."""


class _Shape(NamedTuple):
    """How one block looks: channels of its 3x3 layer, and how that moves."""

    channels: int
    stride: int = 1
    dilation: int = 1


_Block = Callable[[NetBuilder, LayerValue, str, _Shape], LayerValue]


def resnet18(net: NetBuilder) -> LayerValue:
    """Add ResNet-18 (11,689,512 parameters)."""
    return _classify(net, _trunk(net, _basic_block, (2, 2, 2, 2)))


def resnet34(net: NetBuilder) -> LayerValue:
    """Add ResNet-34 (21,797,672 parameters)."""
    return _classify(net, _trunk(net, _basic_block, _RESNET50))


def resnet50(net: NetBuilder) -> LayerValue:
    """Add ResNet-50 (25,557,032 parameters)."""
    return _classify(net, _trunk(net, _bottleneck, _RESNET50))


def resnext50(net: NetBuilder) -> LayerValue:
    """Add ResNeXt-50 32x4d (25,028,904 parameters)."""
    return _classify(net, _trunk(net, partial(_bottleneck, groups=32, widening=2), _RESNET50))


def dilated_trunk(net: NetBuilder) -> LayerValue:
    """Add ResNet-50 without classifier; its last two stages dilate instead of taking strides."""
    return _trunk(net, _bottleneck, _RESNET50, dilated=True)


def _trunk(
    net: NetBuilder, block: _Block, depths: Sequence[int], *, dilated: bool = False
) -> LayerValue:
    x = net.conv(net.image(), "conv1", net.channels(64), 7, stride=2, pad=3, bias=False)
    x = net.relu(net.batch_norm(x, "bn1"), "relu")
    x = net.max_pool(x, "maxpool", 3, 2, pad=1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            shape = _shape(net.channels(64 << stage), stage, index, dilated=dilated)
            x = block(net, x, f"layer{stage + 1}.{index}", shape)
    return x


def _shape(channels: int, stage: int, index: int, *, dilated: bool) -> _Shape:
    """Return the shape of a block; a stage that dilates begins with the dilation before it."""
    if dilated and stage >= 2:
        return _Shape(channels, dilation=1 << (stage - 2 if index == 0 else stage - 1))
    return _Shape(channels, stride=2 if stage > 0 and index == 0 else 1)


def _classify(net: NetBuilder, x: LayerValue) -> LayerValue:
    return net.classifier(x, "fc")


def _basic_block(net: NetBuilder, x: LayerValue, name: str, shape: _Shape) -> LayerValue:
    channels = shape.channels
    y = net.conv(x, f"{name}.conv1", channels, 3, stride=shape.stride, pad=1, bias=False)
    y = net.relu(net.batch_norm(y, f"{name}.bn1"), f"{name}.relu1")
    y = net.conv(y, f"{name}.conv2", channels, 3, pad=1, bias=False)
    y = net.batch_norm(y, f"{name}.bn2", gain=_BRANCH_GAIN)
    return _join(net, x, y, name, shape.stride)


def _bottleneck(
    net: NetBuilder, x: LayerValue, name: str, shape: _Shape, *, groups: int = 1, widening: int = 1
) -> LayerValue:
    inner = shape.channels * widening
    y = net.conv(x, f"{name}.conv1", inner, 1, bias=False)
    y = net.relu(net.batch_norm(y, f"{name}.bn1"), f"{name}.relu1")
    y = net.conv(
        y,
        f"{name}.conv2",
        inner,
        3,
        stride=shape.stride,
        pad=shape.dilation,
        dilation=shape.dilation,
        groups=groups,
        bias=False,
    )
    y = net.relu(net.batch_norm(y, f"{name}.bn2"), f"{name}.relu2")
    y = net.conv(y, f"{name}.conv3", 4 * shape.channels, 1, bias=False)
    y = net.batch_norm(y, f"{name}.bn3", gain=_BRANCH_GAIN)
    return _join(net, x, y, name, shape.stride)


def _join(net: NetBuilder, x: LayerValue, y: LayerValue, name: str, stride: int) -> LayerValue:
    """Add the shortcut, projected where shapes differ, and the activation."""
    if x.shape != y.shape:
        x = net.conv(x, f"{name}.downsample.0", y.shape[1], 1, stride=stride, bias=False)
        x = net.batch_norm(x, f"{name}.downsample.1")
    return net.relu(net.add(y, x, f"{name}.add"), f"{name}.relu")
