import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.models.quantisation.normalisation import normalise_by_convolution
from accnn.models.quantisation.prepare import prepare
from accnn.models.session import make_session, run


def norm(shape: tuple[int, ...], *, computed: bool = False) -> onnx.ModelProto:
    rng = np.random.default_rng(5)
    arrays = {
        "scale": rng.standard_normal(shape[1]),
        "shift": rng.standard_normal(shape[1]),
        "mean": rng.standard_normal(shape[1]),
        "variance": rng.uniform(0.1, 3, shape[1]),
    }
    nodes = [helper.make_node("Relu", ["x"], ["r"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if computed:
        del arrays["shift"]
        inputs.append(helper.make_tensor_value_info("shift", TensorProto.FLOAT, shape[1:2]))
    names = ["r", "scale", "shift", "mean", "variance"]
    nodes.append(helper.make_node("BatchNormalization", names, ["y"], epsilon=1e-3))
    graph = helper.make_graph(
        nodes,
        "norm",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_lone_normalisation_becomes_a_depthwise_convolution():
    model, x = norm((2, 5, 4, 3)), np.linspace(-2, 2, 120, dtype=np.float32).reshape(2, 5, 4, 3)

    prepared = prepare(model)

    assert [node.op_type for node in prepared.graph.node] == ["Relu", "Conv"]
    expected = run(make_session(model), {"x": x})["y"]
    found = run(make_session(prepared), {"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("model", [norm((2, 5)), norm((2, 5, 4, 3), computed=True)])
def test_others_stay(model: onnx.ModelProto):
    assert not normalise_by_convolution(model)
    assert model.graph.node[1].op_type == "BatchNormalization"


def test_what_no_output_needs_is_dropped():
    model = norm((2, 5, 4, 3))
    model.graph.node.append(helper.make_node("Sigmoid", ["r"], ["unused"]))

    prepared = prepare(model)

    made = {name for node in prepared.graph.node for name in node.output}
    assert "unused" not in made
    assert {info.name for info in prepared.graph.value_info} <= made
