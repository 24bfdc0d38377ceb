"""AmoebaNet-D.

References:
    Real et al. Regularized Evolution for Image Classifier Architecture Search. AAAI, 2019.
    Huang et al. GPipe. NeurIPS, 2019 (the variant with bottlenecks, 18 layers, 256 filters).
"""

from ...ir.graph import Graph
from ..published.searched import AMOEBANET_D
from .builder import GraphBuilder
from .cells import factorized_reduction, fit, pool3


def amoebanet_d() -> Graph:
    """AmoebaNet-D (18 layers, 256 filters), input [1, 3, 224, 224]."""
    net = GraphBuilder("amoebanet_d")
    channels = 256 // 4
    x = net.conv(net.input("image", 1, 3, 224, 224), channels, 3, stride=2)
    before = last = x
    for _ in range(2):
        channels *= 2
        before, last = last, _cell(net, before, last, channels // 4, reduce=True)
    for stage in range(3):
        if stage > 0:
            channels *= 2
            before, last = last, _cell(net, before, last, channels // 4, reduce=True)
        for _ in range(6):
            before, last = last, _cell(net, before, last, channels // 4, reduce=False)
    return net.finish(net.classifier(last, 1000))


def _cell(net: GraphBuilder, before: str, last: str, K: int, *, reduce: bool) -> str:
    first = net.conv(last, K)
    cell = AMOEBANET_D.reduction if reduce else AMOEBANET_D.normal
    states = cell.grow(
        (first, fit(net, before, first, K)),
        lambda x, _, function, stride: _function(net, x, function, stride),
        lambda left, right, _: net.add(left, right),
    )
    return net.concat(*states)


def _function(net: GraphBuilder, x: str, name: str, stride: int) -> str:
    K = net.shape(x)[1]
    match name:
        case "none":
            return x if stride == 1 else factorized_reduction(net, x, K)
        case "max3":
            return pool3(net, x, stride)
        case "avg3":
            return pool3(net, x, stride, kind="avg_pool")
        case "max2":
            return net.pool(x, 2, stride=stride)
        case "conv1x1":
            return net.conv(x, K, stride=stride)
        case "conv3x3":
            return net.conv(net.conv(net.conv(x, K // 4), K // 4, 3, stride=stride), K)
        case _:
            y = net.conv(net.conv(x, K // 4), K // 4, (1, 7), stride=1)
            return net.conv(net.conv(y, K // 4, (7, 1), stride=1), K, stride=stride)
