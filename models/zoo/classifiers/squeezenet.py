"""SqueezeNet 1.0, the network of the paper, and the smaller 1.1 of its authors (as torchvision).

References:
    Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer: SqueezeNet: AlexNet-level accuracy with 50x
    fewer parameters and <0.5MB model size. arXiv:1602.07360, 2016.
"""

from collections.abc import Sequence

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

# (squeeze channels, channels of each expand half) of one fire module.
_Fire = tuple[int, int]
_FIRES_2_TO_9: tuple[_Fire, ...] = (
    (16, 64),
    (16, 64),
    (32, 128),
    (32, 128),
    (48, 192),
    (48, 192),
    (64, 256),
    (64, 256),
)


def squeezenet1_0(net: NetBuilder) -> LayerValue:
    """Add SqueezeNet 1.0 (1,248,424 parameters)."""
    x = net.relu(net.conv(net.image(), "conv1", net.channels(96), 7, stride=2), "relu1")
    return _body(net, x, pool_before=(2, 5, 9))


def squeezenet1_1(net: NetBuilder) -> LayerValue:
    """Add SqueezeNet 1.1 (1,235,496 parameters)."""
    x = net.relu(net.conv(net.image(), "conv1", net.channels(64), 3, stride=2), "relu1")
    return _body(net, x, pool_before=(2, 4, 6))


def _body(net: NetBuilder, x: LayerValue, pool_before: Sequence[int]) -> LayerValue:
    for index, (squeeze, expand) in enumerate(_FIRES_2_TO_9, start=2):
        if index in pool_before:
            x = net.max_pool(x, f"pool{index - 1}", 3, 2, ceil=True)
        x = _fire(net, x, f"fire{index}", net.channels(squeeze), net.channels(expand))
    x = net.relu(net.conv(x, "conv10", net.options.classes, 1), "relu10")
    return net.flatten(net.global_average_pool(x, "avgpool"), "flatten")


def _fire(net: NetBuilder, x: LayerValue, name: str, squeeze: int, expand: int) -> LayerValue:
    s = net.relu(net.conv(x, f"{name}.squeeze", squeeze, 1), f"{name}.squeeze_relu")
    narrow = net.conv(s, f"{name}.expand1x1", expand, 1)
    wide = net.conv(s, f"{name}.expand3x3", expand, 3, pad=1)
    halves = (
        net.relu(narrow, f"{name}.expand1x1_relu"),
        net.relu(wide, f"{name}.expand3x3_relu"),
    )
    return net.concat(halves, f"{name}.concat")
