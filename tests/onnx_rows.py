"""Convolutions in a row as ONNX models."""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def convolutions_in_a_row(*convolutions: tuple[int, int, int, int], size: int = 14) -> ModelProto:
    """Return convolutions in a row, each (inputs, outputs, kernel, stride), "same" padding."""
    rng = np.random.default_rng(0)
    nodes, weights, name = [], [], "x"
    extent = size
    for number, (inputs, outputs, kernel, stride) in enumerate(convolutions):
        data = rng.standard_normal((outputs, inputs, kernel, kernel)).astype(np.float32)
        weights.append(numpy_helper.from_array(data, f"w{number}"))
        nodes.append(
            helper.make_node(
                "Conv",
                [name, f"w{number}"],
                [f"y{number}"],
                name=f"conv{number}",
                pads=[kernel // 2] * 4,
                strides=[stride] * 2,
            )
        )
        name, extent = f"y{number}", (extent - 1) // stride + 1
    shape = [1, convolutions[-1][1], extent, extent]
    graph = helper.make_graph(
        nodes,
        "row",
        [
            helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, [1, convolutions[0][0], size, size]
            )
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
