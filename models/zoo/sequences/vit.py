"""Vision transformers ViT-B/16 (as torchvision) and ViT-tiny (as timm).

References:
    Dosovitskiy et al.: An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale.
    ICLR 2021. Touvron et al.: Training data-efficient image transformers. ICML 2021 (tiny).
"""

from ..layers.attention import Attention, attend
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue, ParameterRole

_PATCH = 16
_LAYERS = 12
_EPSILON = 1e-6


def vit_b_16(net: NetBuilder) -> LayerValue:
    """Add ViT-B/16 (86,567,656 parameters at 224x224)."""
    return _vit(net, net.channels(768), 12)


def vit_tiny(net: NetBuilder) -> LayerValue:
    """Add ViT-tiny (5,717,416 parameters at 224x224)."""
    return _vit(net, net.channels(192), 3)


def _vit(net: NetBuilder, width: int, heads: int) -> LayerValue:
    x = _tokens(net, width)
    how = Attention(heads=heads, fused=True, gain=_LAYERS**-0.5)
    for index in range(_LAYERS):
        name = f"layer{index}"
        y = net.layer_norm(x, f"{name}.norm1", epsilon=_EPSILON)
        x = net.add(x, attend(net, y, f"{name}.attention", how), f"{name}.add1")
        y = net.layer_norm(x, f"{name}.norm2", epsilon=_EPSILON)
        y = net.gelu(net.project(y, f"{name}.expand", 4 * width), f"{name}.gelu")
        y = net.project(y, f"{name}.reduce", width, gain=how.gain)
        x = net.add(x, y, f"{name}.add2")
    x = net.layer_norm(x, "norm", epsilon=_EPSILON)
    first = net.op("Gather", "class", (x, net.index("class.position", 0)), axis=1)
    return net.linear(first, "head", net.options.classes)


def _tokens(net: NetBuilder, width: int) -> LayerValue:
    """Cut the image into patches, put the class token before them, add positions."""
    patches = net.conv(net.image(), "patches", width, _PATCH, stride=_PATCH)
    N, _, H, W = patches.shape
    rows = net.reshape(patches, "patches.flat", (0, width, H * W))
    rows = net.transpose(rows, "patches.turn", (0, 2, 1))
    token = net.parameter("class_token", (1, 1, width), ParameterRole.WEIGHT, std=1.0)
    token = net.op("Expand", "class_token.batch", (token, net.indices("batch", (N, 1, width))))
    x = net.concat((token, rows), "tokens")
    return net.add(
        x, net.parameter("positions", x.shape[1:], ParameterRole.WEIGHT, std=0.5), "embedded"
    )
