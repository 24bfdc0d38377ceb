"""Inception-v3 without its auxiliary classifier, which serves training only (as torchvision).

References:
    Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for Computer
    Vision. CVPR 2016.
"""

from collections.abc import Sequence

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

# Channels, kernel, stride (pad as keeps the extents, but none where a stride halves them).
_Unit = tuple[int, int | tuple[int, int], int]
_ROW, _COLUMN = (1, 7), (7, 1)


def inception_v3(net: NetBuilder) -> LayerValue:
    """Add Inception-v3 (23,834,568 parameters; 3,326,696 more for the auxiliary)."""
    x = _chain(net, net.image(), "stem1", [(32, 3, 2)])
    x = _unpadded(net, x, "stem2", 32)
    x = net.max_pool(_chain(net, x, "stem3", [(64, 3, 1)]), "pool1", 3, 2)
    x = _unpadded(net, _chain(net, x, "stem4", [(80, 1, 1)]), "stem5", 192)
    x = net.max_pool(x, "pool2", 3, 2)
    for index, pooled in enumerate((32, 64, 64)):
        x = _square(net, x, f"a{index}", pooled)
    x = _reduce(net, x, "b", [(384, 3, 2)], [(64, 1, 1), (96, 3, 1), (96, 3, 2)])
    for index, inner in enumerate((128, 160, 160, 192)):
        x = _factorised(net, x, f"c{index}", inner)
    long = [(192, 1, 1), (192, _ROW, 1), (192, _COLUMN, 1), (192, 3, 2)]
    x = _reduce(net, x, "d", [(192, 1, 1), (320, 3, 2)], long)
    for index in range(2):
        x = _wide(net, x, f"e{index}")
    return net.classifier(x, "fc")


def _square(net: NetBuilder, x: LayerValue, name: str, pooled: int) -> LayerValue:
    branches = ([(64, 1, 1)], [(48, 1, 1), (64, 5, 1)], [(64, 1, 1), (96, 3, 1), (96, 3, 1)])
    results = [_chain(net, x, f"{name}.{i}", units) for i, units in enumerate(branches)]
    return net.concat([*results, _pooled(net, x, name, pooled)], f"{name}.concat")


def _factorised(net: NetBuilder, x: LayerValue, name: str, c: int) -> LayerValue:
    short = [(c, 1, 1), (c, _ROW, 1), (192, _COLUMN, 1)]
    long = [(c, 1, 1), (c, _COLUMN, 1), (c, _ROW, 1), (c, _COLUMN, 1), (192, _ROW, 1)]
    branches = ([(192, 1, 1)], short, long)
    results = [_chain(net, x, f"{name}.{i}", units) for i, units in enumerate(branches)]
    return net.concat([*results, _pooled(net, x, name, 192)], f"{name}.concat")


def _wide(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    """Add branches that end in a row and a column side by side."""
    stems = ([(384, 1, 1)], [(448, 1, 1), (384, 3, 1)])
    results = [_chain(net, x, f"{name}.0", [(320, 1, 1)])]
    for index, units in enumerate(stems, start=1):
        y = _chain(net, x, f"{name}.{index}", units)
        for end, kernel in (("row", (1, 3)), ("column", (3, 1))):
            results.append(_chain(net, y, f"{name}.{index}.{end}", [(384, kernel, 1)]))
    return net.concat([*results, _pooled(net, x, name, 192)], f"{name}.concat")


def _reduce(net: NetBuilder, x: LayerValue, name: str, *branches: Sequence[_Unit]) -> LayerValue:
    results = [_chain(net, x, f"{name}.{i}", units) for i, units in enumerate(branches)]
    return net.concat([*results, net.max_pool(x, f"{name}.pool", 3, 2)], f"{name}.concat")


def _pooled(net: NetBuilder, x: LayerValue, name: str, channels: int) -> LayerValue:
    y = net.average_pool(x, f"{name}.pool", 3, 1, pad=1, padded=True)
    return _chain(net, y, f"{name}.project", [(channels, 1, 1)])


def _chain(net: NetBuilder, x: LayerValue, name: str, units: Sequence[_Unit]) -> LayerValue:
    for index, (channels, kernel, stride) in enumerate(units):
        x = net.unit(
            x,
            f"{name}.{index}",
            net.channels(channels),
            kernel,
            stride=stride,
            pad=0 if stride == 2 else None,
            epsilon=1e-3,
        )
    return x


def _unpadded(net: NetBuilder, x: LayerValue, name: str, channels: int) -> LayerValue:
    return net.unit(x, name, net.channels(channels), 3, pad=0, epsilon=1e-3)
