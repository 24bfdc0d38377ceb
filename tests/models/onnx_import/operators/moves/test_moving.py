"""What moves elements, and sums along axes, against onnxruntime."""

import numpy as np
import pytest
from onnx import numpy_helper

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model
from accnn.runtime_sim.reference import run as run_reference


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("attrs", [{}, {"axis": 1}])
def test_compress(sketch, assert_same, rng, attrs):
    chosen = sketch.constant(np.array([True, False, True]))
    out = sketch.node("Compress", "x", chosen, **attrs)

    assert_same(sketch.model({"x": (3, 4)}, out), {"x": floats(rng, 3, 4)})


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0)])
def test_sequences_are_reversed_by_their_lengths(sketch, assert_same, rng, batch, time):
    lengths = sketch.constant(np.array([1, 4, 3, 2]))
    out = sketch.node("ReverseSequence", "x", lengths, batch_axis=batch, time_axis=time)

    assert_same(sketch.model({"x": (4, 4, 3)}, out), {"x": floats(rng, 4, 4, 3)})


def test_lengths_within_the_sequence(sketch):
    out = sketch.node("ReverseSequence", "x", sketch.constant(np.array([5, 1])))

    with pytest.raises(ModelError, match=r"has lengths \[5, 1\] for \(4, 2\)"):
        import_model(sketch.model({"x": (4, 2)}, out))


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_sums_of_wide_integers_are_exact(sketch, assert_same, rng, exclusive, reverse):
    axis = sketch.constant(np.int64(1))
    out = sketch.node("CumSum", "x", axis, exclusive=exclusive, reverse=reverse)

    x = rng.integers(-(2**40), 2**40, (2, 7))
    assert_same(sketch.model({"x": x}, out, dtypes=("int64",)), {"x": x})


@pytest.mark.parametrize("equation", ["ii->i", "bii->b", "iij,j->i", "iii->"])
def test_diagonals(sketch, assert_same, rng, equation):
    terms = equation.split("->")[0].split(",")
    names = [f"x{number}" for number in range(len(terms))]
    out = sketch.node("Einsum", *names, equation=equation)

    shapes = {name: (3,) * len(term) for name, term in zip(names, terms, strict=True)}
    feeds = {name: floats(rng, *shape) for name, shape in shapes.items()}
    assert_same(sketch.model(shapes, out), feeds)


@pytest.mark.parametrize("offset", [0, 1, -2])
def test_ones_on_a_diagonal(sketch, assert_same, rng, offset):
    ones = sketch.node("EyeLike", "x", k=offset)

    model = sketch.model({"x": (3, 4)}, sketch.node("Mul", "x", ones))
    assert_same(model, {"x": floats(rng, 3, 4)})


def test_remainders_of_floats_have_the_sign_of_the_divisor(sketch, rewrite):
    out = sketch.node("Mod", "x", "y")
    network = rewrite(sketch.model(dict.fromkeys("xy", (4,)), out, opset=28))

    x = np.array([5.5, -5.5, 5.5, np.inf], np.float32)
    y = np.array([3, 3, -3, 2], np.float32)
    found = run_reference(network.graph, network.constants, {"x": x, "y": y})
    assert np.array_equal(
        found[network.graph.outputs[0]], np.array([2.5, 0.5, -0.5, np.nan]), equal_nan=True
    )


def test_an_empty_slice_joins_nothing(sketch, assert_same, kinds_of, rng):
    bounds = [sketch.constant(np.array([value])) for value in (2, 2, 1)]
    nothing = sketch.node("Slice", "x", *bounds)
    out = sketch.node("Relu", sketch.node("Concat", nothing, "x", axis=1))

    network = assert_same(sketch.model({"x": (2, 3)}, out), {"x": floats(rng, 2, 3)})
    assert kinds_of(network) == ["relu"]


def test_an_output_without_elements_stands_beside_others(sketch):
    bounds = [sketch.constant(np.array([value])) for value in (2, 2, 1)]
    nothing, out = sketch.node("Slice", "x", *bounds), sketch.node("Relu", "x")

    network = import_model(sketch.model({"x": (2, 3)}, nothing, out))
    assert [name for name, _ in network.output_names] == [out]
    ((name, array),) = network.empty_outputs
    assert (name, array.shape) == (nothing, (2, 0))


def test_constants_are_tensors_numbers_or_lists(sketch, assert_same, rng):
    place = sketch.node("Constant", value_int=2)
    shape = sketch.node("Constant", value_ints=[3, -1])
    half = sketch.node("Constant", value_float=0.5)
    whole = sketch.node("Constant", value=numpy_helper.from_array(floats(rng, 5)))
    row = sketch.node("Gather", sketch.node("Reshape", "x", shape), place, axis=0)
    out = sketch.node("Add", sketch.node("Mul", row, half), whole)

    assert_same(sketch.model({"x": (1, 3, 5)}, out), {"x": floats(rng, 1, 3, 5)})
