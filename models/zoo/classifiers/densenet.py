"""DenseNet-121 (as torchvision).

References:
    Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks. CVPR 2017.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_LAYERS = (6, 12, 24, 16)
"""Of each block (table 1)."""

_GROWTH = 32
"""Channels that a layer adds."""


def densenet121(net: NetBuilder) -> LayerValue:
    """Add DenseNet-121 (7,978,856 parameters)."""
    x = net.unit(net.image(), "stem", net.channels(64), 7, stride=2)
    x = net.max_pool(x, "pool0", 3, 2, pad=1)
    for index, layers in enumerate(_LAYERS, start=1):
        x = _block(net, x, f"block{index}", layers)
        if index < len(_LAYERS):
            x = _norm_conv(net, x, f"transition{index}", x.shape[1] // 2, 1)
            x = net.average_pool(x, f"transition{index}.pool", 2, 2)
    return net.classifier(net.relu(net.batch_norm(x, "norm5"), "relu5"), "classifier")


def _block(net: NetBuilder, x: LayerValue, name: str, layers: int) -> LayerValue:
    features, growth = [x], net.channels(_GROWTH)
    for index in range(layers):
        layer = f"{name}.{index}"
        joined = net.concat(features, f"{layer}.concat") if index else x
        y = _norm_conv(net, joined, f"{layer}.squeeze", 4 * growth, 1)
        features.append(_norm_conv(net, y, f"{layer}.grow", growth, 3))
    return net.concat(features, f"{name}.concat")


def _norm_conv(net: NetBuilder, x: LayerValue, name: str, channels: int, kernel: int) -> LayerValue:
    y = net.relu(net.batch_norm(x, f"{name}.bn"), f"{name}.relu")
    return net.conv(y, f"{name}.conv", channels, kernel, pad=kernel // 2, bias=False)
