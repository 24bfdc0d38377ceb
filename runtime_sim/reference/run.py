"""Run a graph operator by operator in NumPy."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ...ir.elementary import Array
from ...ir.errors import SimulationError
from ...ir.graph import Graph, Op
from ...ir.ops import spec_of
from ...ir.resources import Constants, dtype_of
from ...ir.types import TensorType
from .activation import UNARY
from .elementwise import add, mul, run_dequantize, run_lookup, run_quantize
from .pools import avg_pool, global_avg_pool, max_pool
from .products import conv2d, dense

Kernel: TypeAlias = Callable[[Op, tuple[TensorType, ...], tuple[Array, ...]], Array]


def _layout(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    match op.kind:
        case "reshape":
            return operands[0].reshape(op.ints("shape"))
        case "transpose":
            return np.ascontiguousarray(operands[0].transpose(op.ints("perm")))
        case _:
            return np.concatenate(operands, axis=op.int("axis"))


def _unary(op: Op, types: tuple[TensorType, ...], operands: tuple[Array, ...]) -> Array:
    return UNARY[op.kind](op, operands[0])


_KERNELS: Mapping[str, Kernel] = {
    "conv2d": conv2d,
    "dense": dense,
    "add": add,
    "mul": mul,
    "sub": lambda op, types, operands: np.subtract(*operands),
    "div": lambda op, types, operands: np.divide(*operands),
    **dict.fromkeys(UNARY, _unary),
    "lookup": run_lookup,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "global_avg_pool": global_avg_pool,
    "reshape": _layout,
    "transpose": _layout,
    "concat": _layout,
    "quantize": run_quantize,
    "dequantize": run_dequantize,
}


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

    Raises:
        VerifyError: The operator's kind is unknown.
    """
    spec_of(op)
    names = tuple(name for name in op.operands if name)
    operands = tuple(tensors[name] for name in names)
    return _KERNELS[op.kind](op, tuple(types[name] for name in names), operands)


def _check_input(name: str, expected: TensorType, inputs: Mapping[str, Array]) -> None:
    if name not in inputs:
        raise SimulationError(f"input %{name} is missing (given: {', '.join(inputs) or 'none'})")
    array = inputs[name]
    found = (dtype_of(array.dtype), array.shape)
    if found != (expected.dtype, expected.shape):
        raise SimulationError(f"input %{name} is {found[0]} {found[1]}, expected {expected}")
