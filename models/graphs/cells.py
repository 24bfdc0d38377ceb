"""Building blocks that the searched networks share."""

from .builder import GraphBuilder


def separable(net: GraphBuilder, x: str, K: int, kernel: int, stride: int = 1) -> str:
    """Add two rounds of depthwise and pointwise convolution, the first with the stride."""
    for step in (stride, 1):
        x = depthwise_pointwise(net, x, K, kernel, step)
    return x


def depthwise_pointwise(
    net: GraphBuilder, x: str, K: int, kernel: int, stride: int = 1, dilation: int = 1
) -> str:
    """Add a depthwise and a pointwise convolution."""
    x = net.conv(
        x, net.shape(x)[1], kernel, stride=stride, dilation=dilation, groups=net.shape(x)[1]
    )
    return net.conv(x, K)


def pool3(net: GraphBuilder, x: str, stride: int = 1, *, kind: str = "max_pool") -> str:
    """Add a 3x3 window that keeps the extents, up to the stride."""
    return net.pool(x, 3, stride=stride, pad=1, kind=kind)


def factorized_reduction(net: GraphBuilder, x: str, K: int) -> str:
    """Halve the image with two offset 1x1 convolutions of stride 2, concatenated."""
    first = net.conv(x, K // 2, stride=2)
    return net.concat(first, net.conv(x, K - K // 2, stride=2))


def fit(net: GraphBuilder, x: str, like: str, K: int) -> str:
    """Bring an earlier cell's result to another tensor's image and to ``K`` channels."""
    if net.shape(x)[2:] != net.shape(like)[2:]:
        return factorized_reduction(net, x, K)
    return x if net.shape(x)[1] == K else net.conv(x, K)
