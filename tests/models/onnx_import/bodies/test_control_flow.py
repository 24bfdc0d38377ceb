"""Branches and loops, unrolled, against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from accnn.ir.errors import ComputedOperandError, ModelError
from accnn.models.onnx_import import builder, import_model


def value(name, code=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, code, shape)


def branch(kind):
    """A graph that reads what is outside of it, and names its own tensor as the other does."""
    return helper.make_graph([helper.make_node(kind, ["x"], ["inner"])], kind, [], [value("inner")])


@pytest.mark.parametrize(("holds", "kind"), [(True, "neg"), (False, "abs")])
def test_the_branch_of_a_known_condition(sketch, assert_same, kinds_of, rng, holds, kind):
    name = sketch.constant(np.array(holds))
    out = sketch.node("If", name, then_branch=branch("Neg"), else_branch=branch("Abs"))

    model = sketch.model({"x": (2, 3)}, sketch.node("Relu", out))
    network = assert_same(model, {"x": rng.normal(size=(2, 3)).astype(np.float32)})
    assert kinds_of(network) == [kind, "relu"]


def test_a_computed_condition_is_refused(sketch):
    out = sketch.node("If", "holds", then_branch=branch("Neg"), else_branch=branch("Abs"))

    model = sketch.model({"x": (2,), "holds": np.zeros(1, bool)}, out)
    with pytest.raises(ComputedOperandError, match="needs a constant condition"):
        import_model(model)


def body(*nodes, states=("s",), rows=()):
    """A body of a loop: iteration, condition, states; then condition, states, rows."""
    inputs = [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, [])]
    outputs = [value("still", TensorProto.BOOL, [])]
    return helper.make_graph(
        nodes,
        "body",
        [*inputs, *map(value, states)],
        [*outputs, *(value(f"{name}_out") for name in states), *map(value, rows)],
    )


def test_a_loop_with_states_and_rows(sketch, assert_same, kinds_of, rng):
    graph = body(
        helper.make_node("Identity", ["go"], ["still"]),
        helper.make_node("Cast", ["i"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["s", "x"], ["sum"]),
        helper.make_node("Mul", ["sum", "number"], ["s_out"]),
        helper.make_node("Abs", ["s_out"], ["row"]),
        rows=("row",),
    )
    inputs = (sketch.constant(np.int64(3)), "", "x")
    last, rows = sketch.several(2, "Loop", *inputs, body=graph)

    model = sketch.model({"x": (2, 3)}, last, rows)
    network = assert_same(model, {"x": rng.normal(size=(2, 3)).astype(np.float32)})
    assert kinds_of(network).count("abs") == 3


def test_a_loop_that_ends_by_a_condition_of_its_own(sketch, assert_same, kinds_of, rng):
    graph = body(
        helper.make_node("Less", ["i", "last"], ["still"]),
        helper.make_node("Add", ["s", "x"], ["s_out"]),
    )
    last, go = sketch.constant(np.int64(4)), sketch.constant(np.array(True))
    graph.node[0].input[1] = last
    out = sketch.node("Loop", "", go, "x", body=graph)

    model = sketch.model({"x": (2, 3)}, out)
    network = assert_same(model, {"x": rng.normal(size=(2, 3)).astype(np.float32)})
    assert kinds_of(network).count("add") == 5


def test_a_loop_without_end_is_refused(sketch):
    graph = body(
        helper.make_node("Identity", ["go"], ["still"]),
        helper.make_node("Identity", ["s"], ["s_out"]),
    )
    out = sketch.node("Loop", "", sketch.constant(np.array(True)), "x", body=graph)

    with pytest.raises(ModelError, match="runs more than 4096 times"):
        import_model(sketch.model({"x": (2, 3)}, out))


def endless(*nodes, state="s_out"):
    """A body of a loop that hands its condition through."""
    graph = body(*nodes)
    graph.output[0].name, graph.output[1].name = "go", state
    return graph


def loops_in_a_loop(sketch, trips):
    """A model whose loop runs a loop of one rectifier: ``trips`` times (1 + ``trips``) nodes."""
    name = sketch.constant(np.int64(trips))
    inner = endless(helper.make_node("Relu", ["s"], ["s_out"]))
    outer = endless(helper.make_node("Loop", [name, "", "s"], ["s_out"], body=inner))
    return sketch.model({"x": (2, 3)}, sketch.node("Loop", name, "", "x", body=outer))


@pytest.mark.parametrize("most", [20, 19])
def test_loops_in_loops_are_unrolled_up_to_a_number_of_nodes(sketch, monkeypatch, kinds_of, most):
    monkeypatch.setattr(builder, "MOST_UNROLLED", most)
    model = loops_in_a_loop(sketch, 4)

    if most == 20:
        assert kinds_of(import_model(model)) == ["relu"] * 16
        return
    refusal = r"Loop node '.*s_out' is unrolled, .* more than 19 nodes of loops\n  hint: .*fewer"
    with pytest.raises(ModelError, match=refusal):
        import_model(model)


def test_runs_of_empty_bodies_count_too(sketch, monkeypatch):
    monkeypatch.setattr(builder, "MOST_UNROLLED", 99)
    out = sketch.node("Loop", sketch.constant(np.int64(100)), "", "x", body=endless(state="s"))

    with pytest.raises(ModelError, match="more than 99 nodes"):
        import_model(sketch.model({"x": (2, 3)}, out))


@pytest.mark.slow
def test_the_most_iterations_in_the_most_iterations_are_refused(sketch):
    with pytest.raises(ModelError, match="more than 65536 nodes"):
        import_model(loops_in_a_loop(sketch, 4096))


def test_rows_of_a_loop_that_never_runs_are_refused(sketch):
    graph = body(
        helper.make_node("Identity", ["go"], ["still"]),
        helper.make_node("Identity", ["s"], ["s_out"]),
        helper.make_node("Identity", ["s"], ["row"]),
        rows=("row",),
    )
    outs = sketch.several(2, "Loop", sketch.constant(np.int64(0)), "", "x", body=graph)

    with pytest.raises(ModelError, match="never runs"):
        import_model(sketch.model({"x": (2, 3)}, *outs))


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_scan(sketch, assert_same, rng, direction, axis):
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["s", "at"], ["s_out"]),
            helper.make_node("Mul", ["s_out", "at"], ["row"]),
        ],
        "body",
        [value("s"), value("at")],
        [value("s_out"), value("row")],
    )
    attrs = {
        "num_scan_inputs": 1,
        "scan_input_axes": [axis],
        "scan_input_directions": [direction],
        "scan_output_axes": [axis],
        "scan_output_directions": [direction],
    }
    outs = sketch.several(2, "Scan", "first", "x", body=graph, **attrs)

    shapes = {"first": (4,), "x": (3, 4) if axis == 0 else (4, 3)}
    feeds = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    assert_same(sketch.model(shapes, *outs), feeds)


def test_a_scan_of_batches_is_refused(sketch):
    graph = helper.make_graph([], "body", [value("at")], [value("at")])
    out = sketch.node("Scan", "", "x", body=graph, num_scan_inputs=1)

    with pytest.raises(ModelError, match=r"is not supported at opset 8 \(9 or newer\)"):
        import_model(sketch.model({"x": (1, 3, 4)}, out, opset=8))
