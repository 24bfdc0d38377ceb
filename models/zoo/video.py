"""R(2+1)D-18 and S3D: networks on clips ``[N, 3, T, H, W]`` of 16 frames (as torchvision).

References:
    Tran, Wang, Torresani, Ray, LeCun, Paluri: A Closer Look at Spatiotemporal Convolutions for
    Action Recognition. CVPR 2018.
    Xie, Sun, Huang, Tu, Murphy: Rethinking Spatiotemporal Feature Learning. ECCV 2018.
"""

from .layers.builder import LayerFunction, NetBuilder
from .layers.structure import LayerValue

_FRAMES = 16
_BRANCH_GAIN = 0.25
_EPSILON = 1e-3
_S3D_BRANCHES = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)
"""Channels of the branches 1, 3x3 (inner, outer), 3x3 (inner, outer) and pool of S3D's cells."""


def r2plus1d_18(net: NetBuilder) -> LayerValue:
    """Add R(2+1)D-18 (31,505,325 parameters for 400 classes)."""
    x = net.unit(_clip(net), "stem.space", net.channels(45), (1, 7, 7), stride=(1, 2, 2))
    x = net.unit(x, "stem.time", net.channels(64), (3, 1, 1))
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(net, x, f"layer{stage + 1}.{block}", net.channels(64 << stage), stride)
    return net.classifier(x, "fc")


def s3d(net: NetBuilder) -> LayerValue:
    """Add S3D (8,320,048 parameters for 400 classes)."""
    x = _separable(net, _clip(net), "stem1", 64, 7, 2)
    x = net.max_pool(x, "pool1", (1, 3, 3), (1, 2, 2), pad=(0, 1, 1))
    x = net.unit(x, "stem2", net.channels(64), epsilon=_EPSILON)
    x = _separable(net, x, "stem3", 192, 3, 1)
    x = net.max_pool(x, "pool2", (1, 3, 3), (1, 2, 2), pad=(0, 1, 1))
    for index, widths in enumerate(_S3D_BRANCHES):
        x = _inception(net, x, f"mixed{index}", widths)
        if index == 1:
            x = net.max_pool(x, "pool3", 3, 2, pad=1)
        if index == 6:
            x = net.max_pool(x, "pool4", 2, 2)
    x = net.conv(net.global_average_pool(x, "avgpool"), "classifier", net.options.classes, 1)
    return net.flatten(x, "flatten")


def _clip(net: NetBuilder) -> LayerValue:
    size = net.options.image_size
    return net.input("input", (net.options.batch, 3, _FRAMES, size, size))


def _residual(net: NetBuilder, x: LayerValue, name: str, channels: int, stride: int) -> LayerValue:
    """Add two pairs of a convolution in space and one in time; the inner width keeps 3-D's cost."""
    inner = _width_between(x.shape[1], channels)
    y = net.unit(x, f"{name}.space1", inner, (1, 3, 3), stride=(1, stride, stride))
    y = net.unit(y, f"{name}.time1", channels, (3, 1, 1), stride=(stride, 1, 1))
    y = net.unit(y, f"{name}.space2", inner, (1, 3, 3))
    y = net.unit(y, f"{name}.time2", channels, (3, 1, 1), act=LayerFunction.NONE, gain=_BRANCH_GAIN)
    if x.shape != y.shape:
        x = net.unit(x, f"{name}.down", channels, stride=stride, act=LayerFunction.NONE)
    return net.relu(net.add(y, x, f"{name}.add"), f"{name}.relu")


def _separable(
    net: NetBuilder, x: LayerValue, name: str, channels: int, k: int, s: int
) -> LayerValue:
    K = net.channels(channels)
    x = net.unit(x, f"{name}.space", K, (1, k, k), stride=(1, s, s), epsilon=_EPSILON)
    return net.unit(x, f"{name}.time", K, (k, 1, 1), stride=(s, 1, 1), epsilon=_EPSILON)


def _inception(
    net: NetBuilder, x: LayerValue, name: str, widths: tuple[int, int, int, int, int, int]
) -> LayerValue:
    one, inner2, two, inner3, three, pooled = widths

    def point(source: LayerValue, branch: str, channels: int) -> LayerValue:
        return net.unit(source, f"{name}.{branch}", net.channels(channels), epsilon=_EPSILON)

    branches = (
        point(x, "0", one),
        _separable(net, point(x, "1.in", inner2), f"{name}.1", two, 3, 1),
        _separable(net, point(x, "2.in", inner3), f"{name}.2", three, 3, 1),
        point(net.max_pool(x, f"{name}.pool", 3, 1, pad=1), "3", pooled),
    )
    return net.concat(branches, f"{name}.concat")


def _width_between(C: int, K: int) -> int:
    """Return the channels between a convolution in space and one in time.

    The two have as many parameters as the 3x3x3 convolution that they replace (Tran et al.,
    section 3.5).
    """
    return C * K * 27 // (C * 9 + 3 * K)
