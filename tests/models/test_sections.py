"""Quantised models in sections that read what is given."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.ir.types import DType, TensorType
from accnn.models.sections import (
    given_name,
    in_sections,
    jumped_from,
    quantised_by,
    quantised_tensors,
)
from accnn.models.session import make_session, run

TYPE = TensorType(DType.S8, (1, 4))


@pytest.fixture
def model():
    """A doubled row, quantised, and read twice."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"]),
        helper.make_node("QuantizeLinear", ["a", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["f"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["g"]),
        helper.make_node("Sub", ["f", "g"], ["d"]),
        helper.make_node("Add", ["d", "f"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(np.float32(0.5), "s"), numpy_helper.from_array(np.int8(1), "z")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_quantised_tensor_knows_its_source(model):
    assert quantised_tensors(model) == {"q": "a"}


def test_who_makes_what_is_quantised(model):
    assert quantised_by(model, frozenset({"Add"})) == {"q"}
    assert quantised_by(model, frozenset({"Sub"})) == frozenset()

    model.graph.node[0].output[0] = "b"
    model.graph.node.insert(1, helper.make_node("Relu", ["b"], ["a"]))

    assert quantised_by(model, frozenset({"Add"})) == {"q"}
    assert quantised_by(model, frozenset({"Relu"})) == frozenset()


def test_functions_that_jump_and_what_they_read(model):
    model.graph.node.append(helper.make_node("Cast", ["d"], ["same"], to=TensorProto.FLOAT))
    assert jumped_from(model) == frozenset()

    model.graph.node.append(helper.make_node("Cast", ["a"], ["whole"], to=TensorProto.INT32))
    model.graph.node.append(helper.make_node("Mod", ["y", "s"], ["m"], fmod=1))

    assert jumped_from(model) == {"a", "y", "s"}


def test_sections_read_floats_that_are_given(model):
    kind = TensorType(DType.F32, (1, 4))
    x, given = np.float32([[1, 2, 3, 4]]), np.float32([[0.5, 0, 1, -1]])

    found = run(make_session(in_sections(model, {"f": kind})), {"x": x, given_name("f"): given})

    np.testing.assert_array_equal(found["f"], 2 * x)
    np.testing.assert_array_equal(found["y"], 2 * given - 2 * x)


def test_sections_read_what_is_given_and_show_what_they_make(model):
    x, given = np.float32([[1, 2, 3, 4]]), np.int8([[9, 1, 1, 3]])
    before = model.SerializeToString()

    feeds = {"x": x, given_name("q"): given}
    found = run(make_session(in_sections(model, {"q": TYPE})), feeds)

    np.testing.assert_array_equal(found["a"], 2 * x)
    np.testing.assert_array_equal(found["q"], 4 * x + 1)
    np.testing.assert_array_equal(found["y"], [[4, 0, 0, 1]])
    assert model.SerializeToString() == before


def test_with_its_own_values_given_it_computes_the_same(model):
    x = np.float32([[1.26, -2, 0.3, 40]])
    whole = run(make_session(model), {"x": x})
    own = run(
        make_session(in_sections(model, {"q": TYPE})), {"x": x, "q/given": np.int8([[0] * 4])}
    )

    again = run(make_session(in_sections(model, {"q": TYPE})), {"x": x, "q/given": own["q"]})

    np.testing.assert_array_equal(again["y"], whole["y"])


def test_without_cuts_it_is_the_model(model):
    assert in_sections(model, {}) == model
