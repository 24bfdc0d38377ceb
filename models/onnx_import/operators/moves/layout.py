"""Import of what moves elements: reshape and its kin, transpose, concat, identity."""

import math

import numpy as np

from .....ir.resources import numpy_dtype
from ...arguments import constant_input, normal_axis, scalar_input
from ...builder import Builder
from ...folding import check_size
from ...node import Node
from ...tensors import computed_type, to_array
from ..elementwise import import_unary


def constant(node: Node, b: Builder) -> None:
    """``Constant`` of any kind but strings and sparse tensors."""
    found = node.tensor("value")
    if found is not None:
        b.set_known(node.outputs[0], to_array(found))
    elif node.has("value_float"):
        b.set_known(node.outputs[0], np.array(node.float("value_float", 0.0), np.float32))
    elif node.has("value_int"):
        b.set_known(node.outputs[0], np.array(node.int("value_int", 0), np.int64))
    elif node.has("value_ints"):
        b.set_known(node.outputs[0], np.array(node.ints("value_ints"), np.int64))
    else:
        raise node.refusal("holds neither a tensor nor a number")


def eye_like(node: Node, b: Builder) -> None:
    """``EyeLike``: a constant."""
    found = b.type_of(node.input(0))
    if len(found.shape) != 2:
        raise node.refusal(f"makes a matrix of a tensor of shape {found.shape}")
    code = node.int("dtype", 0)
    dtype = computed_type(code, f"{node.loc} makes what") if code else found.dtype
    rows, columns = found.shape
    check_size(node, rows * columns)
    b.set_known(node.outputs[0], np.eye(rows, columns, node.int("k", 0), numpy_dtype(dtype)))


def has_element(node: Node, b: Builder) -> None:
    """``OptionalHasElement``: a constant; a tensor is always there."""
    b.set_known(node.outputs[0], np.array(node.has_input(0)))


def identity(node: Node, b: Builder) -> None:
    """``Identity``."""
    b.alias(node.outputs[0], node.input(0))


def dropout(node: Node, b: Builder) -> None:
    """``Dropout`` in inference, or of nothing: the operand itself."""
    training = scalar_input(b, node, 2, "training mode")
    ratio = scalar_input(b, node, 1, "ratio") if training else 0.0
    if ratio != 0.0:
        raise node.refusal("drops at random in training mode")
    if any(node.outputs[1:]):
        shape = b.type_of(node.input(0)).shape
        check_size(node, math.prod(shape))
        b.set_known(node.outputs[1], np.ones(shape, bool))
    b.alias(node.outputs[0], node.input(0))


def shape(node: Node, b: Builder) -> None:
    """``Shape``: shapes are static, so this is a constant."""
    extents = b.type_of(node.input(0)).shape
    first, last = node.int("start", 0), node.int("end", len(extents))
    b.set_known(node.outputs[0], np.array(extents[first:last], np.int64))


def size(node: Node, b: Builder) -> None:
    """``Size``: a constant."""
    b.set_known(node.outputs[0], np.array(b.type_of(node.input(0)).elements, np.int64))


def _reshape_to(node: Node, b: Builder, target: tuple[int, ...]) -> None:
    import_unary("reshape", node, b, {"shape": target})


def reshape(node: Node, b: Builder) -> None:
    """``Reshape`` to a constant shape; 0 keeps an extent, -1 infers one."""
    source = b.type_of(node.input(0)).shape
    wanted = [int(extent) for extent in constant_input(b, node, 1, "shape").reshape(-1)]
    if not node.int("allowzero", 0):
        wanted = [
            source[axis] if extent == 0 and axis < len(source) else extent
            for axis, extent in enumerate(wanted)
        ]
    rest = math.prod(extent for extent in wanted if extent != -1)
    if wanted.count(-1) == 1 and rest > 0:
        unknown = wanted.index(-1)
        wanted[unknown] = math.prod(source) // rest
    if math.prod(wanted) != math.prod(source) or any(extent < 1 for extent in wanted):
        raise node.refusal(f"cannot reshape {source} to {tuple(wanted)}")
    _reshape_to(node, b, tuple(wanted))


def flatten(node: Node, b: Builder) -> None:
    """``Flatten`` to two axes."""
    source = b.type_of(node.input(0)).shape
    axis = node.int("axis", 1)
    axis = len(source) if axis == len(source) else normal_axis(node, axis, len(source))
    _reshape_to(node, b, (math.prod(source[:axis]), math.prod(source[axis:])))


def _axes(node: Node, b: Builder) -> tuple[int, ...] | None:
    """Return axes: an attribute before opset 13, an input since; ``None`` if absent."""
    if node.opset < 13:
        return node.ints("axes") if node.has("axes") else None
    if not node.has_input(1):
        return None
    return tuple(int(axis) for axis in constant_input(b, node, 1, "axes").reshape(-1))


def squeeze(node: Node, b: Builder) -> None:
    """``Squeeze``."""
    source, axes = b.type_of(node.input(0)).shape, _axes(node, b)
    if axes is None:
        axes = tuple(axis for axis, extent in enumerate(source) if extent == 1)
    dropped = {normal_axis(node, axis, len(source)) for axis in axes}
    if any(source[axis] != 1 for axis in dropped):
        raise node.refusal(f"squeezes axes {axes} of {source}, which are not all 1")
    _reshape_to(node, b, tuple(x for axis, x in enumerate(source) if axis not in dropped))


def unsqueeze(node: Node, b: Builder) -> None:
    """``Unsqueeze``."""
    source, axes = b.type_of(node.input(0)).shape, _axes(node, b)
    if not axes:
        raise node.refusal("lacks axes")
    rank = len(source) + len(axes)
    added = {normal_axis(node, axis, rank) for axis in axes}
    if len(added) != len(axes):
        raise node.refusal(f"names an axis twice: {axes}")
    rest = iter(source)
    _reshape_to(node, b, tuple(1 if axis in added else next(rest) for axis in range(rank)))


def transpose(node: Node, b: Builder) -> None:
    """``Transpose``; the default reverses the axes."""
    rank = len(b.type_of(node.input(0)).shape)
    perm = node.ints("perm", tuple(reversed(range(rank))))
    import_unary("transpose", node, b, {"perm": perm})


def concat(node: Node, b: Builder) -> None:
    """``Concat``; integer operands need one quantisation, empty ones do not count."""
    out = node.outputs[0]
    known = {name: b.known(name) for name in node.inputs}
    filled = (name for name in node.inputs if (array := known[name]) is None or array.size)
    operands = tuple(b.value(name) for name in filled)
    if len(operands) == 1:
        b.bind(out, operands[0])
        return
    rank = len(b.types[operands[0]].shape)
    axis = normal_axis(node, node.int("axis", 0), rank)
    b.bind(out, b.emit("concat", operands, out, node, attrs={"axis": axis}))
