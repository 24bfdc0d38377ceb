"""ConvNeXt-T (as torchvision).

References:
    Liu, Mao, Wu, Feichtenhofer, Darrell, Xie: A ConvNet for the 2020s. CVPR 2022.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue, ParameterRole

_DEPTHS = (3, 3, 9, 3)
_WIDTH = 96
_EPSILON = 1e-6
_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)  # channels last, channels first
# Mean of a block's scale per channel; published ones start at 1e-6 and grow in training.
_LAYER_SCALE = 0.25


def convnext_tiny(net: NetBuilder) -> LayerValue:
    """Add ConvNeXt-T (28,589,128 parameters)."""
    x = net.conv(net.image(), "stem.conv", net.channels(_WIDTH), 4, stride=4)
    x = _norm(net, x, "stem.norm")
    for stage, depth in enumerate(_DEPTHS):
        if stage > 0:
            x = _norm(net, x, f"down{stage}.norm")
            x = net.conv(x, f"down{stage}.conv", net.channels(_WIDTH << stage), 2, stride=2)
        for index in range(depth):
            x = _block(net, x, f"stage{stage}.{index}")
    x = _norm(net, net.global_average_pool(x, "avgpool"), "head.norm")
    return net.linear(net.flatten(x, "flatten"), "head", net.options.classes)


def _norm(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    """Normalise over the channels of every position."""
    y = net.transpose(x, f"{name}.last", _LAST)
    return net.transpose(net.layer_norm(y, name, epsilon=_EPSILON), f"{name}.first", _FIRST)


def _block(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    channels = x.shape[1]
    y = net.conv(x, f"{name}.depthwise", channels, 7, pad=3, groups=channels)
    y = net.layer_norm(net.transpose(y, f"{name}.last", _LAST), f"{name}.norm", epsilon=_EPSILON)
    y = net.gelu(net.project(y, f"{name}.expand", 4 * channels), f"{name}.gelu")
    y = net.transpose(net.project(y, f"{name}.reduce", channels), f"{name}.first", _FIRST)
    shape = (channels, 1, 1)
    scale = net.parameter(f"{name}.scale", shape, ParameterRole.GAMMA, mean=_LAYER_SCALE, std=0.02)
    return net.add(net.mul(scale, y, f"{name}.scaled"), x, f"{name}.add")
