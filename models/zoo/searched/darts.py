"""DARTS, second-order search, in its ImageNet size: 14 cells, 48 channels.

References:
    Liu, Simonyan, Yang: DARTS: Differentiable Architecture Search. ICLR 2019, figures 4 and 5.
"""

from ...published.searched import DARTS, DARTS_LAYERS, DARTS_REDUCTIONS
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue
from . import cells

_CHANNELS = 48


def darts(net: NetBuilder) -> LayerValue:
    """Add DARTS (4.7 million parameters)."""
    channels = net.channels(_CHANNELS)
    half = net.channels(_CHANNELS // 2)
    x = net.unit(net.image(), "stem0.0", half, 3, stride=2)
    x = net.conv(x, "stem0.1.conv", channels, 3, stride=2, pad=1, bias=False)
    before = net.batch_norm(x, "stem0.1.bn")
    last = cells.relu_conv(net, before, "stem1", channels, 3, stride=2)
    for layer in range(DARTS_LAYERS):
        reduce = layer in DARTS_REDUCTIONS
        channels = 2 * channels if reduce else channels
        before, last = last, _cell(net, before, last, f"cell{layer}", channels, reduce=reduce)
    return net.classifier(last, "classifier")


def _cell(
    net: NetBuilder, before: LayerValue, last: LayerValue, name: str, channels: int, *, reduce: bool
) -> LayerValue:
    second = cells.relu_conv(net, last, f"{name}.last", channels)
    first = cells.fit(net, before, f"{name}.before", second, channels)
    cell = DARTS.reduction if reduce else DARTS.normal
    states = cell.grow(
        (first, second),
        lambda x, part, function, stride: _function(net, x, f"{name}.{part}", function, stride),
        lambda left, right, part: net.add(left, right, f"{name}.{part}"),
    )
    return net.concat(states, f"{name}.concat")


def _function(net: NetBuilder, x: LayerValue, name: str, function: str, stride: int) -> LayerValue:
    C = x.shape[1]
    match function:
        case "skip":
            return x if stride == 1 else cells.factorised_reduction(net, x, name, C)
        case "max3":
            return cells.max_pool3(net, x, name, stride)
        case "sep3":
            return cells.separable(net, x, name, C, 3, stride=stride)
        case _:
            return cells.depthwise_pointwise(net, x, name, C, 3, stride=stride, dilation=2)
