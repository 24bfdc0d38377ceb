"""Import of ``Resize``: nearest by copies, everything else by products with constant matrices."""

import math
from functools import partial

import numpy as np
from onnx import helper

from ....ir.elementary import Array
from ....ir.types import DType
from ..arguments import constant_input, normal_axis
from ..builder import Builder
from ..folding import fold
from ..node import Node
from .chain import Chain


def resize(node: Node, b: Builder) -> None:
    """``Resize`` along every axis by itself."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    if node.float("extrapolation_value", 0.0) != 0.0 and _crops(node):
        raise node.refusal("has an extrapolation value other than 0")
    axes = tuple(normal_axis(node, axis, len(shape)) for axis in node.ints("axes", ()))
    for position, axis in enumerate(axes or range(len(shape))):
        along = partial(_along, node, b, position, len(axes) or len(shape))
        if node.str("mode", "nearest") == "nearest" and not _crops(node):
            value = _nearest(chain, value, axis, along(np.arange(shape[axis])[None, :]))
        else:
            value = _product(chain, value, axis, along(np.eye(shape[axis])))
    chain.bind(value)


def upsample(node: Node, b: Builder) -> None:
    """``Upsample``, which ``Resize`` replaced: the first index is that of the first element."""
    if node.opset < 9:
        raise node.refusal("has its scales as an attribute, which opset 9 made an input")
    proto = helper.make_node("Resize", [*node.inputs[:1], "", *node.inputs[1:]], node.outputs)
    mode = {"nearest": "nearest", "linear": "linear", "bilinear": "linear"}
    proto.attribute.extend(
        [
            helper.make_attribute("mode", mode[node.str("mode", "nearest")]),
            helper.make_attribute("coordinate_transformation_mode", "asymmetric"),
            helper.make_attribute("nearest_mode", "floor"),
        ]
    )
    resize(Node(proto, _RESIZE), b)


_RESIZE = 13
"""The opset whose ``Resize`` an ``Upsample`` becomes."""


def _crops(node: Node) -> bool:
    return node.str("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"


def _along(node: Node, b: Builder, position: int, count: int, rows: Array) -> Array:
    """Return rows resized as one axis of the node's operand is, by ONNX's own reference."""
    inputs: list[Array | None] = [rows.astype(np.float32), None, None, None]
    if node.has_input(1) and _crops(node):
        roi = constant_input(b, node, 1, "region").reshape(2, count)[:, position]
        inputs[1] = np.array([0, roi[0], 1, roi[1]], np.float32)
    if node.has_input(2) and constant_input(b, node, 2, "scale").size:
        scale = constant_input(b, node, 2, "scale").reshape(-1)[position]
        if node.str("coordinate_transformation_mode", "half_pixel") == "align_corners":
            # onnxruntime counts whole corners, the reference's scale leaves a fraction
            inputs[3] = np.array([len(rows), math.floor(rows.shape[1] * scale)], np.int64)
        else:
            inputs[2] = np.array([1, scale], np.float32)
    else:
        size = constant_input(b, node, 3, "size").reshape(-1)[position]
        inputs[3] = np.array([len(rows), size], np.int64)
    return fold(_simple(node, inputs), inputs)[0]


def _simple(node: Node, inputs: list[Array | None]) -> Node:
    """Return the node on a matrix whose columns are resized."""
    proto = helper.make_node(
        "Resize", [f"i{n}" if item is not None else "" for n, item in enumerate(inputs)], ["o"]
    )
    policy = node.str("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise node.refusal(f"has keep_aspect_ratio_policy = {policy!r}; supported: 'stretch'")
    skipped = ("axes", "keep_aspect_ratio_policy")
    proto.attribute.extend(item for item in node.proto.attribute if item.name not in skipped)
    return Node(proto, node.opset)


def _nearest(chain: Chain, value: str, axis: int, found: Array) -> str:
    indices = np.rint(found[0]).astype(np.int64)
    shape = chain.shape(value)
    factor, rest = divmod(len(indices), shape[axis])
    if not rest and (indices == np.arange(shape[axis]).repeat(factor)).all():
        repeats = tuple(factor if other == axis else 1 for other in range(len(shape)))
        return value if factor == 1 else chain("repeat", value, repeats=repeats)
    return chain("gather", value, chain.constant(indices, DType.S64), axis=axis)


def _product(chain: Chain, value: str, axis: int, matrix: Array) -> str:
    """Return the product along an axis with a matrix of input by output."""
    shape, (extent, made) = chain.shape(value), matrix.shape
    if extent == made and (matrix == np.eye(extent)).all():
        return value
    perm = (*(other for other in range(len(shape)) if other != axis), axis)
    turned = chain.transpose(value, perm)
    rows = chain.reshape(turned, (math.prod(shape) // extent, extent))
    product = chain("dense", rows, chain.constant(matrix.T))
    back = chain.reshape(product, (*chain.shape(turned)[:-1], made))
    return chain.transpose(back, tuple(perm.index(other) for other in range(len(shape))))
