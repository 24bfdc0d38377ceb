"""FCN and DeepLabV3 on ResNet-50, and LR-ASPP on MobileNetV3-Large (as torchvision).

The output is ``[N, classes, H, W]``. Auxiliary classifiers, which serve training only, are left
out.

References:
    Long, Shelhamer, Darrell: Fully Convolutional Networks for Semantic Segmentation. CVPR 2015.
    Chen, Papandreou, Schroff, Adam: Rethinking Atrous Convolution for Semantic Image Segmentation.
    2017.
    Howard et al.: Searching for MobileNetV3. ICCV 2019, section 6.4 (LR-ASPP).
"""

from ..classifiers import mobilenetv3, resnet
from ..layers.builder import LayerFunction, NetBuilder
from ..layers.structure import LayerValue

_RATES = (12, 24, 36)


def fcn_resnet50(net: NetBuilder) -> LayerValue:
    """Add FCN (32,957,013 parameters for 21 classes; 2,365,205 more for the auxiliary head)."""
    x = net.unit(resnet.dilated_trunk(net), "head", net.channels(512), 3)
    return _full_size(net, net.conv(x, "classifier", net.options.classes, 1))


def deeplabv3_resnet50(net: NetBuilder) -> LayerValue:
    """Add DeepLabV3 (39,638,869 parameters for 21 classes; 2,365,205 more for the auxiliary)."""
    x, width = resnet.dilated_trunk(net), net.channels(256)
    branches = [net.unit(x, "aspp.0", width)]
    branches += [
        net.unit(x, f"aspp.{index}", width, 3, dilation=rate)
        for index, rate in enumerate(_RATES, start=1)
    ]
    pooled = net.unit(net.global_average_pool(x, "aspp.pool"), "aspp.image", width)
    branches.append(_resized(net, pooled, "aspp.spread", x))
    x = net.unit(net.concat(branches, "aspp.concat"), "aspp.project", width)
    x = net.unit(x, "head", width, 3)
    return _full_size(net, net.conv(x, "classifier", net.options.classes, 1))


def lraspp_mobilenetv3(net: NetBuilder) -> LayerValue:
    """Add LR-ASPP (3,221,538 parameters for 21 classes)."""
    x, low = mobilenetv3.dilated_trunk(net)
    pooled = net.global_average_pool(x, "gate.pool")
    gate = net.conv(pooled, "gate.conv", net.channels(128), 1, bias=False)
    gate = net.activation(gate, "gate", LayerFunction.SIGMOID)
    y = net.mul(net.unit(x, "head", net.channels(128)), gate, "head.scaled")
    y = net.conv(_resized(net, y, "head.spread", low), "high", net.options.classes, 1)
    return _full_size(net, net.add(net.conv(low, "low", net.options.classes, 1), y, "sum"))


def _full_size(net: NetBuilder, x: LayerValue) -> LayerValue:
    size = net.options.image_size
    return net.resize(x, "upsample", (size, size))


def _resized(net: NetBuilder, x: LayerValue, name: str, like: LayerValue) -> LayerValue:
    return net.resize(x, name, (like.shape[2], like.shape[3]))
