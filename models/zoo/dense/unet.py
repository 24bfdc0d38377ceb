"""UNet with padded convolutions, normalisation and transposed convolutions.

The output is ``[N, classes, H, W]``. Height and width are multiples of 16.

References:
    Ronneberger, Fischer, Brox: U-Net: Convolutional Networks for Biomedical Image Segmentation.
    MICCAI 2015. Widths as there; padding and normalisation as in milesial/Pytorch-UNet.
"""

from ....ir.errors import OptionError
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_WIDTHS = (64, 128, 256, 512, 1024)
_STRIDE = 16


def unet(net: NetBuilder) -> LayerValue:
    """Add UNet (31,037,698 parameters for 2 classes).

    Raises:
        OptionError: The image does not halve four times.
    """
    size = net.options.image_size
    if size % _STRIDE:
        raise OptionError(f"unet: {size} pixels are no multiple of {_STRIDE}")
    x, skips = _double(net, net.image(), "down0", _WIDTHS[0]), list[LayerValue]()
    for level, width in enumerate(_WIDTHS[1:], start=1):
        skips.append(x)
        x = _double(net, net.max_pool(x, f"pool{level}", 2, 2), f"down{level}", width)
    for level, width in enumerate(reversed(_WIDTHS[:-1])):
        up = net.conv_transpose(x, f"up{level}.transpose", net.channels(width), 2, stride=2)
        joined = net.concat((skips.pop(), up), f"up{level}.concat")
        x = _double(net, joined, f"up{level}", width)
    return net.conv(x, "head", net.options.classes, 1)


def _double(net: NetBuilder, x: LayerValue, name: str, width: int) -> LayerValue:
    channels = net.channels(width)
    return net.unit(net.unit(x, f"{name}.0", channels, 3), f"{name}.1", channels, 3)
