"""YOLOv2, the detector on DarkNet-19; published for images of 416x416.

The output is the grid of raw predictions ``[N, 5 * (5 + classes), H / 32, W / 32]``.

References:
    Redmon, Farhadi: YOLO9000: Better, Faster, Stronger. CVPR 2017; ``yolov2.cfg`` of DarkNet.
"""

from .builder import NetBuilder, Value

_SLOPE = 0.1
_ANCHORS = 5
_STAGES = (
    (32,),
    (64,),
    (128, 64, 128),
    (256, 128, 256),
    (512, 256, 512, 256, 512),
    (1024, 512, 1024, 512, 1024),
)


def yolov2(net: NetBuilder) -> Value:
    """Add YOLOv2: 50,983,561 values in the published file for the 80 classes of COCO.

    Of these 20,672 are running statistics, which are no parameters.
    """
    x, fine, index = net.input, net.input, 1
    for stage, widths in enumerate(_STAGES):
        if stage > 0:
            fine = x
            x = net.max_pool(x, f"pool{stage}", 2, 2)
        for position, width in enumerate(widths):
            x = _unit(net, x, index, width, 1 if position % 2 else 3)
            index += 1
    x = _unit(net, x, 19, 1024, 3)
    x = _unit(net, x, 20, 1024, 3)
    near = net.space_to_depth(_unit(net, fine, 21, 64, 1), "reorg", 2)
    x = _unit(net, net.concat((near, x), "route"), 22, 1024, 3)
    return net.conv(x, "conv23", _ANCHORS * (5 + net.options.classes), 1)


def _unit(net: NetBuilder, x: Value, index: int, published: int, kernel: int) -> Value:
    """Add convolution, normalisation and leaky ReLU."""
    channels = net.channels(published)
    y = net.conv(x, f"conv{index}", channels, kernel, pad=kernel // 2, bias=False)
    return net.leaky_relu(net.batch_norm(y, f"bn{index}"), f"leaky{index}", _SLOPE)
