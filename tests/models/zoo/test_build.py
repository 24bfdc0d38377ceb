"""Networks of the zoo as ONNX models: valid, sane at every depth, the same for the same seed."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from accnn.ir.errors import OptionError
from accnn.models.session import make_session, run
from accnn.models.zoo import build, names, pink_noise
from accnn.models.zoo.draw import sample
from accnn.models.zoo.layers.structure import ZooOptions
from accnn.models.zoo.registry import structure

# Small enough for a fast test, large enough for the network; at reduced width.
SMALL = {"alexnet": 64, "efficientnet_b0": 96, "inception_v3": 80}
TINY = {"width": 0.25, "classes": 40, "sequence": 16}
ALIKE = {
    "bert_base",
    "fcn_resnet50",
    "pnasnet5",
    "resnet34",
    "resnet50",
    "vit_b_16",
}
"""Networks of the same layers as others, and more of them."""
LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "LayerNormalization")


def tiny(name: str, **options: int) -> onnx.ModelProto:
    return build(name, image_size=SMALL.get(name, 32), **{**TINY, **options})


def activations(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the output, and what every layer of weights or normalisation computes."""
    layers = [name for n in model.graph.node if n.op_type in LAYERS for name in n.output]
    declared = {o.name for o in model.graph.output}
    model.graph.output.extend(
        helper.make_tensor_value_info(n, TensorProto.FLOAT, None)
        for n in layers
        if n not in declared
    )
    return run(make_session(model, optimisation="basic"), inputs)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else ()) for name in names()],
)
def test_models_are_valid_and_sane_at_every_depth(name: str):
    options = {**TINY, "batch": 2, "image_size": max(64, SMALL.get(name, 0))}
    model = build(name, **options)
    network = structure(name, ZooOptions(**options))

    onnx.checker.check_model(model, full_check=True)
    found = activations(model, sample(network.inputs, 77))

    assert found["logits"].shape == network.output.shape
    assert all(np.isfinite(value).all() for value in found.values())
    deviation = {name: float(value.std()) for name, value in found.items()}
    assert min(deviation.values()) > 0.03, deviation
    assert max(deviation.values()) < 12, deviation


@pytest.mark.parametrize("name", ["resnet18", "squeezenet"])
def test_outputs_depend_on_the_input(name):
    model = tiny(name)
    session = make_session(model)
    logits = [
        run(session, {"input": pink_noise(input_shape(model), seed)})["logits"] for seed in range(8)
    ]

    assert np.stack(logits).std(axis=0).mean() > 0.3 * np.stack(logits).std()


def input_shape(model: onnx.ModelProto) -> tuple[int, ...]:
    return tuple(d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim)


def test_same_arguments_give_same_bytes():
    first, second = (tiny("mobilenetv2", seed=3).SerializeToString() for _ in range(2))

    assert first == second


def test_another_seed_gives_other_weights():
    assert tiny("squeezenet", seed=0) != tiny("squeezenet", seed=1)


def test_weights_do_not_depend_on_the_batch():
    one, two = (tiny("resnet18", batch=batch).graph.initializer for batch in (1, 2))

    assert list(one) == list(two)


def test_versions_are_pinned_to_what_onnxruntime_reads():
    model = tiny("squeezenet")

    assert model.ir_version == 10
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]


def test_an_unknown_name_lists_the_nearest_ones():
    with pytest.raises(OptionError, match="no network named 'resnet51'") as raised:
        build("resnet51")

    assert "did you mean resnet50" in str(raised.value)


def test_a_small_image_is_refused_with_the_layer_that_runs_out():
    with pytest.raises(OptionError, match="32 pixels is too small: pool5 slides a 3x3 window"):
        build("alexnet", image_size=32)


@pytest.mark.parametrize("option", ["image_size", "batch", "classes"])
def test_sizes_below_one_are_refused(option):
    with pytest.raises(OptionError, match=f"{option} is 0; it must be at least 1"):
        build("resnet18", **{option: 0})


def test_a_width_out_of_range_is_refused():
    with pytest.raises(OptionError, match="width is 0; it must be above 0"):
        build("resnet18", width=0)


def test_a_negative_seed_is_refused():
    with pytest.raises(OptionError, match="seed is -1; it must be 0 or more"):
        build("resnet18", seed=-1)


@pytest.mark.slow
def test_the_full_resnet50_is_sane():
    found = activations(build("resnet50"), {"input": pink_noise((1, 3, 224, 224), 5)})
    deviation = [float(value.std()) for value in found.values()]

    assert min(deviation) > 0.2
    assert max(deviation) < 5
