"""The networks of the zoo: shapes, parameters, sane activations, determinism."""

import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.shape_inference import infer_shapes

from accnn.ir.errors import OptionError
from accnn.models.session import make_session, run
from accnn.models.zoo import build, names, pink_noise
from accnn.models.zoo.builder import NetBuilder, Structure, ZooOptions
from accnn.models.zoo.registry import NETWORKS, structure

# torchvision's documentation of each model ("num_params"); DarkNet-19: the sum over table 6 of
# the YOLO9000 paper, see test_darknet19_adds_up.
PUBLISHED = {
    "alexnet": 61_100_840,
    "darknet19": 20_842_376,
    "mobilenetv2": 3_504_872,
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "squeezenet": 1_248_424,
    "squeezenet1_1": 1_235_496,
    "vgg16": 138_357_544,
    "yolov2": 50_962_889,
}
# Multiplications of one inference [10^9]: torchvision's documentation ("GFLOPS" there counts them
# once); DarkNet-19: half of the 5.58 billion operations of the YOLO9000 paper.
PUBLISHED_GMACS = {
    "alexnet": 0.714,
    "darknet19": 2.79,
    "mobilenetv2": 0.301,
    "resnet18": 1.814,
    "resnet34": 3.664,
    "resnet50": 4.089,
    "squeezenet": 0.819,
    "squeezenet1_1": 0.349,
    "vgg16": 15.470,
}
# A detector returns a grid of predictions. Its file of 80 classes holds 50,983,561 values, of which
# 20,672 are running statistics.
CLASSES = {"yolov2": 80}
OUTPUTS = {
    "yolov2": lambda batch, classes, size: (batch, 5 * (5 + classes), size // 32, size // 32)
}
# Small enough for a fast test, large enough for the network; at reduced width.
SMALL = {"alexnet": 64}
TINY = {"width": 0.25, "classes": 40}


def tiny(name: str, **options: int) -> onnx.ModelProto:
    return build(name, image_size=SMALL.get(name, 32), **{**TINY, **options})


def layer_deviations(model: onnx.ModelProto, image: np.ndarray) -> dict[str, float]:
    """Return the standard deviation of each convolution's and linear layer's output."""
    layers = [n.output[0] for n in model.graph.node if n.op_type in ("Conv", "Gemm")]
    declared = {o.name for o in model.graph.output}
    model.graph.output.extend(
        helper.make_tensor_value_info(n, TensorProto.FLOAT, None)
        for n in layers
        if n not in declared
    )
    results = run(make_session(model, optimisation="basic"), {"input": image}, layers)
    return {name: float(value.std()) for name, value in results.items()}


def test_the_table_is_sorted_and_complete():
    assert names() == tuple(sorted(PUBLISHED))


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_and_shapes_are_as_published(name):
    classes = CLASSES.get(name, 1000)
    network = structure(name, ZooOptions(classes=classes))

    assert network.parameter_count == PUBLISHED[name]
    assert network.input.shape == (1, 3, 224, 224)
    assert network.output.shape == output_shape(name, 1, classes, 224)


def output_shape(name: str, batch: int, classes: int, size: int) -> tuple[int, ...]:
    if name == "yolov2":
        return batch, 5 * (5 + classes), size // 32, size // 32
    return batch, classes


@pytest.mark.parametrize("name", PUBLISHED_GMACS)
def test_multiplications_are_as_published(name):
    assert macs(structure(name, ZooOptions())) / 1e9 == pytest.approx(
        PUBLISHED_GMACS[name], abs=6e-4, rel=2e-3
    )


def macs(network: Structure) -> int:
    """Return the multiplications of convolutions and linear layers, by ONNX's shape inference."""
    shapes = {p.name: p.shape for p in network.parameters} | {"input": network.input.shape}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, network.output.shape)
    graph = helper.make_graph(network.nodes, "macs", inputs, [output])
    opsets = [helper.make_opsetid("", 17)]
    inferred = infer_shapes(helper.make_model(graph, opset_imports=opsets), strict_mode=True).graph
    for info in (*inferred.value_info, *inferred.output):
        shapes[info.name] = tuple(d.dim_value for d in info.type.tensor_type.shape.dim)
    layers = [n for n in network.nodes if n.op_type in ("Conv", "Gemm")]
    return sum(math.prod(shapes[n.output[0]]) * math.prod(shapes[n.input[1]][1:]) for n in layers)


def test_the_table_tells_the_published_parameters():
    assert {n.name: n.parameters for n in NETWORKS} == PUBLISHED


def test_darknet19_adds_up():
    widths = [3, 32, 64, 128, 64, 128, 256, 128, 256, 512, 256, 512, 256, 512]
    widths += [1024, 512, 1024, 512, 1024]
    kernels = [3, 3, 3, 1, 3, 3, 1, 3, 3, 1, 3, 1, 3, 3, 1, 3, 1, 3]
    units = zip(widths, widths[1:], kernels, strict=False)

    total = sum(c * k * r * r + 2 * k for c, k, r in units) + 1024 * 1000 + 1000

    assert total == PUBLISHED["darknet19"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_inferred_shapes_equal_declared_ones(name):
    model = tiny(name, batch=2)
    onnx.checker.check_model(model, full_check=True)
    result = run(make_session(model), {"input": pink_noise(input_shape(model), 1)})

    assert result["logits"].shape == output_shape(name, 2, 40, SMALL.get(name, 32))


@pytest.mark.parametrize("name", PUBLISHED)
def test_activations_are_sane_at_every_depth(name):
    model = build(name, image_size=64, width=0.5, classes=100)
    unseen = pink_noise((4, 3, 64, 64), 77)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 4

    deviations = layer_deviations(model, unseen)

    assert min(deviations.values()) > 0.2, deviations
    assert max(deviations.values()) < 5, deviations


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


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(OptionError, match="no network named 'resnet51'") as raised:
        build("resnet51")

    assert "resnet18, resnet34, resnet50" in str(raised.value)


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


@pytest.mark.parametrize("size", [112, 109, 54, 27, 5, 4])
@pytest.mark.parametrize(("kernel", "stride", "pad"), [(3, 2, 0), (2, 2, 1), (2, 3, 1)])
def test_a_pool_with_ceiling_has_the_shape_that_onnxruntime_computes(size, kernel, stride, pad):
    net = NetBuilder("pool", ZooOptions(image_size=size))
    network = net.finish(net.max_pool(net.input, "pool", kernel, stride, pad=pad, ceil=True))
    (source, sink) = (
        helper.make_tensor_value_info(v.name, TensorProto.FLOAT, shape)
        for v, shape in ((network.input, network.input.shape), (network.output, None))
    )
    graph = helper.make_graph(network.nodes, "pool", [source], [sink])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    result = run(make_session(model), {"input": np.zeros(network.input.shape, np.float32)})

    assert network.output.shape == result["logits"].shape


@pytest.mark.slow
def test_the_full_resnet50_is_sane():
    model = build("resnet50")
    deviations = layer_deviations(model, pink_noise((1, 3, 224, 224), 5))

    assert min(deviations.values()) > 0.2
    assert max(deviations.values()) < 5
