"""Float products where the MAC array knows integers only."""

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module
from accnn.ir.ops import is_mac, make_op
from accnn.ir.resources import Constants
from accnn.ir.types import DType, TensorType
from accnn.passes.base import Context
from accnn.passes.graph.split_float_products import SplitFloatProducts
from accnn.runtime_sim.reference.run import run
from tests.flow import compile_graph

CASES = {
    "dense": ((3, 7), (5, 7), {"act": "relu"}),
    "dense clipped": ((3, 7), (5, 7), {"act": "clip", "lo": -0.5, "hi": 1.0}),
    "dense of a batch": ((2, 3, 7), (2, 5, 7), {}),
    "conv2d": ((2, 4, 6, 5), (6, 4, 3, 2), {"pads": (1, 0, 1, 1), "stride": (2, 1)}),
    "conv2d grouped": ((1, 4, 5, 5), (6, 2, 2, 2), {"groups": 2, "dilation": (2, 1)}),
}


def network(case: str) -> tuple[Graph, dict[str, np.ndarray]]:
    """Return one product, with a bias if it can have one, and its constants."""
    x, w, attrs = CASES[case]
    rng = np.random.default_rng(0)
    shapes = {"x": x, "w": w} | ({} if case.endswith("batch") else {"b": w[:1]})
    types = {name: TensorType(DType.F32, shape) for name, shape in shapes.items()}
    op = make_op(case.split()[0], tuple(types), types, "y", attrs=attrs)
    values = {name: Value(name, type) for name, type in types.items()}
    data = {name: rng.normal(size=shapes[name]).astype(np.float32) for name in list(shapes)[1:]}
    graph = Graph(
        name="g",
        inputs=(values["x"],),
        constants=tuple(values[name] for name in data),
        ops=(op,),
        outputs=("y",),
    )
    return graph, data


def split(graph: Graph, data: dict[str, np.ndarray], arch: str) -> Module:
    module = Module(graph=graph, arch=load_architecture(arch), constants=Constants(data))
    return SplitFloatProducts().run(module, Context())


@pytest.mark.parametrize("case", CASES)
def test_the_result_stays(case: str):
    graph, data = network(case)
    inputs = {"x": np.random.default_rng(1).normal(size=CASES[case][0]).astype(np.float32)}

    after = split(graph, data, "edge-1m")

    after.verify()
    assert not any(is_mac(op) for op in after.graph.ops)
    expected = run(graph, Constants(data), inputs)["y"]
    found = run(after.graph, after.constants, inputs)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_an_array_of_floats_keeps_its_products():
    graph, data = network("conv2d")

    assert split(graph, data, "edge-fp32").graph is graph


def test_an_integer_machine_runs_what_is_left_in_float():
    compiled = compile_graph(*network("conv2d"), "edge-1m", budget=4000)

    result = compiled.run(detect_races=True)
    np.testing.assert_allclose(result.tensor("y"), compiled.expected["y"], rtol=1e-5, atol=1e-5)
