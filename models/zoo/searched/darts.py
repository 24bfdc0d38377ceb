"""DARTS, second-order search, in its ImageNet size: 14 cells, 48 channels.

References:
    Liu, Simonyan, Yang: DARTS: Differentiable Architecture Search. ICLR 2019, figures 4 and 5.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import Value
from . import cells

# (state that is read, function), in pairs that are added; states 0 and 1 are the inputs.
_Pair = tuple[tuple[int, str], tuple[int, str]]
_NORMAL: tuple[_Pair, ...] = (
    ((0, "sep3"), (1, "sep3")),
    ((0, "sep3"), (1, "sep3")),
    ((1, "sep3"), (0, "skip")),
    ((0, "skip"), (2, "dil3")),
)
_REDUCTION: tuple[_Pair, ...] = (
    ((0, "max3"), (1, "max3")),
    ((2, "skip"), (1, "max3")),
    ((0, "max3"), (2, "skip")),
    ((2, "skip"), (1, "max3")),
)
_CHANNELS = 48
_LAYERS = 14
_REDUCTIONS = (_LAYERS // 3, 2 * _LAYERS // 3)


def darts(net: NetBuilder) -> Value:
    """Add DARTS (4.7 million parameters)."""
    channels = net.channels(_CHANNELS)
    half = net.channels(_CHANNELS // 2)
    x = net.unit(net.image(), "stem0.0", half, 3, stride=2)
    x = net.conv(x, "stem0.1.conv", channels, 3, stride=2, pad=1, bias=False)
    before = net.batch_norm(x, "stem0.1.bn")
    last = cells.relu_conv(net, before, "stem1", channels, 3, stride=2)
    for layer in range(_LAYERS):
        reduce = layer in _REDUCTIONS
        channels = 2 * channels if reduce else channels
        before, last = last, _cell(net, before, last, f"cell{layer}", channels, reduce=reduce)
    return net.classifier(last, "classifier")


def _cell(
    net: NetBuilder, before: Value, last: Value, name: str, channels: int, *, reduce: bool
) -> Value:
    second = cells.relu_conv(net, last, f"{name}.last", channels)
    states = [cells.fit(net, before, f"{name}.before", second, channels), second]
    for pair in _REDUCTION if reduce else _NORMAL:
        left, right = (
            _function(
                net,
                states[source],
                f"{name}.{len(states)}{side}",
                function,
                2 if reduce and source < 2 else 1,
            )
            for side, (source, function) in zip("lr", pair, strict=True)
        )
        states.append(net.add(left, right, f"{name}.add{len(states)}"))
    return net.concat(states[2:], f"{name}.concat")


def _function(net: NetBuilder, x: Value, name: str, function: str, stride: int) -> Value:
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
