"""R(2+1)D-18 and S3D: networks on clips [N, C, T, H, W].

References:
    Tran et al. A Closer Look at Spatiotemporal Convolutions for Action Recognition. CVPR, 2018.
    Xie et al. Rethinking Spatiotemporal Feature Learning. ECCV, 2018.
"""

from ...ir.graph import Graph
from ..published.clips import S3D_BRANCHES, width_between
from .builder import GraphBuilder

_CLASSES = 400


def r2plus1d() -> Graph:
    """R(2+1)D-18, input [1, 3, 16, 224, 224]."""
    net = GraphBuilder("r2plus1d")
    x = _conv3d(net, net.input("clip", 1, 3, 16, 224, 224), 45, (1, 7, 7), (1, 2, 2))
    x = _conv3d(net, x, 64, (3, 1, 1))
    for stage, planes in enumerate((64, 128, 256, 512)):
        for block in range(2):
            x = _basic_block(net, x, planes, 2 if stage > 0 and block == 0 else 1)
    return net.finish(net.classifier(x, _CLASSES))


def s3d() -> Graph:
    """S3D, input [1, 3, 16, 224, 224]."""
    net = GraphBuilder("s3d")
    x = _separable(net, net.input("clip", 1, 3, 16, 224, 224), 64, 7, 2)
    x = _pool3d(net, x, (1, 3, 3), (1, 2, 2))
    x = _separable(net, _conv3d(net, x, 64, (1, 1, 1)), 192, 3, 1)
    x = _pool3d(net, x, (1, 3, 3), (1, 2, 2))
    for index, widths in enumerate(S3D_BRANCHES):
        x = _inception(net, x, widths)
        if index == 1:
            x = _pool3d(net, x, (3, 3, 3), (2, 2, 2))
        if index == 6:
            x = _pool3d(net, x, (2, 2, 2), (2, 2, 2))
    x = _conv3d(net, net.mean(x), _CLASSES, (1, 1, 1))
    return net.finish(x)


def _basic_block(net: GraphBuilder, x: str, planes: int, stride: int) -> str:
    middle = width_between(net.shape(x)[1], planes)
    y = _conv3d(net, x, middle, (1, 3, 3), (1, stride, stride))
    y = _conv3d(net, y, planes, (3, 1, 1), (stride, 1, 1))
    y = _conv3d(net, y, middle, (1, 3, 3))
    y = _conv3d(net, y, planes, (3, 1, 1))
    if net.shape(x) != net.shape(y):
        x = _conv3d(net, x, planes, (1, 1, 1), (stride, stride, stride))
    return net.add(y, x)


def _separable(net: GraphBuilder, x: str, K: int, kernel: int, stride: int) -> str:
    x = _conv3d(net, x, K, (1, kernel, kernel), (1, stride, stride))
    return _conv3d(net, x, K, (kernel, 1, 1), (stride, 1, 1))


def _inception(net: GraphBuilder, x: str, widths: tuple[int, int, int, int, int, int]) -> str:
    b0, b1_in, b1, b2_in, b2, b3 = widths
    first = _conv3d(net, x, b0, (1, 1, 1))
    second = _separable(net, _conv3d(net, x, b1_in, (1, 1, 1)), b1, 3, 1)
    third = _separable(net, _conv3d(net, x, b2_in, (1, 1, 1)), b2, 3, 1)
    fourth = _conv3d(net, _pool3d(net, x, (3, 3, 3), (1, 1, 1)), b3, (1, 1, 1))
    return net.concat(first, second, third, fourth)


def _conv3d(
    net: GraphBuilder,
    x: str,
    K: int,
    kernel: tuple[int, int, int],
    stride: tuple[int, int, int] = (1, 1, 1),
) -> str:
    N, C, *extents = net.shape(x)
    out = [
        (extent + 2 * (tap // 2) - tap) // step + 1
        for extent, tap, step in zip(extents, kernel, stride, strict=True)
    ]
    attrs = (("kernel", kernel), ("stride", stride))
    return net.op("conv3d", [x], (N, K, *out), weights=((K, C, *kernel), (K,)), attrs=attrs)


def _pool3d(
    net: GraphBuilder, x: str, kernel: tuple[int, int, int], stride: tuple[int, int, int]
) -> str:
    N, C, *extents = net.shape(x)
    out = [
        (extent + 2 * (tap // 2 if tap == 3 else 0) - tap) // step + 1
        for extent, tap, step in zip(extents, kernel, stride, strict=True)
    ]
    return net.op("max_pool3d", [x], (N, C, *out))
