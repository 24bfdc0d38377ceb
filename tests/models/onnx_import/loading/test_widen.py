"""Networks in float16 and double."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.models.onnx_import.loading.widen import compute_in_float32, note_of


def model(code, array):
    nodes = [
        helper.make_node("Add", ["x", "w"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["y"], to=code),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(array, "c")),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", code, [3])],
        [helper.make_tensor_value_info("y", code, [3])],
        [numpy_helper.from_array(array, "w")],
    )
    return helper.make_model(graph)


@pytest.mark.parametrize(
    ("code", "dtype"), [(TensorProto.FLOAT16, np.float16), (TensorProto.DOUBLE, np.float64)]
)
def test_everything_becomes_float32(code, dtype):
    wide = model(code, np.array([1, 2, 3], dtype))

    found = compute_in_float32(wide)

    assert found == {"x": np.dtype(dtype), "y": np.dtype(dtype)}
    graph = wide.graph
    assert graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
    assert graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT
    assert graph.initializer[0].data_type == TensorProto.FLOAT
    assert graph.node[1].attribute[0].i == TensorProto.FLOAT
    assert graph.node[2].attribute[0].t.data_type == TensorProto.FLOAT
    assert note_of(found) == (
        f"{np.dtype(dtype).name} is computed in float32, and so is what it is compared with",
    )


def test_finite_numbers_stay_finite():
    wide = model(TensorProto.DOUBLE, np.array([-1e300, np.inf, 1e300]))
    compute_in_float32(wide)

    largest = np.finfo(np.float32).max
    found = numpy_helper.to_array(wide.graph.initializer[0])
    assert found.tolist() == [-largest, np.inf, largest]


def test_a_network_in_float32_stays_as_it_is():
    plain = model(TensorProto.FLOAT, np.array([1, 2, 3], np.float32))
    before = plain.SerializeToString()

    assert compute_in_float32(plain) == {}
    assert plain.SerializeToString() == before
    assert note_of({}) == ()


def test_graphs_within_are_converted():
    inner = model(TensorProto.DOUBLE, np.zeros(3)).graph
    node = helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=inner)
    wide = helper.make_model(helper.make_graph([node], "g", [], []))
    compute_in_float32(wide)

    assert wide.graph.node[0].attribute[0].g.initializer[0].data_type == TensorProto.FLOAT
