"""Turn dequantised constants that float operators still read into float constants."""

from ....ir.graph import Graph, Value
from ....ir.resources import Constants
from ....ir.types import DType, TensorType
from ..tensors import dequantized


def dequantize_constants(graph: Graph, constants: Constants) -> tuple[Graph, Constants]:
    """Replace each ``dequantize`` of a constant by its value, under the same name."""
    found = {
        op.name: dequantized(constants[op.operands[0]], graph.types[op.operands[0]])
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
