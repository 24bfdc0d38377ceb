"""A float32 network: convolutions with fused activations, pools, slow functions, a broadcast."""

from collections.abc import Mapping

import numpy as np

from accnn.ir.graph import Graph, Value
from accnn.ir.ops import make_op
from accnn.ir.types import DType, TensorType
from tests.inputs import Array


def float_network(size: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """Return the network and its data."""
    rng = np.random.default_rng(0)
    shapes = {"w": (24, 8, 3, 3), "b": (24,), "v": (16, 24, 1, 1), "u": (16, 1, 3, 3)}
    data = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    x = Value("x", TensorType(DType.F32, (1, 8, size, size)))
    constants = [Value(name, TensorType(DType.F32, shape)) for name, shape in shapes.items()]
    types = {value.name: value.type for value in (x, *constants)}
    plain = {"stride": (1, 1), "pads": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}
    rows = [
        ("conv2d", ("x", "w", "b"), "a", {**plain, "act": "relu"}),
        ("conv2d", ("a", "v"), "c", {**plain, "pads": (0, 0, 0, 0)}),
        ("conv2d", ("c", "u"), "d", {**plain, "groups": 16, "stride": (2, 2)}),
        ("max_pool", ("c",), "p", {"kernel": (3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)}),
        ("sigmoid", ("d",), "s", {}),
        ("mul", ("s", "p"), "m", {}),
        ("global_avg_pool", ("m",), "g", {}),
        ("add", ("m", "g"), "y", {}),
    ]
    ops = []
    for kind, operands, name, attrs in rows:
        op = make_op(kind, operands, types, name, attrs=attrs)
        types[name] = op.result.type
        ops.append(op)
    graph = Graph(
        name="floats", inputs=(x,), constants=tuple(constants), ops=tuple(ops), outputs=("y",)
    )
    return graph, data
