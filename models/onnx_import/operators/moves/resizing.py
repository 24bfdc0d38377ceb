"""Import of ``Resize``: nearest by copies, everything else by products with constant matrices."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from onnx import helper

from .....ir.operators.elementary import Array
from .....ir.types import DType
from ...arguments import constant_input, normal_axis
from ...builder import Builder
from ...folding import check_size, fold
from ...node import Node
from ..chain import Chain


def resize(node: Node, b: Builder) -> None:
    """``Resize`` along every axis by itself."""
    chain, value = Chain(node, b), b.value(node.input(0))
    shape = chain.shape(value)
    axes = tuple(normal_axis(node, axis, len(shape)) for axis in node.ints("axes", ()))
    axes = axes or tuple(range(len(shape)))
    rules = _axes(node, b, [shape[axis] for axis in axes])
    for axis, rule in zip(axes, rules, strict=True):
        if rule.keeps(shape[axis]):
            continue
        along = partial(_along, node, rule)
        if node.str("mode", "nearest") == "nearest" and not _crops(node):
            value = _nearest(chain, value, axis, along(np.arange(shape[axis])[None, :]))
        else:
            check_size(node, shape[axis] * max(shape[axis], rule.size))
            outside = along(np.zeros((1, shape[axis])))
            matrix = along(np.eye(shape[axis])) - outside
            value = _product(chain, value, axis, matrix, outside[0])
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


_WHOLE = 1e-5
"""How far a product with a scale may be from a whole number that is meant, relative to it."""

_BY_SCALE = frozenset({"half_pixel", "asymmetric"})
"""Modes in which only the scale says where an element lies."""


def _crops(node: Node) -> bool:
    return node.str("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"


@dataclass(frozen=True, slots=True)
class _Axis:
    """How one axis is resized.

    Attributes:
        roi: Part of the axis that is taken, of 0 to 1.
        size: Its extent in the result.
        scale: Distance of the operand's elements in the result, ``None``: as the extents say.
    """

    roi: tuple[float, float]
    size: int
    scale: float | None

    def keeps(self, extent: int) -> bool:
        """Whether an axis of this extent is kept as it is: every element lies where one was."""
        return self.size == extent and self.scale in (None, 1.0) and self.roi == (0.0, 1.0)


def _axes(node: Node, b: Builder, extents: Sequence[int]) -> Iterator[_Axis]:
    """Yield how each axis is resized, given its extent."""
    rois = np.tile(np.array([[0.0], [1.0]]), len(extents))
    if node.has_input(1) and _crops(node):
        rois = constant_input(b, node, 1, "region").reshape(2, len(extents))
    targets = _targets(node, b, extents)
    if len(targets) != len(extents):
        raise node.refusal(f"has {len(targets)} scales or sizes for {len(extents)} axes")
    for (first, last), (size, scale) in zip(rois.T, targets, strict=True):
        yield _Axis((float(first), float(last)), size, scale)


def _targets(node: Node, b: Builder, extents: Sequence[int]) -> list[tuple[int, float | None]]:
    """Return extent and scale of every axis of the result; ``None``: as the extents say."""
    if node.has_input(2):
        scales = [float(item) for item in constant_input(b, node, 2, "scale").reshape(-1)]
        if scales:
            pairs = zip(extents, scales, strict=False)
            return [(_floor(node, extent * scale), scale) for extent, scale in pairs]
    sizes = [int(item) for item in constant_input(b, node, 3, "size").reshape(-1)]
    policy = node.str("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [(size, None) for size in sizes]
    pick = {"not_larger": min, "not_smaller": max}[policy]
    scale = pick(size / extent for size, extent in zip(sizes, extents, strict=False))
    return [(int(scale * extent + 0.5), scale) for extent in extents]


def _floor(node: Node, exact: float) -> int:
    """Return an extent; scales are float32, so that whole ones may come out a little below."""
    nearest = round(exact)
    if abs(exact - nearest) <= _WHOLE * max(1.0, exact):
        return nearest
    if node.str("coordinate_transformation_mode", "half_pixel") == "align_corners":
        raise node.refusal(
            f"aligns the corners of {exact:g} elements: onnxruntime and ONNX's reference differ "
            "on where the last one lies; give whole sizes"
        )
    return math.floor(exact)


def _along(node: Node, axis: _Axis, rows: Array) -> Array:
    """Return rows resized as one axis of the node's operand is, by ONNX's own reference.

    Where the extent is rounded up the reference, which rounds down, sees longer rows.
    """
    extent = rows.shape[1]
    inputs: list[Array | None] = [rows.astype(np.float32), None, None, None]
    if _crops(node):
        inputs[1] = np.array([0, axis.roi[0], 1, axis.roi[1]], np.float32)
    if axis.scale is None or round(axis.scale * extent, 4) == axis.size:
        inputs[3] = np.array([len(rows), axis.size], np.int64)
        return fold(_simple(node, inputs), inputs)[0]
    if int(axis.scale * extent) < axis.size:
        if node.str("coordinate_transformation_mode", "half_pixel") not in _BY_SCALE:
            raise node.refusal(
                f"rounds {axis.scale * extent:g} elements up, which is not supported"
            )
        longer = ((0, 0), (0, math.ceil(1 / axis.scale) + 1))
        inputs[0] = np.pad(rows, longer, mode="edge").astype(np.float32)
    inputs[2] = np.array([1, axis.scale], np.float32)
    return fold(_simple(node, inputs), inputs)[0][:, : axis.size]


def _simple(node: Node, inputs: list[Array | None]) -> Node:
    """Return the node on a matrix whose columns are resized."""
    proto = helper.make_node(
        "Resize", [f"i{n}" if item is not None else "" for n, item in enumerate(inputs)], ["o"]
    )
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


def _product(chain: Chain, value: str, axis: int, matrix: Array, outside: Array) -> str:
    """Return the product along an axis with a matrix of input by output.

    Args:
        chain: Where operators are added.
        value: The value.
        axis: The axis.
        matrix: What each element of the operand adds to each of the result.
        outside: What the result has where the operand's elements are zero.
    """
    shape, (extent, made) = chain.shape(value), matrix.shape
    if extent == made and (matrix == np.eye(extent)).all() and not outside.any():
        return value
    perm = (*(other for other in range(len(shape)) if other != axis), axis)
    turned = chain.transpose(value, perm)
    rows = chain.reshape(turned, (math.prod(shape) // extent, extent))
    bias = (chain.constant(outside),) if outside.any() else ()
    product = chain("dense", rows, chain.constant(matrix.T), *bias)
    back = chain.reshape(product, (*chain.shape(turned)[:-1], made))
    return chain.transpose(back, tuple(perm.index(other) for other in range(len(shape))))
