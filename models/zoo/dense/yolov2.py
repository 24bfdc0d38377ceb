"""YOLOv2, the detector on DarkNet-19; published for images of 416x416.

The output is the grid of raw predictions ``[N, 5 * (5 + classes), H / 32, W / 32]``.

References:
    Redmon, Farhadi: YOLO9000: Better, Faster, Stronger. CVPR 2017; ``yolov2.cfg`` of DarkNet.
"""

from ..classifiers.darknet import trunk, unit
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_ANCHORS = 5


def yolov2(net: NetBuilder) -> LayerValue:
    """Add YOLOv2: 50,983,561 values in the published file for the 80 classes of COCO.

    Of these 20,672 are running statistics, which are no parameters.
    """
    x, fine = trunk(net)
    x = unit(net, x, 19, 1024, 3)
    x = unit(net, x, 20, 1024, 3)
    near = net.space_to_depth(unit(net, fine, 21, 64, 1), "reorg", 2)
    x = unit(net, net.concat((near, x), "route"), 22, 1024, 3)
    return net.conv(x, "conv23", _ANCHORS * (5 + net.options.classes), 1)
