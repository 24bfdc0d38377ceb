"""EfficientNet-B0 (as torchvision).

References:
    Tan, Le: EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks. ICML 2019,
    table 1.
"""

from ..layers.builder import LayerFunction, NetBuilder
from ..layers.structure import LayerValue

# (expansion, kernel, stride of the first block, output channels, blocks).
_STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
_BRANCH_GAIN = 0.25
_SWISH = LayerFunction.SWISH


def efficientnet_b0(net: NetBuilder) -> LayerValue:
    """Add EfficientNet-B0 (5,288,548 parameters)."""
    x = net.unit(net.image(), "stem", net.channels(32), 3, stride=2, act=_SWISH)
    for stage, (expansion, kernel, first_stride, channels, blocks) in enumerate(_STAGES, start=1):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"stage{stage}.{block}"
            x = _inverted_residual(net, x, name, net.channels(channels), expansion, kernel, stride)
    x = net.unit(x, "top", net.channels(1280), act=_SWISH)
    return net.classifier(x, "classifier")


def _inverted_residual(
    net: NetBuilder,
    x: LayerValue,
    name: str,
    channels: int,
    expansion: int,
    kernel: int,
    stride: int,
) -> LayerValue:
    y, hidden = x, x.shape[1] * expansion
    if expansion != 1:
        y = net.unit(y, f"{name}.expand", hidden, act=_SWISH)
    y = net.unit(y, f"{name}.depthwise", hidden, kernel, stride=stride, groups=hidden, act=_SWISH)
    y = net.squeeze_excite(y, f"{name}.se", x.shape[1] // 4, inner=_SWISH)
    return net.project_back(x, y, name, channels, gain=_BRANCH_GAIN)
