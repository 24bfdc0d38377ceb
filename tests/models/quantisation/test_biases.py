import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.models.quantisation.biases import give_biases_columns
from accnn.models.quantisation.options import QuantizeOptions
from accnn.models.quantisation.prepare import prepare
from accnn.models.quantisation.quantize import quantize
from accnn.models.session import make_session, run


def product(bias: tuple[int, ...] | None, *, turned: int = 0, beta: float = 1.0):
    """Return ``beta * bias`` added to the product of a 3 x 6 and a 6 x 5 matrix."""
    rng = np.random.default_rng(5)
    shape = (5, 6) if turned else (6, 5)
    weights = {"w": rng.standard_normal(shape)}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 6))]
    if bias is None:
        inputs.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, (5,)))
    else:
        weights["b"] = rng.standard_normal(bias)
    attributes = {"transB": turned, "beta": beta}
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "gemm", **attributes)],
        "product",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 5))],
        [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def assert_the_same(model: onnx.ModelProto, other: onnx.ModelProto) -> None:
    x = np.linspace(-2, 2, 18, dtype=np.float32).reshape(3, 6)
    expected, found = (run(make_session(item), {"x": x})["y"] for item in (model, other))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("bias", [(), (1,), (1, 1), (1, 5)])
def test_a_number_or_a_row_becomes_a_vector(bias: tuple[int, ...], turned: int):
    model = product(bias, turned=turned, beta=0.5)

    prepared = prepare(model)

    (node,) = prepared.graph.node
    dims = {item.name: list(item.dims) for item in prepared.graph.initializer}
    assert dims[node.input[2]] == [5]
    assert_the_same(model, prepared)


@pytest.mark.parametrize("bias", [(3, 1), (3, 5)])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_a_column_or_a_matrix_is_added_behind(bias: tuple[int, ...], beta: float):
    model = product(bias, beta=beta)

    prepared = prepare(model)

    assert [node.op_type for node in prepared.graph.node] == ["Gemm", "Add"]
    assert_the_same(model, prepared)


@pytest.mark.parametrize("bias", [(5,), None])
def test_a_vector_or_what_is_computed_stays(bias: tuple[int, ...] | None):
    model = product(bias)
    before = model.SerializeToString()

    assert not give_biases_columns(model)
    assert model.SerializeToString() == before


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("bias", [(5,), (), (1,), (1, 5), (3, 1), (3, 5)])
def test_any_bias_is_quantised(bias: tuple[int, ...], per_channel: bool):
    options = QuantizeOptions(per_channel=per_channel)

    assert quantize(product(bias), options=options).snr_db > 10
