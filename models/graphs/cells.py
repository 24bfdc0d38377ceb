"""Building blocks that the searched networks share."""

from .builder import GraphBuilder


def separable(net: GraphBuilder, x: str, K: int, kernel: int, stride: int = 1) -> str:
    """Add two rounds of depthwise and pointwise convolution, the first with the stride.

    Args:
        net: The graph under construction.
        x: The input.
        K: Output channels.
        kernel: Height and width of the filters [tap].
        stride: Of the first round [element].
    """
    for step in (stride, 1):
        x = depthwise_pointwise(net, x, K, kernel, step)
    return x


def depthwise_pointwise(
    net: GraphBuilder, x: str, K: int, kernel: int, stride: int = 1, dilation: int = 1
) -> str:
    """Add a depthwise and a pointwise convolution.

    Args:
        net: The graph under construction.
        x: The input.
        K: Output channels.
        kernel: Height and width of the depthwise filter [tap].
        stride: Of the depthwise convolution [element].
        dilation: Of the depthwise convolution [element].
    """
    x = net.conv(
        x, net.shape(x)[1], kernel, stride=stride, dilation=dilation, groups=net.shape(x)[1]
    )
    return net.conv(x, K)


def pool3(net: GraphBuilder, x: str, stride: int = 1, *, kind: str = "max_pool") -> str:
    """Add a 3x3 window that keeps the extents, up to the stride.

    Args:
        net: The graph under construction.
        x: The input.
        stride: Step in both directions [element].
        kind: Kind of the operator.
    """
    return net.pool(x, 3, stride=stride, pad=1, kind=kind)


def factorized_reduction(net: GraphBuilder, x: str, K: int) -> str:
    """Halve the image with two offset 1x1 convolutions of stride 2, concatenated.

    Args:
        net: The graph under construction.
        x: The input.
        K: Output channels.
    """
    first = net.conv(x, K // 2, stride=2)
    return net.concat(first, net.conv(x, K - K // 2, stride=2))


def fit(net: GraphBuilder, x: str, like: str, K: int) -> str:
    """Bring an earlier cell's result to another tensor's image and to ``K`` channels.

    Args:
        net: The graph under construction.
        x: The earlier cell's result.
        like: The tensor whose image it takes.
        K: Channels that it takes.
    """
    if net.shape(x)[2:] != net.shape(like)[2:]:
        return factorized_reduction(net, x, K)
    return x if net.shape(x)[1] == K else net.conv(x, K)
