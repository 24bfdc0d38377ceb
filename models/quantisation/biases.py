"""A matrix product gets a bias with one value per column, or none: the quantiser has no other.

Gemm(x, w, number)                  ->    Gemm(x, w, vector)
Gemm(x, w, matrix or column)        ->    Gemm(x, w) -> Add
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper


def give_biases_columns(model: ModelProto) -> bool:
    """Replace every other constant bias of a Gemm; was there any?"""
    graph = model.graph
    weights = {weight.name: weight for weight in graph.initializer}
    products = [
        node
        for node in graph.node
        if node.op_type == "Gemm" and len(node.input) == 3 and node.input[2] in weights
    ]
    changed = False
    for node in products:
        bias = numpy_helper.to_array(weights[node.input[2]])
        columns = _columns(node, weights.get(node.input[1]))
        if columns is None or bias.shape == (columns,):
            continue
        changed = True
        if bias.shape[:-1] in ((), (1,)):
            _name_bias(model, node, np.broadcast_to(bias.reshape(-1), columns))
        else:
            _add_apart(model, node, bias)
    return changed


def _columns(node: NodeProto, weight: TensorProto | None) -> int | None:
    """Return how many columns a product has, ``None`` where its second operand is computed."""
    is_turned = any(item.name == "transB" and item.i for item in node.attribute)
    return None if weight is None else weight.dims[0 if is_turned else 1]


def _name_bias(model: ModelProto, node: NodeProto, bias: NDArray[Any]) -> None:
    name = f"{node.output[0]}/bias"
    model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(bias), name))
    node.input[2] = name


def _add_apart(model: ModelProto, node: NodeProto, bias: NDArray[Any]) -> None:
    """Add a matrix behind a product, multiplied by what the product multiplies its bias by."""
    beta = next((item.f for item in node.attribute if item.name == "beta"), 1.0)
    _name_bias(model, node, (bias * bias.dtype.type(beta)))
    result, product = node.output[0], f"{node.output[0]}/product"
    add = helper.make_node("Add", [product, node.input[2]], [result], f"{node.name}/bias")
    del node.input[2]
    node.output[0] = product
    model.graph.node.insert(list(model.graph.node).index(node) + 1, add)
