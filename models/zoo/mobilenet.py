"""MobileNetV2 at width 1.0 (as torchvision).

References:
    Sandler, Howard, Zhu, Zhmoginov, Chen: MobileNetV2: Inverted Residuals and Linear Bottlenecks.
    CVPR 2018.
"""

from .builder import NetBuilder, Value

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


def mobilenetv2(net: NetBuilder) -> Value:
    """Add MobileNetV2 (3,504,872 parameters)."""
    x = _unit(net, net.input, "features.0", net.channels(32), 3, stride=2)
    index = 1
    for expansion, channels, blocks, first_stride in _STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"features.{index}"
            x = _inverted_residual(net, x, name, net.channels(channels), expansion, stride)
            index += 1
    x = _unit(net, x, f"features.{index}", net.channels(1280), 1)
    x = net.flatten(net.global_average_pool(x, "avgpool"), "flatten")
    return net.linear(x, "classifier", net.options.classes)


def _inverted_residual(
    net: NetBuilder, x: Value, name: str, channels: int, expansion: int, stride: int
) -> Value:
    y, hidden = x, x.shape[1] * expansion
    if expansion != 1:
        y = _unit(net, y, f"{name}.expand", hidden, 1)
    y = _unit(net, y, f"{name}.depthwise", hidden, 3, stride=stride, groups=hidden)
    y = net.conv(y, f"{name}.project.conv", channels, 1, bias=False)
    has_shortcut = y.shape == x.shape
    y = net.batch_norm(y, f"{name}.project.bn", gain=_BRANCH_GAIN if has_shortcut else 1.0)
    return net.add(x, y, f"{name}.add") if has_shortcut else y


def _unit(
    net: NetBuilder,
    x: Value,
    name: str,
    channels: int,
    kernel: int,
    *,
    stride: int = 1,
    groups: int = 1,
) -> Value:
    """Add convolution, normalisation and ReLU6."""
    pad = (kernel - 1) // 2
    y = net.conv(
        x, f"{name}.conv", channels, kernel, stride=stride, pad=pad, groups=groups, bias=False
    )
    return net.relu6(net.batch_norm(y, f"{name}.bn"), f"{name}.relu6")
