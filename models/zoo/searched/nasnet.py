"""NASNet-A and PNASNet-5 in their mobile sizes.

References:
    Zoph, Vasudevan, Shlens, Le: Learning Transferable Architectures for Scalable Image Recognition.
    CVPR 2018, figure 4. Liu et al.: Progressive Neural Architecture Search. ECCV 2018, figure 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...published.nasnet import NASNET_A_MOBILE, PNASNET5_MOBILE, Size
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue
from . import cells

_EPSILON = 1e-3
_separable = partial(cells.separable, epsilon=_EPSILON)
_relu_conv = partial(cells.relu_conv, epsilon=_EPSILON)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inputs:
    """What a cell reads: its name, the two cells before it, and their form."""

    name: str
    before: LayerValue
    last: LayerValue
    channels: int
    stride: int
    stem: bool


_Cell = Callable[[NetBuilder, _Inputs], LayerValue]


def nasnet_a(net: NetBuilder) -> LayerValue:
    """Add NASNet-A 4 @ 1056 (5,289,978 parameters)."""
    return nasnet(net, NASNET_A_MOBILE)


def pnasnet5(net: NetBuilder) -> LayerValue:
    """Add PNASNet-5, N=3, F=54 (5.1 million parameters)."""
    return pnasnet(net, PNASNET5_MOBILE)


def nasnet(net: NetBuilder, size: Size) -> LayerValue:
    """Add a NASNet-A of any size."""
    return _assemble(net, size, _nasnet_cell)


def pnasnet(net: NetBuilder, size: Size) -> LayerValue:
    """Add a PNASNet-5 of any size."""
    return _assemble(net, size, _pnasnet_cell)


def _assemble(net: NetBuilder, size: Size, cell: _Cell) -> LayerValue:
    """Chain cells; each reads the two before it."""
    x = net.conv(net.image(), "conv0", net.channels(size.stem), 3, stride=2, bias=False)
    before = last = net.batch_norm(x, "bn0", epsilon=_EPSILON)
    for index, (filters, stride) in enumerate(size.cells()):
        inputs = _Inputs(
            name=f"cell{index}",
            before=before,
            last=last,
            channels=net.channels(filters),
            stride=stride,
            stem=index == 0,
        )
        before, last = last, cell(net, inputs)
    return net.classifier(net.relu(last, "relu"), "classifier")


def _prepared(net: NetBuilder, inputs: _Inputs) -> tuple[LayerValue, LayerValue]:
    """Return both inputs in the cell's channels; the stem's first cell reads its own as it is."""
    right = _relu_conv(net, inputs.last, f"{inputs.name}.last", inputs.channels)
    if inputs.stem:
        return inputs.before, right
    name = f"{inputs.name}.before"
    left = cells.fit(net, inputs.before, name, right, inputs.channels, epsilon=_EPSILON)
    return left, right


def _nasnet_cell(net: NetBuilder, inputs: _Inputs) -> LayerValue:
    name, K, stride = inputs.name, inputs.channels, inputs.stride
    p, h = _prepared(net, inputs)

    def sep(x: LayerValue, part: str, kernel: int, step: int = 1) -> LayerValue:
        return _separable(net, x, f"{name}.{part}", K, kernel, stride=step)

    def mean(x: LayerValue, part: str, step: int = 1) -> LayerValue:
        return cells.average_pool3(net, x, f"{name}.{part}", step)

    def most(part: str) -> LayerValue:
        return cells.max_pool3(net, h, f"{name}.{part}", 2)

    def add(index: int, left: LayerValue, right: LayerValue) -> LayerValue:
        return net.add(left, right, f"{name}.add{index}")

    if stride == 1:
        results = (
            p,
            add(0, sep(h, "0l", 5), sep(p, "0r", 3)),
            add(1, sep(p, "1l", 5), sep(p, "1r", 3)),
            add(2, mean(h, "2l"), p),
            add(3, mean(p, "3l"), mean(p, "3r")),
            add(4, sep(h, "4l", 3), h),
        )
    else:
        first = add(0, sep(h, "0l", 5, 2), sep(p, "0r", 7, 2))
        second = add(1, most("1l"), sep(p, "1r", 7, 2))
        results = (
            second,
            add(2, mean(h, "2l", 2), sep(p, "2r", 5, 2)),
            add(3, mean(first, "3l"), second),
            add(4, sep(first, "4l", 3), most("4r")),
        )
    return net.concat(results, f"{name}.concat")


def _pnasnet_cell(net: NetBuilder, inputs: _Inputs) -> LayerValue:
    name, K, stride = inputs.name, inputs.channels, inputs.stride
    left, right = _prepared(net, inputs)

    def sep(x: LayerValue, part: str, kernel: int, step: int = stride) -> LayerValue:
        return _separable(net, x, f"{name}.{part}", K, kernel, stride=step)

    def most(x: LayerValue, part: str) -> LayerValue:
        return cells.max_pool3(net, x, f"{name}.{part}", stride)

    def add(index: int, first: LayerValue, second: LayerValue) -> LayerValue:
        return net.add(first, second, f"{name}.add{index}")

    pooled = most(left, "0r")
    if pooled.shape[1] != K:
        y = net.conv(pooled, f"{name}.0r.conv", K, 1, bias=False)
        pooled = net.batch_norm(y, f"{name}.0r.bn", epsilon=_EPSILON)
    third = add(2, sep(right, "2l", 5), sep(right, "2r", 3))
    kept = right if stride == 1 else _relu_conv(net, right, f"{name}.4r", K, stride=stride)
    results = (
        add(0, sep(left, "0l", 5), pooled),
        add(1, sep(right, "1l", 7), most(right, "1r")),
        third,
        add(3, sep(third, "3l", 3, 1), most(right, "3r")),
        add(4, sep(left, "4l", 3), kept),
    )
    return net.concat(results, f"{name}.concat")
