"""NASNet-A and PNASNet-5 in their mobile sizes.

References:
    Zoph et al. Learning Transferable Architectures for Scalable Image Recognition. CVPR, 2018.
    Liu et al. Progressive Neural Architecture Search. ECCV, 2018.
"""

from collections.abc import Callable

from ...ir.graph import Graph
from ..published.nasnet import NASNET_A_MOBILE, PNASNET5_MOBILE, Size
from .builder import GraphBuilder
from .cells import factorized_reduction, fit, pool3, separable

Cell = Callable[[GraphBuilder, str, str, int, int], str]


def nasnet_a() -> Graph:
    """NASNet-A (4 @ 1056), input [1, 3, 224, 224]."""
    return _assemble("nasnet_a", _nasnet_cell, NASNET_A_MOBILE)


def pnasnet5() -> Graph:
    """PNASNet-5 (N=3, F=54), input [1, 3, 224, 224]."""
    return _assemble("pnasnet5", _pnasnet_cell, PNASNET5_MOBILE)


def _assemble(name: str, cell: Cell, size: Size) -> Graph:
    """Chain cells; each reads the two before it.

    Args:
        name: Name of the network.
        cell: Adds one cell: builder, cell before the last, last cell, filters, stride.
        size: How many cells of how many filters.
    """
    net = GraphBuilder(name)
    before = last = net.conv(net.input("image", 1, 3, 224, 224), size.stem, 3, stride=2, pad=0)
    for filters, stride in size.cells():
        before, last = last, cell(net, before, last, filters, stride)
    return net.finish(net.classifier(last, 1000))


def _nasnet_cell(net: GraphBuilder, before: str, last: str, filters: int, stride: int) -> str:
    h = net.conv(last, filters)
    p = fit(net, before, h, filters)
    if stride == 1:
        x1 = net.add(separable(net, h, filters, 5), separable(net, p, filters, 3))
        x2 = net.add(separable(net, p, filters, 5), separable(net, p, filters, 3))
        x3 = net.add(pool3(net, h, kind="avg_pool"), p)
        x4 = net.add(pool3(net, p, kind="avg_pool"), pool3(net, p, kind="avg_pool"))
        x5 = net.add(separable(net, h, filters, 3), h)
        return net.concat(p, x1, x2, x3, x4, x5)
    x1 = net.add(separable(net, h, filters, 5, 2), separable(net, p, filters, 7, 2))
    x2 = net.add(pool3(net, h, 2), separable(net, p, filters, 7, 2))
    x3 = net.add(pool3(net, h, 2, kind="avg_pool"), separable(net, p, filters, 5, 2))
    x4 = net.add(pool3(net, x1, kind="avg_pool"), x2)
    x5 = net.add(separable(net, x1, filters, 3), pool3(net, h, 2))
    return net.concat(x2, x3, x4, x5)


def _pnasnet_cell(net: GraphBuilder, before: str, last: str, filters: int, stride: int) -> str:
    right = net.conv(last, filters)
    left = fit(net, before, right, filters)
    x0 = net.add(separable(net, left, filters, 5, stride), pool3(net, left, stride))
    x1 = net.add(separable(net, right, filters, 7, stride), pool3(net, right, stride))
    x2 = net.add(
        separable(net, right, filters, 5, stride), separable(net, right, filters, 3, stride)
    )
    x3 = net.add(separable(net, x2, filters, 3), pool3(net, right, stride))
    skip = right if stride == 1 else factorized_reduction(net, right, filters)
    x4 = net.add(separable(net, left, filters, 3, stride), skip)
    return net.concat(x0, x1, x2, x3, x4)
