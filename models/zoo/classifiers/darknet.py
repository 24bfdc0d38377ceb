"""DarkNet-19, the classifier under YOLOv2.

References:
    Redmon, Farhadi: YOLO9000: Better, Faster, Stronger. CVPR 2017, table 6.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_SLOPE = 0.1
# Output channels per stage; kernels alternate 3x3, 1x1, 3x3, ...; a max-pool between stages.
_STAGES = (
    (32,),
    (64,),
    (128, 64, 128),
    (256, 128, 256),
    (512, 256, 512, 256, 512),
    (1024, 512, 1024, 512, 1024),
)


def darknet19(net: NetBuilder) -> LayerValue:
    """Add DarkNet-19 (20,842,376 parameters)."""
    x, _ = trunk(net)
    x = net.conv(x, "conv19", net.options.classes, 1)
    return net.flatten(net.global_average_pool(x, "avgpool"), "flatten")


def trunk(net: NetBuilder) -> tuple[LayerValue, LayerValue]:
    """Add the units before the classifier; return the result, and what the last max-pool reads."""
    x = fine = net.image()
    index = 1
    for stage, widths in enumerate(_STAGES):
        if stage > 0:
            fine = x
            x = net.max_pool(x, f"pool{stage}", 2, 2)
        for position, width in enumerate(widths):
            x = unit(net, x, index, width, kernel=1 if position % 2 else 3)
            index += 1
    return x, fine


def unit(net: NetBuilder, x: LayerValue, index: int, published: int, kernel: int) -> LayerValue:
    """Add convolution, normalisation and leaky ReLU.

    Args:
        net: What it is added to.
        x: Its input.
        index: Number in the names of its layers.
        published: Output channels at width 1.
        kernel: Height and width of the window.
    """
    channels = net.channels(published)
    y = net.conv(x, f"conv{index}", channels, kernel, pad=kernel // 2, bias=False)
    return net.leaky_relu(net.batch_norm(y, f"bn{index}"), f"leaky{index}", _SLOPE)
