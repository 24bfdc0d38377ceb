"""DARTS, second-order search, in its ImageNet size.

References:
    Liu et al. DARTS: Differentiable Architecture Search. ICLR, 2019.
"""

from ...ir.graph import Graph
from .builder import GraphBuilder
from .cells import depthwise_pointwise, factorized_reduction, fit, pool3, separable

# (state that is read, function), in pairs that are added; states 0 and 1 are the inputs.
_NORMAL = (
    ((0, "sep3"), (1, "sep3")),
    ((0, "sep3"), (1, "sep3")),
    ((1, "sep3"), (0, "skip")),
    ((0, "skip"), (2, "dil3")),
)
_REDUCTION = (
    ((0, "max3"), (1, "max3")),
    ((2, "skip"), (1, "max3")),
    ((0, "max3"), (2, "skip")),
    ((2, "skip"), (1, "max3")),
)
_LAYERS = 14


def darts() -> Graph:
    """DARTS (14 cells, 48 filters), input [1, 3, 224, 224]."""
    net = GraphBuilder("darts")
    filters = 48
    x = net.conv(net.input("image", 1, 3, 224, 224), filters // 2, 3, stride=2)
    before = net.conv(x, filters, 3, stride=2)
    last = net.conv(before, filters, 3, stride=2)
    for layer in range(_LAYERS):
        reduce = layer in (_LAYERS // 3, 2 * _LAYERS // 3)
        filters = 2 * filters if reduce else filters
        before, last = last, _cell(net, before, last, filters, reduce=reduce)
    return net.finish(net.classifier(last, 1000))


def _cell(net: GraphBuilder, before: str, last: str, K: int, *, reduce: bool) -> str:
    second = net.conv(last, K)
    first = fit(net, before, second, K)
    if first == before:
        first = net.conv(before, K)
    states = [first, second]
    for pair in _REDUCTION if reduce else _NORMAL:
        results = [
            _function(net, states[source], name, 2 if reduce and source < 2 else 1)
            for source, name in pair
        ]
        states.append(net.add(*results))
    return net.concat(*states[2:])


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
