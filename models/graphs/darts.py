"""DARTS, second-order search, in its ImageNet size.

References:
    Liu et al. DARTS: Differentiable Architecture Search. ICLR, 2019.
"""

from ...ir.graph import Graph
from ..published.searched import DARTS, DARTS_LAYERS, DARTS_REDUCTIONS
from .builder import GraphBuilder
from .cells import depthwise_pointwise, factorized_reduction, fit, pool3, separable


def darts() -> Graph:
    """DARTS (14 cells, 48 filters), input [1, 3, 224, 224]."""
    net = GraphBuilder("darts")
    filters = 48
    x = net.conv(net.input("image", 1, 3, 224, 224), filters // 2, 3, stride=2)
    before = net.conv(x, filters, 3, stride=2)
    last = net.conv(before, filters, 3, stride=2)
    for layer in range(DARTS_LAYERS):
        reduce = layer in DARTS_REDUCTIONS
        filters = 2 * filters if reduce else filters
        before, last = last, _cell(net, before, last, filters, reduce=reduce)
    return net.finish(net.classifier(last, 1000))


def _cell(net: GraphBuilder, before: str, last: str, K: int, *, reduce: bool) -> str:
    second = net.conv(last, K)
    first = fit(net, before, second, K)
    if first == before:
        first = net.conv(before, K)
    cell = DARTS.reduction if reduce else DARTS.normal
    states = cell.grow(
        (first, second),
        lambda x, _, function, stride: _function(net, x, function, stride),
        lambda left, right, _: net.add(left, right),
    )
    return net.concat(*states)


def _function(net: GraphBuilder, x: str, name: str, stride: int) -> str:
    K = net.shape(x)[1]
    match name:
        case "skip":
            return x if stride == 1 else factorized_reduction(net, x, K)
        case "max3":
            return pool3(net, x, stride)
        case "sep3":
            return separable(net, x, K, 3, stride)
        case _:
            return depthwise_pointwise(net, x, K, 3, stride, dilation=2)
