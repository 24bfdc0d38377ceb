"""DenseNet-121.

References:
    Huang et al. Densely Connected Convolutional Networks. CVPR, 2017.
"""

from ...ir.graph import Graph
from ..published.depths import DENSENET121, DENSENET_GROWTH
from .builder import GraphBuilder


def densenet121() -> Graph:
    """DenseNet-121, input [1, 3, 224, 224]; normalisation before a convolution stands alone."""
    net = GraphBuilder("densenet121")
    x = net.pool(net.conv(net.input("image", 1, 3, 224, 224), 64, 7, stride=2), 3, stride=2, pad=1)
    for index, layers in enumerate(DENSENET121):
        x = _block(net, x, layers)
        if index < len(DENSENET121) - 1:
            halved = net.conv(_norm(net, x), net.shape(x)[1] // 2)
            x = net.pool(halved, 2, stride=2, kind="avg_pool")
    return net.finish(net.classifier(_norm(net, x), 1000))


def _block(net: GraphBuilder, x: str, layers: int) -> str:
    features = [x]
    for _ in range(layers):
        joined = net.concat(*features) if len(features) > 1 else x
        bottleneck = net.conv(_norm(net, joined), 4 * DENSENET_GROWTH)
        features.append(net.conv(bottleneck, DENSENET_GROWTH, 3))
    return net.concat(*features)


def _norm(net: GraphBuilder, x: str) -> str:
    channels = net.shape(x)[1]
    return net.op("scale_relu", [x], net.shape(x), weights=((channels,), (channels,)))
