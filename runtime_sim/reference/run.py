"""Run a graph operator by operator in NumPy."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ...ir.errors import SimulationError
from ...ir.graph import Graph, Op
from ...ir.operators.access import move
from ...ir.operators.elementary import Array
from ...ir.operators.families.windowed import REDUCE
from ...ir.operators.functions import REDUCTIONS, ReduceKind
from ...ir.operators.spec import Family
from ...ir.ops import parts_of, spec_of
from ...ir.resources import Constants, dtype_of, numpy_dtype
from ...ir.types import TensorType
from .elementwise import function, pair, run_dequantize, run_lookup, run_quantize
from .pools import avg_pool, global_avg_pool, max_pool, sum_pool
from .products import conv2d, dense

Kernel: TypeAlias = Callable[[Op, tuple[TensorType, ...], tuple[Array, ...]], Array]


def _move(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    named = dict(zip(op.operands, types, strict=True))
    return move(parts_of(op, named), operands, op.result.type.shape)


def _reduce(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    kind, axis = ReduceKind(op.kind.removeprefix(REDUCE)), op.int("axis")
    with np.errstate(all="ignore"):
        reduced = REDUCTIONS[kind].evaluate(np.moveaxis(operands[0], axis, -1))
    return np.expand_dims(reduced, axis)


def _choice(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    return np.where(*operands)


def _cast(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    with np.errstate(all="ignore"):
        return operands[0].astype(numpy_dtype(op.result.type.dtype))


def _gather(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    x, index = operands
    return np.take(x, index, axis=op.int("axis"))


def _gather_elements(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    x, index = operands
    axis = op.int("axis")
    index = np.where(index < 0, index + x.shape[axis], index)
    within = tuple(
        slice(None) if number == axis else slice(extent)
        for number, extent in enumerate(index.shape)
    )
    return np.take_along_axis(x[within], index, axis=axis)


def _softmax(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    """Return ``exp(x - max) / sum`` along an axis, computed in float64 and rounded once."""
    wide, axis = operands[0].astype(np.float64), op.int("axis")
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True)).astype(np.float32)


_FAMILIES: Mapping[Family, Kernel] = {
    Family.FUNCTION: function,
    Family.PAIR: pair,
    Family.REDUCTION: _reduce,
    Family.CHOICE: _choice,
    Family.CAST: _cast,
    Family.LOOKUP: run_lookup,
    Family.QUANTIZE: run_quantize,
    Family.DEQUANTIZE: run_dequantize,
    Family.MOVE: _move,
}
"""Families whose operators all mean the same but for what their declaration says."""

_KERNELS: Mapping[str, Kernel] = {
    "conv2d": conv2d,
    "dense": dense,
    "softmax": _softmax,
    "gather": _gather,
    "gather_elements": _gather_elements,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "global_avg_pool": global_avg_pool,
    "sum_pool": sum_pool,
}
"""Operators with a meaning of their own."""


def run(graph: Graph, constants: Constants, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Run a verified graph.

    Args:
        graph: The network.
        constants: Data of its constants.
        inputs: Data of its inputs.

    Returns:
        Every tensor by name: inputs, constants and results.

    Raises:
        SimulationError: An input is missing or has another type or shape.
    """
    tensors: dict[str, Array] = {}
    for value in graph.inputs:
        _check_input(value.name, value.type, inputs)
        tensors[value.name] = inputs[value.name]
    tensors.update((value.name, constants[value.name]) for value in graph.constants)
    for op in graph.ops:
        tensors[op.name] = run_op(op, graph.types, tensors)
    return tensors


def run_op(op: Op, types: Mapping[str, TensorType], tensors: Mapping[str, Array]) -> Array:
    """Run one operator on the tensors that it names.

    Args:
        op: The operator.
        types: Of all tensors, by name.
        tensors: Their values, by name.

    Raises:
        VerifyError: The operator's kind is unknown.
    """
    kernel = _FAMILIES.get(spec_of(op).family) or _KERNELS[op.kind]
    names = tuple(name for name in op.operands if name)
    operands = tuple(tensors[name] for name in names)
    return kernel(op, tuple(types[name] for name in names), operands)


def _check_input(name: str, expected: TensorType, inputs: Mapping[str, Array]) -> None:
    if name not in inputs:
        raise SimulationError(f"input %{name} is missing (given: {', '.join(inputs) or 'none'})")
    array = inputs[name]
    found = (dtype_of(array.dtype), array.shape)
    if found != (expected.dtype, expected.shape):
        raise SimulationError(f"input %{name} is {found[0]} {found[1]}, expected {expected}")
