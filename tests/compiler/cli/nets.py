"""Small networks that tests of commands compile."""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def tiny(batch: int | str = 1, kind: str = "Relu", name: str = "x", size: int = 8) -> ModelProto:
    """Return one convolution and an activation, opset 17."""
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", [name, "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node(kind, ["c"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 3, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4, size, size])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
