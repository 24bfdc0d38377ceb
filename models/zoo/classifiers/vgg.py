"""VGG-16 (configuration D, without batch normalisation, as torchvision).

References:
    Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition.
    ICLR 2015.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


def vgg16(net: NetBuilder) -> LayerValue:
    """Add VGG-16 (138,357,544 parameters)."""
    x = net.image()
    for stage, widths in enumerate(_STAGES, start=1):
        for index, width in enumerate(widths, start=1):
            x = net.conv(x, f"conv{stage}_{index}", net.channels(width), 3, pad=1)
            x = net.relu(x, f"relu{stage}_{index}")
        x = net.max_pool(x, f"pool{stage}", 2, 2)
    x = net.flatten(net.adaptive_average_pool(x, "avgpool", 7), "flatten")
    for index in (6, 7):
        x = net.relu(net.linear(x, f"fc{index}", net.channels(4096)), f"relu{index}")
    return net.linear(x, "fc8", net.options.classes)
