"""AmoebaNet-D with 18 layers and 256 filters.

References:
    Real, Aggarwal, Huang, Le: Regularized Evolution for Image Classifier Architecture Search.
    AAAI 2019. Huang et al.: GPipe. NeurIPS 2019, table 1 (the variant with bottlenecks, whose
    normal cell concatenates as in the TensorFlow original).
"""

from ...published.searched import AMOEBANET_D
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue
from . import cells

_REDUCTIONS = (0, 1, 8, 15)
_CELLS = 22


def amoebanet_d(net: NetBuilder) -> LayerValue:
    """Add AmoebaNet-D (18, 256)."""
    return amoebanet(net, 256)


def amoebanet(net: NetBuilder, filters: int) -> LayerValue:
    """Add an AmoebaNet-D of 18 layers: a stem of two reductions, three stages of six cells."""
    channels = net.channels(filters // 4)
    x = net.relu(net.image(), "stem.relu")
    x = net.conv(x, "stem.conv", channels, 3, stride=2, pad=1, bias=False)
    before = last = net.batch_norm(x, "stem.bn")
    for index in range(_CELLS):
        reduce = index in _REDUCTIONS
        channels = 2 * channels if reduce else channels
        before, last = last, _cell(net, before, last, f"cell{index}", channels, reduce=reduce)
    return net.classifier(last, "classifier")


def _cell(
    net: NetBuilder, before: LayerValue, last: LayerValue, name: str, channels: int, *, reduce: bool
) -> LayerValue:
    first = cells.relu_conv(net, last, f"{name}.last", channels)
    second = before
    if before.shape != first.shape:
        second = cells.fit(net, before, f"{name}.before", first, channels)
    cell = AMOEBANET_D.reduction if reduce else AMOEBANET_D.normal
    states = cell.grow(
        (first, second),
        lambda x, part, function, stride: _function(net, x, f"{name}.{part}", function, stride),
        lambda left, right, part: net.add(left, right, f"{name}.{part}"),
    )
    return net.concat(states, f"{name}.concat")


def _function(net: NetBuilder, x: LayerValue, name: str, function: str, stride: int) -> LayerValue:
    C = x.shape[1]
    match function:
        case "none":
            return x if stride == 1 else cells.factorised_reduction(net, x, name, C)
        case "max3":
            return cells.max_pool3(net, x, name, stride)
        case "avg3":
            return cells.average_pool3(net, x, name, stride)
        case "max2":
            return net.max_pool(x, name, 2, stride)
        case "conv1x1":
            return cells.relu_conv(net, x, name, C, stride=stride)
        case "conv3x3":
            return _bottleneck(net, x, name, (((3, 3), (stride, stride)),))
        case _:
            return _bottleneck(net, x, name, (((1, 7), (1, stride)), ((7, 1), (stride, 1))))


def _bottleneck(
    net: NetBuilder,
    x: LayerValue,
    name: str,
    windows: tuple[tuple[tuple[int, int], tuple[int, int]], ...],
) -> LayerValue:
    """Add convolutions (kernel, stride) on a quarter of the channels, between two 1x1."""
    C = x.shape[1]
    y = cells.relu_conv(net, x, f"{name}.in", C // 4)
    for index, (kernel, stride) in enumerate(windows):
        y = cells.relu_conv(net, y, f"{name}.{index}", C // 4, kernel, stride=stride)
    return cells.relu_conv(net, y, f"{name}.out", C)
