"""MobileNetV2 at width 1.0 (as torchvision).

References:
    Sandler, Howard, Zhu, Zhmoginov, Chen: MobileNetV2: Inverted Residuals and Linear Bottlenecks.
    CVPR 2018.
"""

from ..layers.builder import LayerFunction, NetBuilder
from ..layers.structure import LayerValue

# (expansion, output channels, blocks, stride of the first block), table 2 of the paper.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
# Scale of the last normalisation in a block with a shortcut: sums grow slowly with depth.
_BRANCH_GAIN = 0.25


def mobilenetv2(net: NetBuilder) -> LayerValue:
    """Add MobileNetV2 (3,504,872 parameters)."""
    x = net.unit(net.image(), "features.0", net.channels(32), 3, stride=2, act=LayerFunction.RELU6)
    index = 1
    for expansion, channels, blocks, first_stride in _STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"features.{index}"
            x = _inverted_residual(net, x, name, net.channels(channels), expansion, stride)
            index += 1
    x = net.unit(x, f"features.{index}", net.channels(1280), act=LayerFunction.RELU6)
    return net.classifier(x, "classifier")


def _inverted_residual(
    net: NetBuilder, x: LayerValue, name: str, channels: int, expansion: int, stride: int
) -> LayerValue:
    y, hidden = x, x.shape[1] * expansion
    if expansion != 1:
        y = net.unit(y, f"{name}.expand", hidden, act=LayerFunction.RELU6)
    y = net.unit(
        y, f"{name}.depthwise", hidden, 3, stride=stride, groups=hidden, act=LayerFunction.RELU6
    )
    return net.project_back(x, y, name, channels, gain=_BRANCH_GAIN)
