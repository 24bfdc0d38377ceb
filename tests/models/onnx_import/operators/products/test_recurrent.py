"""Recurrent layers against onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ComputedOperandError, ModelError
from accnn.models.onnx_import import builder, import_model

T, B, FEATURES, UNITS = 4, 3, 5, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def floats(rng, *shape):
    return (rng.normal(size=shape) * 0.5).astype(np.float32)


def layer(sketch, rng, kind, *, both=False, bias=True, lengths="", first=(), peep="", **attrs):
    """Add a layer; returns its outputs."""
    count, gates = 1 + both, GATES[kind]
    w = sketch.constant(floats(rng, count, gates * UNITS, FEATURES))
    r = sketch.constant(floats(rng, count, gates * UNITS, UNITS))
    b = sketch.constant(floats(rng, count, 2 * gates * UNITS)) if bias else ""
    names = ["x", w, r, b, lengths, *first]
    if peep:
        names = [*[*names, "", "", ""][:7], peep]
    outputs = 3 if kind == "LSTM" else 2
    return sketch.several(outputs, kind, *names, hidden_size=UNITS, **attrs)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_directions(sketch, assert_same, rng, kind, direction):
    outs = layer(sketch, rng, kind, both=direction == "bidirectional", direction=direction)

    model = sketch.model({"x": (T, B, FEATURES)}, *outs)
    assert_same(model, {"x": floats(rng, T, B, FEATURES)})


@pytest.mark.parametrize("kind", GATES)
def test_sequences_of_several_lengths(sketch, assert_same, rng, kind):
    lengths = sketch.constant(np.array([4, 1, 2], np.int32))
    outs = layer(
        sketch, rng, kind, both=True, lengths=lengths, direction="bidirectional", bias=False
    )

    model = sketch.model({"x": (T, B, FEATURES)}, *outs)
    assert_same(model, {"x": floats(rng, T, B, FEATURES)})


@pytest.mark.parametrize("kind", GATES)
def test_first_states_and_clipping(sketch, assert_same, rng, kind):
    states = ["h", "c"][: 1 + (kind == "LSTM")]
    outs = layer(sketch, rng, kind, first=states, clip=0.3)

    shapes = {"x": (T, B, FEATURES)} | dict.fromkeys(states, (1, B, UNITS))
    feeds = {name: floats(rng, *shape) for name, shape in shapes.items()}
    assert_same(sketch.model(shapes, *outs), feeds)


def test_a_gate_that_is_reset_after_the_product(sketch, assert_same, rng):
    outs = layer(sketch, rng, "GRU", linear_before_reset=1)

    model = sketch.model({"x": (T, B, FEATURES)}, *outs)
    assert_same(model, {"x": floats(rng, T, B, FEATURES)})


def test_peepholes(sketch, assert_same, rng):
    outs = layer(sketch, rng, "LSTM", peep=sketch.constant(floats(rng, 1, 3 * UNITS)))

    model = sketch.model({"x": (T, B, FEATURES)}, *outs)
    assert_same(model, {"x": floats(rng, T, B, FEATURES)})


def test_other_functions(sketch, assert_same, rng):
    functions = ["HardSigmoid", "Softsign", "LeakyRelu"]
    outs = layer(
        sketch,
        rng,
        "LSTM",
        activations=functions,
        activation_alpha=[0.3, 0.05],
        activation_beta=[0.4],
    )

    model = sketch.model({"x": (T, B, FEATURES)}, *outs)
    assert_same(model, {"x": floats(rng, T, B, FEATURES)})


def test_one_product_makes_the_inputs_share_of_all_steps(sketch, assert_same, kinds_of, rng):
    outs = layer(sketch, rng, "RNN")

    model = sketch.model({"x": (T, B, FEATURES)}, *outs)
    network = assert_same(model, {"x": floats(rng, T, B, FEATURES)})
    assert kinds_of(network).count("dense") == 1 + T


@pytest.mark.parametrize(
    ("kind", "attrs", "text"),
    [
        ("RNN", {"activations": ["Affine"]}, "applies 'Affine'; supported: Relu"),
        ("GRU", {"direction": "sideways"}, "has direction = 'sideways'"),
    ],
)
def test_what_is_not_supported_is_said(sketch, rng, kind, attrs, text):
    outs = layer(sketch, rng, kind, **attrs)

    with pytest.raises(ModelError, match=text):
        import_model(sketch.model({"x": (T, B, FEATURES)}, *outs))


def test_lengths_are_constant_and_within_the_sequence(sketch, new_sketch, rng):
    outs = layer(sketch, rng, "RNN", lengths=sketch.constant(np.array([5, 1, 1], np.int32)))

    with pytest.raises(ModelError, match=r"has lengths \[5, 1, 1\] for 3 sequences of 4 steps"):
        import_model(sketch.model({"x": (T, B, FEATURES)}, *outs))

    other = new_sketch()
    outs = layer(other, rng, "RNN", lengths="lengths")
    model = other.model({"x": (T, B, FEATURES), "lengths": np.zeros(B, np.int32)}, *outs)
    with pytest.raises(ComputedOperandError, match="needs a constant length of sequences"):
        import_model(model)


def test_steps_are_unrolled_up_to_a_number_of_operators(sketch, monkeypatch, rng):
    model = sketch.model({"x": (T, B, FEATURES)}, *layer(sketch, rng, "RNN"))
    import_model(model)
    monkeypatch.setattr(builder, "MOST_UNROLLED", T)

    with pytest.raises(ModelError, match=r"RNN node .* is unrolled, .* more than 4 nodes of loops"):
        import_model(model)
