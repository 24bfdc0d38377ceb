"""ResNet-18, -34 and -50 for 1000 classes, with the stride in the 3x3 layer (as torchvision).

References:
    He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition. CVPR 2016.
    The variant with the stride in the 3x3 layer is known as ResNet v1.5.
"""

from collections.abc import Callable, Sequence

from .builder import NetBuilder, Value

# Scale of the last normalisation in a branch: sums grow slowly with depth, as in trained networks.
_BRANCH_GAIN = 0.25

_Block = Callable[[NetBuilder, Value, str, int, int], Value]


def resnet18(net: NetBuilder) -> Value:
    """Add ResNet-18 (11,689,512 parameters)."""
    return _resnet(net, _basic_block, (2, 2, 2, 2))


def resnet34(net: NetBuilder) -> Value:
    """Add ResNet-34 (21,797,672 parameters)."""
    return _resnet(net, _basic_block, (3, 4, 6, 3))


def resnet50(net: NetBuilder) -> Value:
    """Add ResNet-50 (25,557,032 parameters)."""
    return _resnet(net, _bottleneck, (3, 4, 6, 3))


def _resnet(net: NetBuilder, block: _Block, depths: Sequence[int]) -> Value:
    x = net.conv(net.input, "conv1", net.channels(64), 7, stride=2, pad=3, bias=False)
    x = net.relu(net.batch_norm(x, "bn1"), "relu")
    x = net.max_pool(x, "maxpool", 3, 2, pad=1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if stage > 0 and index == 0 else 1
            x = block(net, x, f"layer{stage + 1}.{index}", net.channels(64 << stage), stride)
    x = net.flatten(net.global_average_pool(x, "avgpool"), "flatten")
    return net.linear(x, "fc", net.options.classes)


def _basic_block(net: NetBuilder, x: Value, name: str, channels: int, stride: int) -> Value:
    y = net.conv(x, f"{name}.conv1", channels, 3, stride=stride, pad=1, bias=False)
    y = net.relu(net.batch_norm(y, f"{name}.bn1"), f"{name}.relu1")
    y = net.conv(y, f"{name}.conv2", channels, 3, pad=1, bias=False)
    y = net.batch_norm(y, f"{name}.bn2", gain=_BRANCH_GAIN)
    return _join(net, x, y, name, stride)


def _bottleneck(net: NetBuilder, x: Value, name: str, channels: int, stride: int) -> Value:
    y = net.conv(x, f"{name}.conv1", channels, 1, bias=False)
    y = net.relu(net.batch_norm(y, f"{name}.bn1"), f"{name}.relu1")
    y = net.conv(y, f"{name}.conv2", channels, 3, stride=stride, pad=1, bias=False)
    y = net.relu(net.batch_norm(y, f"{name}.bn2"), f"{name}.relu2")
    y = net.conv(y, f"{name}.conv3", 4 * channels, 1, bias=False)
    y = net.batch_norm(y, f"{name}.bn3", gain=_BRANCH_GAIN)
    return _join(net, x, y, name, stride)


def _join(net: NetBuilder, x: Value, y: Value, name: str, stride: int) -> Value:
    """Add the shortcut, projected where shapes differ, and the activation."""
    if x.shape != y.shape:
        x = net.conv(x, f"{name}.downsample.0", y.shape[1], 1, stride=stride, bias=False)
        x = net.batch_norm(x, f"{name}.downsample.1")
    return net.relu(net.add(y, x, f"{name}.add"), f"{name}.relu")
