"""LR-ASPP on MobileNetV3-Large.

References:
    Howard et al. Searching for MobileNetV3. ICCV, 2019.
"""

from ...ir.graph import Graph
from ..published.mobilenetv3 import DILATED_FROM, LARGE, LOW_BLOCK, InvertedResidual, multiple_of_8
from .builder import GraphBuilder

_CLASSES = 21


def lraspp() -> Graph:
    """LR-ASPP with a dilated MobileNetV3-Large, input [1, 3, 224, 224], 21 classes."""
    net = GraphBuilder("lraspp")
    x = net.conv(net.input("image", 1, 3, 224, 224), 16, 3, stride=2)
    x = low = net.unary("hard_swish", x)
    for index, block in enumerate(LARGE):
        x = _inverted_residual(net, x, block, dilated=index >= DILATED_FROM)
        low = x if index == LOW_BLOCK else low
    x = net.unary("hard_swish", net.conv(x, 960))
    gate = net.unary("sigmoid", net.conv(net.mean(x), 128))
    x = net.mul(net.conv(x, 128), gate)
    x = net.op("resize", [x], (1, 128, *net.shape(low)[2:]))
    x = net.add(net.conv(low, _CLASSES), net.conv(x, _CLASSES))
    return net.finish(net.op("resize", [x], (1, _CLASSES, 224, 224)))


def _inverted_residual(net: GraphBuilder, x: str, block: InvertedResidual, *, dilated: bool) -> str:
    kernel, expanded, K, excite, swish, stride = block
    stride, dilation = (1, 2) if dilated else (stride, 1)

    def act(y: str) -> str:
        return net.unary("hard_swish", y) if swish else y

    y = x if expanded == net.shape(x)[1] else act(net.conv(x, expanded))
    y = act(net.conv(y, expanded, kernel, stride=stride, dilation=dilation, groups=expanded))
    if excite:
        squeezed = net.conv(net.mean(y), multiple_of_8(expanded // 4))
        y = net.mul(y, net.conv(squeezed, expanded))
    y = net.conv(y, K)
    return net.add(y, x) if net.shape(x) == net.shape(y) else y
