"""What the cells of searched networks are made of; every convolution follows its rectifier.

Args:
    net: Gets the layer.
    x: The operand.
    name: Of the layer.
    stride: From one window to the next.

Deviation: windows of stride 2 are padded alike on both sides, where the TensorFlow originals put
more padding at the end; shapes and parameters are the same.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue


def relu_conv(
    net: NetBuilder,
    x: LayerValue,
    name: str,
    channels: int,
    kernel: int | tuple[int, int] = 1,
    *,
    stride: int | tuple[int, int] = 1,
    epsilon: float = 1e-5,
) -> LayerValue:
    """Add a rectifier, a convolution and its normalisation.

    Args:
        net: What it is added to.
        x: Input.
        name: Prefix of the names of its layers.
        channels: Output channels.
        kernel: Extent of the window.
        stride: Steps of the window.
        epsilon: What the normalisation adds to the variance.
    """
    rows, columns = (kernel, kernel) if isinstance(kernel, int) else kernel
    y = net.conv(
        net.relu(x, f"{name}.relu"),
        f"{name}.conv",
        channels,
        kernel,
        stride=stride,
        pad=(rows // 2, columns // 2),
        bias=False,
    )
    return net.batch_norm(y, f"{name}.bn", epsilon=epsilon)


def separable(
    net: NetBuilder,
    x: LayerValue,
    name: str,
    channels: int,
    kernel: int,
    *,
    stride: int = 1,
    epsilon: float = 1e-5,
) -> LayerValue:
    """Add two rounds of a depthwise and a pointwise convolution, the first with the stride.

    Args:
        net: What it is added to.
        x: Input.
        name: Prefix of the names of its layers.
        channels: Output channels.
        kernel: Extent of the depthwise windows.
        stride: Steps of the first one.
        epsilon: What normalisations add to the variance.
    """
    for index, step in enumerate((stride, 1)):
        part = f"{name}.{index}"
        x = depthwise_pointwise(net, x, part, channels, kernel, stride=step, epsilon=epsilon)
    return x


def depthwise_pointwise(
    net: NetBuilder,
    x: LayerValue,
    name: str,
    channels: int,
    kernel: int,
    *,
    stride: int = 1,
    dilation: int = 1,
    epsilon: float = 1e-5,
) -> LayerValue:
    """Add a rectifier, a depthwise and a pointwise convolution, and their normalisation.

    Args:
        net: What it is added to.
        x: Input.
        name: Prefix of the names of its layers.
        channels: Output channels.
        kernel: Extent of the depthwise window.
        stride: Its steps.
        dilation: Distance of its taps.
        epsilon: What the normalisation adds to the variance.
    """
    y = net.conv(
        net.relu(x, f"{name}.relu"),
        f"{name}.depthwise",
        x.shape[1],
        kernel,
        stride=stride,
        pad=(kernel - 1) * dilation // 2,
        dilation=dilation,
        groups=x.shape[1],
        bias=False,
    )
    y = net.conv(y, f"{name}.pointwise", channels, 1, bias=False)
    return net.batch_norm(y, f"{name}.bn", epsilon=epsilon)


def max_pool3(net: NetBuilder, x: LayerValue, name: str, stride: int = 1) -> LayerValue:
    """Add a maximum over 3x3 that keeps the extents, up to the stride."""
    return net.max_pool(x, name, 3, stride, pad=1)


def average_pool3(net: NetBuilder, x: LayerValue, name: str, stride: int = 1) -> LayerValue:
    """Add a mean over 3x3 that keeps the extents, up to the stride."""
    return net.average_pool(x, name, 3, stride, pad=1)


def factorised_reduction(
    net: NetBuilder, x: LayerValue, name: str, channels: int, *, epsilon: float = 1e-5
) -> LayerValue:
    """Halve the image by two pointwise convolutions, the second of them one position further.

    Args:
        net: What it is added to.
        x: Input.
        name: Prefix of the names of its layers.
        channels: Output channels, half of them from each.
        epsilon: What the normalisation adds to the variance.
    """
    y = net.relu(x, f"{name}.relu")
    size = max(y.shape[2:])
    moved = net.slice(_even(net, y, name), f"{name}.moved", (2, 3), 1, size + 1)
    halves = [
        net.conv(source, f"{name}.conv{index}", width, 1, stride=2, bias=False)
        for index, (source, width) in enumerate(
            ((y, channels // 2), (moved, channels - channels // 2))
        )
    ]
    return net.batch_norm(net.concat(halves, f"{name}.concat"), f"{name}.bn", epsilon=epsilon)


def fit(
    net: NetBuilder,
    x: LayerValue,
    name: str,
    like: LayerValue,
    channels: int,
    *,
    epsilon: float = 1e-5,
) -> LayerValue:
    """Bring an earlier cell's result to another tensor's image and to some channels.

    Args:
        net: What it is added to.
        x: The earlier result.
        name: Prefix of the names of its layers.
        like: Has the height and width that are wanted.
        channels: Output channels.
        epsilon: What the normalisation adds to the variance.
    """
    if x.shape[2:] != like.shape[2:]:
        return factorised_reduction(net, x, name, channels, epsilon=epsilon)
    return relu_conv(net, x, name, channels, epsilon=epsilon)


def _even(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    """Add a last row and column of zeros to an image of odd extent."""
    if x.shape[2] % 2 == 0:
        return x
    pads = net.indices(f"{name}.pads", (0, 0, 0, 0, 0, 0, 1, 1))
    return net.op("Pad", f"{name}.pad", (x, pads))
