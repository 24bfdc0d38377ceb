"""Networks of the zoo as graphs of shapes: ResNet-50 and what stands on it, DenseNet, clips.

Normalisations after a convolution and rectifiers are fused into what they follow; a normalisation
of anything else stands alone. Every convolution has a bias: what is left of its normalisation.
"""

from collections.abc import Sequence
from typing import Any

from onnx import NodeProto, helper

from ...ir.graph import Attr, Graph
from ..zoo.layers.structure import ZooOptions
from ..zoo.registry import find, structure
from .builder import GraphBuilder

_FUSED = frozenset({"Relu", "Flatten", "BatchNormalization"})
_KINDS = {
    "Add": "add",
    "AveragePool": "avg_pool",
    "Concat": "concat",
    "Gemm": "linear",
    "GlobalAveragePool": "global_avg_pool",
    "MaxPool": "max_pool",
    "Resize": "resize",
}


def resnet50() -> Graph:
    """ResNet-50 with the stride on the 3x3 convolution, input [1, 3, 224, 224]."""
    return _graph("resnet50", "resnet50")


def resnext50() -> Graph:
    """ResNeXt-50 (32x4d), input [1, 3, 224, 224]."""
    return _graph("resnext50", "resnext50")


def fcn() -> Graph:
    """FCN with a dilated ResNet-50 (output stride 8), input [1, 3, 224, 224], 21 classes."""
    return _graph("fcn", "fcn")


def deeplabv3() -> Graph:
    """DeepLabV3 with a dilated ResNet-50, rates 12 24 36, input [1, 3, 224, 224], 21 classes."""
    return _graph("deeplabv3", "deeplabv3")


def densenet121() -> Graph:
    """DenseNet-121, input [1, 3, 224, 224]; normalisation before a convolution stands alone."""
    return _graph("densenet121", "densenet121")


def r2plus1d() -> Graph:
    """R(2+1)D-18, input [1, 3, 16, 224, 224]."""
    return _graph("r2plus1d", "r2plus1d_18")


def s3d() -> Graph:
    """S3D, input [1, 3, 16, 224, 224]."""
    return _graph("s3d", "s3d")


def _graph(name: str, known_as: str) -> Graph:
    """Return a network of the zoo, of images of 224 pixels, as a graph of shapes."""
    found = structure(known_as, ZooOptions(image_size=224, classes=find(known_as).classes))
    (given,) = found.inputs
    net = GraphBuilder(name)
    names = {given.name: net.input("image" if len(given.shape) == 4 else "clip", *given.shape)}
    for node in found.nodes:
        operands = [names[item] for item in node.input if item in names]
        if operands:
            shape = found.shapes[node.output[0]]
            names[node.output[0]] = _added(net, node, operands, shape)
    return net.finish(names[found.output.name])


def _added(
    net: GraphBuilder, node: NodeProto, operands: Sequence[str], shape: Sequence[int]
) -> str:
    """Add what a node does; return the name of what it makes."""
    (first, *_), attrs = operands, {i.name: helper.get_attribute_value(i) for i in node.attribute}
    if node.op_type == "BatchNormalization" and not first.startswith("conv"):
        return net.op("scale_relu", operands, shape, weights=((shape[1],), (shape[1],)))
    if node.op_type in _FUSED:
        return first
    if node.op_type == "Conv":
        return _convolution(net, first, attrs, shape)
    kind = _KINDS[node.op_type] + ("3d" if "kernel_shape" in attrs and len(shape) == 5 else "")
    weights = ((shape[1], net.shape(first)[1]), (shape[1],)) if kind == "linear" else ()
    return net.op(kind, operands, shape, weights=weights, attrs=[("axis", 1)] * (kind == "concat"))


def _convolution(net: GraphBuilder, x: str, attrs: dict[str, Any], shape: Sequence[int]) -> str:
    kernel, stride, groups = tuple(attrs["kernel_shape"]), tuple(attrs["strides"]), attrs["group"]
    weights = ((shape[1], net.shape(x)[1] // groups, *kernel), (shape[1],))
    if len(kernel) == 3:
        space: list[tuple[str, Attr]] = [("kernel", kernel), ("stride", stride)]
        return net.op("conv3d", [x], shape, weights=weights, attrs=space)
    plane: list[tuple[str, Attr]] = [
        ("stride", stride),
        ("pads", tuple(attrs["pads"])),
        ("dilation", tuple(attrs["dilations"])),
        ("groups", groups),
    ]
    return net.op("conv2d", [x], shape, weights=weights, attrs=plane)
