"""ResNet-50, ResNeXt-50, and the segmentation networks FCN and DeepLabV3 on ResNet-50.

References:
    He et al. Deep Residual Learning for Image Recognition. CVPR, 2016.
    Xie et al. Aggregated Residual Transformations for Deep Neural Networks. CVPR, 2017.
    Long et al. Fully Convolutional Networks for Semantic Segmentation. CVPR, 2015.
    Chen et al. Rethinking Atrous Convolution for Semantic Image Segmentation. 2017.
"""

from ...ir.graph import Graph
from ..published.depths import RESNET50
from .builder import GraphBuilder

_CLASSES_IMAGENET = 1000
_CLASSES_VOC = 21


def resnet50() -> Graph:
    """ResNet-50 with the stride on the 3x3 convolution, input [1, 3, 224, 224]."""
    net = GraphBuilder("resnet50")
    x = _backbone(net, net.input("image", 1, 3, 224, 224))
    return net.finish(net.classifier(x, _CLASSES_IMAGENET))


def resnext50() -> Graph:
    """ResNeXt-50 (32x4d), input [1, 3, 224, 224]."""
    net = GraphBuilder("resnext50")
    x = _backbone(net, net.input("image", 1, 3, 224, 224), groups=32, width=2)
    return net.finish(net.classifier(x, _CLASSES_IMAGENET))


def fcn() -> Graph:
    """FCN with a dilated ResNet-50 (output stride 8), input [1, 3, 224, 224], 21 classes."""
    net = GraphBuilder("fcn")
    x = _backbone(net, net.input("image", 1, 3, 224, 224), dilated=True)
    x = net.conv(net.conv(x, 512, 3), _CLASSES_VOC)
    return net.finish(net.op("resize", [x], (1, _CLASSES_VOC, 224, 224)))


def deeplabv3() -> Graph:
    """DeepLabV3 with a dilated ResNet-50, rates 12 24 36, input [1, 3, 224, 224], 21 classes."""
    net = GraphBuilder("deeplabv3")
    x = _backbone(net, net.input("image", 1, 3, 224, 224), dilated=True)
    height, width = net.shape(x)[2:]
    branches = [net.conv(x, 256), *(net.conv(x, 256, 3, dilation=rate) for rate in (12, 24, 36))]
    pooled = net.conv(net.mean(x), 256)
    branches.append(net.op("resize", [pooled], (1, 256, height, width)))
    x = net.conv(net.conv(net.concat(*branches), 256), 256, 3)
    x = net.conv(x, _CLASSES_VOC)
    return net.finish(net.op("resize", [x], (1, _CLASSES_VOC, 224, 224)))


def _backbone(
    net: GraphBuilder, x: str, *, groups: int = 1, width: int = 1, dilated: bool = False
) -> str:
    x = net.pool(net.conv(x, 64, 7, stride=2), 3, stride=2, pad=1)
    dilation = 1
    for stage, blocks in enumerate(RESNET50):
        before = dilation
        shrink = stage > 0 and not (dilated and stage >= 2)
        if stage >= 2 and dilated:
            dilation *= 2
        for block in range(blocks):
            first = block == 0
            x = _bottleneck(
                net,
                x,
                64 << stage,
                width=(64 << stage) * width,
                groups=groups,
                stride=2 if first and shrink else 1,
                dilation=before if first else dilation,
            )
    return x


def _bottleneck(
    net: GraphBuilder, x: str, planes: int, *, width: int, groups: int, stride: int, dilation: int
) -> str:
    y = net.conv(x, width)
    y = net.conv(y, width, 3, stride=stride, dilation=dilation, groups=groups)
    y = net.conv(y, 4 * planes)
    if stride > 1 or net.shape(x) != net.shape(y):
        x = net.conv(x, 4 * planes, stride=stride)
    return net.add(y, x)
