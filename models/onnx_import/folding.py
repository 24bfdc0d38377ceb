"""Evaluate nodes whose inputs are all constant, with ONNX's own reference implementation.

This serves shape arithmetic (``Shape -> Gather -> Concat -> Reshape``), the small sums that
exporters leave behind, and tensors without elements, which no machine stores.
"""

import math
from collections.abc import Sequence

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ...ir.operators.elementary import Array
from .node import Node

LARGEST_RESULT = 2**26
"""Elements of a constant that a node makes; beyond, a small file would make a huge tensor."""

_ELEMENTWISE = frozenset(
    (
        *("Abs", "Add", "And", "Cast", "Ceil", "Div", "Equal", "Floor", "Greater"),
        *("GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not"),
        *("Or", "Pow", "Reciprocal", "Relu", "Round", "Sign", "Sqrt", "Sub", "Where", "Xor"),
    )
)
_MOVING = frozenset(
    (
        *("Concat", "CumSum", "Flatten", "Gather", "Identity", "ReduceMax", "ReduceMin"),
        *("ReduceProd", "ReduceSum", "Reshape", "Slice", "Split", "Squeeze"),
        *("Transpose", "Trilu", "Unsqueeze"),
    )
)
_EXPANDING = frozenset({"ConstantOfShape", "Expand", "MelWeightMatrix", "Range", "Tile"})
FOLDABLE = _ELEMENTWISE | _MOVING | _EXPANDING


def check_size(node: Node, elements: int, most: int = LARGEST_RESULT) -> None:
    """Check that a constant that a node makes is none that nobody could hold.

    Args:
        node: The node.
        elements: Of the constant.
        most: So many are fine.

    Raises:
        ModelError: They are more.
    """
    if elements > most:
        raise node.refusal(f"makes a constant of more than {LARGEST_RESULT} elements")


def numbered(node: Node, shape: tuple[int, ...]) -> Array:
    """Return the number of every element of a tensor, in the order in which they lie.

    Raises:
        ModelError: They are more than a constant may have.
    """
    check_size(node, math.prod(shape))
    return np.arange(math.prod(shape)).reshape(shape)


def is_foldable(node: Node) -> bool:
    """Whether a node may be evaluated once its inputs are constant."""
    return not node.domain and node.kind in FOLDABLE


def fold(node: Node, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Return the outputs of a node with constant inputs.

    Raises:
        ModelError: The result would be huge, or the node does not suit its inputs.
    """
    given = sum(array.size for array in inputs if array is not None)
    check_size(node, _result_bound(node, inputs), max(LARGEST_RESULT, given))
    feeds = {
        name: array
        for name, array in zip(node.inputs, inputs, strict=True)
        if name and array is not None
    }
    try:
        with np.errstate(all="ignore"):
            results = _evaluator(node).run(None, feeds)
    except (RuntimeError, ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
        raise node.refusal(f"cannot be evaluated: {error}") from error
    return tuple(np.asarray(result) for result in results)


def _evaluator(node: Node) -> ReferenceEvaluator:
    infos = [
        helper.make_empty_tensor_value_info(name) for name in dict.fromkeys(node.inputs) if name
    ]
    outs = [helper.make_empty_tensor_value_info(name) for name in node.outputs if name]
    graph = helper.make_graph([node.proto], "fold", infos, outs)
    return ReferenceEvaluator(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    )


def _result_bound(node: Node, inputs: Sequence[Array | None]) -> int:
    """Return an upper bound of the elements of a node's result."""
    arrays = [array for array in inputs if array is not None]
    if node.kind == "Range" and len(arrays) == 3:
        start, limit, delta = (
            float(array.reshape(-1)[0]) if array.size else 0.0 for array in arrays
        )
        return 0 if not delta else math.ceil(min(abs((limit - start) / delta), 2.0**62))
    if node.kind == "ConstantOfShape" and arrays:
        return _product(arrays[0])
    if node.kind == "MelWeightMatrix" and len(arrays) >= 2:
        return _product(np.concatenate([array.reshape(-1)[:1] for array in arrays[:2]]))
    if node.kind == "NonZero":
        return max(1, arrays[0].ndim) * arrays[0].size
    if node.kind in ("Expand", "Tile") and len(arrays) == 2:
        return max(1, arrays[0].size) * _product(arrays[1])
    if node.kind in _ELEMENTWISE:
        return _broadcast_elements(arrays)
    if node.kind == "Gather" and len(arrays) == 2:
        return max(1, arrays[0].size) * max(1, arrays[1].size)
    return sum(array.size for array in arrays)


def _broadcast_elements(arrays: Sequence[Array]) -> int:
    rank = max((array.ndim for array in arrays), default=0)
    padded = [(1,) * (rank - array.ndim) + array.shape for array in arrays]
    return math.prod(max(extents) for extents in zip(*padded, strict=True))


def _product(extents: Array) -> int:
    return math.prod(max(1, int(extent)) for extent in extents.reshape(-1)[:64])
