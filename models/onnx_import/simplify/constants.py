"""Turn dequantised constants that float operators still read into float constants."""

import numpy as np

from ....ir.elementary import Array, dequantize
from ....ir.graph import Graph, Op, Value
from ....ir.resources import Constants
from ....ir.types import DType, TensorType


def dequantize_constants(graph: Graph, constants: Constants) -> tuple[Graph, Constants]:
    """Replace each ``dequantize`` of a constant by its value, under the same name."""
    found = {
        op.name: _value(op, graph, constants)
        for op in graph.ops
        if op.kind == "dequantize" and op.operands[0] in graph.constant_names
    }
    if not found:
        return graph, constants
    added = (Value(name, TensorType(DType.F32, array.shape)) for name, array in found.items())
    folded = Graph(
        name=graph.name,
        inputs=graph.inputs,
        constants=(*graph.constants, *added),
        ops=tuple(op for op in graph.ops if op.name not in found),
        outputs=graph.outputs,
    )
    return folded, constants.with_arrays(found)


def _value(op: Op, graph: Graph, constants: Constants) -> Array:
    (name,) = op.operands
    quant = graph.types[name].quant
    assert quant is not None, "the table demands it"
    shape = [1] * constants[name].ndim
    if quant.axis is not None:
        shape[quant.axis] = -1
    scale = np.array(quant.scale, np.float32).reshape(shape)
    return dequantize(constants[name], scale, np.array(quant.zero_point).reshape(shape))
