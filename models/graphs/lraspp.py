"""LR-ASPP on MobileNetV3-Large.

References:
    Howard et al. Searching for MobileNetV3. ICCV, 2019.
"""

from ...ir.graph import Graph
from .builder import GraphBuilder

_CLASSES = 21
# kernel, expanded channels, output channels, squeeze-and-excite, hard swish, stride, dilation
_BLOCKS = (
    (3, 16, 16, False, False, 1, 1),
    (3, 64, 24, False, False, 2, 1),
    (3, 72, 24, False, False, 1, 1),
    (5, 72, 40, True, False, 2, 1),
    (5, 120, 40, True, False, 1, 1),
    (5, 120, 40, True, False, 1, 1),
    (3, 240, 80, False, True, 2, 1),
    (3, 200, 80, False, True, 1, 1),
    (3, 184, 80, False, True, 1, 1),
    (3, 184, 80, False, True, 1, 1),
    (3, 480, 112, True, True, 1, 1),
    (3, 672, 112, True, True, 1, 1),
    (5, 672, 160, True, True, 1, 2),
    (5, 960, 160, True, True, 1, 2),
    (5, 960, 160, True, True, 1, 2),
)
_LOW_BLOCK = 3


def lraspp() -> Graph:
    """LR-ASPP with a dilated MobileNetV3-Large, input [1, 3, 224, 224], 21 classes."""
    net = GraphBuilder("lraspp")
    x = net.conv(net.input("image", 1, 3, 224, 224), 16, 3, stride=2)
    x = low = net.unary("hard_swish", x)
    for index, block in enumerate(_BLOCKS):
        x = _inverted_residual(net, x, block)
        low = x if index == _LOW_BLOCK else low
    x = net.unary("hard_swish", net.conv(x, 960))
    gate = net.unary("sigmoid", net.conv(net.mean(x), 128))
    x = net.mul(net.conv(x, 128), gate)
    x = net.op("resize", [x], (1, 128, *net.shape(low)[2:]))
    x = net.add(net.conv(low, _CLASSES), net.conv(x, _CLASSES))
    return net.finish(net.op("resize", [x], (1, _CLASSES, 224, 224)))


def _inverted_residual(
    net: GraphBuilder, x: str, block: tuple[int, int, int, bool, bool, int, int]
) -> str:
    kernel, expanded, K, excite, swish, stride, dilation = block

    def act(y: str) -> str:
        return net.unary("hard_swish", y) if swish else y

    y = x if expanded == net.shape(x)[1] else act(net.conv(x, expanded))
    y = act(net.conv(y, expanded, kernel, stride=stride, dilation=dilation, groups=expanded))
    if excite:
        squeezed = net.conv(net.mean(y), _round_to_8(expanded // 4))
        y = net.mul(y, net.conv(squeezed, expanded))
    y = net.conv(y, K)
    return net.add(y, x) if net.shape(x) == net.shape(y) else y


def _round_to_8(channels: int) -> int:
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
