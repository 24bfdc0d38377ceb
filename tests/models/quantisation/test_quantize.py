"""Static quantisation: everything becomes integer, exactly, quietly, and from the data given."""

import logging
import math
import tempfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QDQQuantizer,
    base_quantizer,
    qdq_quantizer,
    quant_utils,
    quantize_static,
)
from onnxruntime.quantization.onnx_model import ONNXModel

from accnn.ir.errors import ModelError, OptionError
from accnn.models.quantisation.indexed import IndexedModel, NamedConstants
from accnn.models.quantisation.options import Int8, QuantizeOptions
from accnn.models.quantisation.quantize import quantize
from accnn.models.quantisation.ranges import CalibrationMethod
from accnn.models.session import make_session, run
from accnn.models.zoo import build, pink_noise
from tests.executed import executed
from tests.thinned import thinned
from tests.zoo_networks import INTEGER as ZOO
from tests.zoo_networks import LEAST_SIZE

# What onnxruntime may run at the extended level: integers, and the two ends of the network.
ALIKE = {
    "darknet19",
    "densenet121",
    "inception_v3",
    "resnet34",
    "resnet50",
    "resnext50",
    "squeezenet",
    "vgg16",
}
"""Networks whose operators all stand in smaller ones, too."""

INTEGER = {
    "QLinearConv",
    "QLinearAdd",
    "QLinearConcat",
    "QLinearLeakyRelu",
    "QLinearAveragePool",
    "QLinearGlobalAveragePool",
    "QGemm",
    "MaxPool",
    "Flatten",
    "Reshape",
    "Transpose",
}


def small(name: str, **options: int) -> onnx.ModelProto:
    return build(name, image_size=LEAST_SIZE.get(name, 32), classes=40, width=0.25, **options)


def network(*nodes, weights=(), shape=(1, 4, 8, 8), opset=17, ir_version=10):
    """Return a model of the given nodes from ``x`` to ``y``."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def weights(seed: int = 0, inputs: int = 4, outputs: int = 6):
    values = np.random.default_rng(seed).standard_normal((outputs, inputs, 3, 3))
    return [("w", values.astype(np.float32)), ("b", np.ones(outputs, np.float32))]


def conv_net(**options):
    return network(helper.make_node("Conv", ["x", "w", "b"], ["y"]), weights=weights(), **options)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else ()) for name in ZOO],
)
def test_every_operator_of_the_zoo_becomes_integer(name, tmp_path):
    result = quantize(small(name), samples=2)
    nodes = executed(result.model, tmp_path)

    assert [nodes[0].op_type, nodes[-1].op_type] == ["QuantizeLinear", "DequantizeLinear"]
    assert {n.op_type for n in nodes[1:-1]} <= INTEGER
    assert result.snr_db > 5
    assert not result.calibrated


def test_the_result_is_what_quantize_static_gives(tmp_path):
    source = small("squeezenet", seed=2)
    folder = tmp_path / "float.onnx"
    onnx.save(source, folder)
    samples = [{"input": pink_noise((1, 3, 32, 32), (0, 1, i, 0))} for i in range(3)]

    class Reader(CalibrationDataReader):
        def get_next(self):
            return samples.pop() if samples else None

    logging.getLogger().addHandler(logging.NullHandler())
    quantize_static(folder, tmp_path / "q.onnx", Reader(), per_channel=True)
    theirs = onnx.load(tmp_path / "q.onnx").graph
    ours = quantize(source, samples=3).model.graph

    assert [n.op_type for n in ours.node] == [n.op_type for n in theirs.node]
    expected = {w.name: numpy_helper.to_array(w) for w in theirs.initializer}
    actual = {w.name: numpy_helper.to_array(w) for w in ours.initializer}
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        if name.endswith("_scale"):
            np.testing.assert_allclose(actual[name], array, rtol=1e-5)
        else:
            assert np.abs(actual[name].astype(int) - array.astype(int)).max() <= 1


def test_same_arguments_give_same_bytes():
    model = small("resnet18")
    first, second = (quantize(model, samples=2).model.SerializeToString() for _ in range(2))

    assert first == second


def test_another_seed_gives_other_ranges():
    model = small("squeezenet")

    assert quantize(model, seed=0).model != quantize(model, seed=1).model


def test_the_float_model_is_left_as_it_is():
    model = small("resnet18")
    before = model.SerializeToString()
    quantize(model, samples=1)

    assert model.SerializeToString() == before


def test_nothing_is_said_and_no_file_is_left(tmp_path, monkeypatch, capfd, caplog):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    root = logging.getLogger()
    handlers, filters = list(root.handlers), list(root.filters)
    with caplog.at_level(logging.DEBUG):
        quantize(small("squeezenet"), samples=1)

    assert [r for r in caplog.records if r.name == "root"] == []
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    assert (root.handlers, root.filters) == (handlers, filters)


@pytest.mark.parametrize(
    ("options", "activation", "weight"),
    [
        (QuantizeOptions(), np.int8, np.int8),
        (QuantizeOptions(activation=Int8.U8), np.uint8, np.int8),
        (QuantizeOptions(activation=Int8.U8, weight=Int8.U8), np.uint8, np.uint8),
        (QuantizeOptions(per_channel=False), np.int8, np.int8),
    ],
)
def test_types_are_those_asked_for(options, activation, weight):
    graph = quantize(conv_net(), options=options).model.graph
    arrays = {w.name: numpy_helper.to_array(w) for w in graph.initializer}

    assert arrays["x_zero_point"].dtype == activation
    assert arrays["w_quantized"].dtype == weight
    assert arrays["w_scale"].shape == ((6,) if options.per_channel else ())


def test_reduced_range_keeps_weights_in_seven_bits():
    options = QuantizeOptions(activation=Int8.U8, reduce_range=True)
    graph = quantize(conv_net(), options=options).model.graph
    (quantised,) = [w for w in graph.initializer if w.name == "w_quantized"]

    assert np.abs(numpy_helper.to_array(quantised)).max() <= 64


def test_s8_activations_with_u8_weights_are_refused():
    with pytest.raises(OptionError, match="s8 activations with u8 weights are not supported"):
        QuantizeOptions(weight=Int8.U8)


def test_batch_normalisation_is_folded(tmp_path):
    statistics = [("one", np.full(6, 1.5, np.float32)), ("zero", np.zeros(6, np.float32))]
    model = network(
        helper.make_node("Conv", ["x", "w", "b"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "one", "zero", "zero", "one"], ["y"]),
        weights=[*weights(), *statistics],
    )
    result = quantize(model)

    assert "BatchNormalization" not in {n.op_type for n in result.model.graph.node}
    assert result.snr_db > 30


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [(2, 3), (-1, -2)])
def test_a_mean_over_height_and_width_becomes_a_pooling(tmp_path, opset, keepdims, axes):
    is_input = opset >= 18
    mean = helper.make_node(
        "ReduceMean",
        ["c", "axes"] if is_input else ["c"],
        ["y"],
        keepdims=keepdims,
        **({} if is_input else {"axes": axes}),
    )
    constants = [("axes", np.array(axes))] if is_input else []
    conv = helper.make_node("Conv", ["x", "w", "b"], ["c"])
    model = network(conv, mean, weights=[*weights(), *constants], opset=opset)
    result = quantize(model)

    assert {n.op_type for n in executed(result.model, tmp_path)[1:-1]} <= INTEGER
    assert result.snr_db > 30


def test_a_sum_of_two_becomes_an_addition_of_integers(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Sum", ["c", "r"], ["y"]),
    ]
    result = quantize(network(*nodes, weights=weights()))

    kinds = {node.op_type for node in executed(result.model, tmp_path)}
    assert "QLinearAdd" in kinds and "Sum" not in kinds
    assert result.snr_db > 30


def test_a_sum_of_three_stays(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"]),
        helper.make_node("Sum", ["c", "c", "c"], ["y"]),
    ]
    result = quantize(network(*nodes, weights=weights()))

    assert "Sum" in {node.op_type for node in executed(result.model, tmp_path)}


def test_a_mean_over_other_axes_stays(tmp_path):
    conv = helper.make_node("Conv", ["x", "w", "b"], ["c"])
    mean = helper.make_node("ReduceMean", ["c"], ["y"], axes=[1, 2])
    result = quantize(network(conv, mean, weights=weights()))

    assert "ReduceMean" in {n.op_type for n in result.model.graph.node}


def test_old_models_are_raised_to_an_opset_with_channels():
    old = conv_net(opset=11, ir_version=3)
    old.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (6, 4, 3, 3)))
    old.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, (6,)))
    result = quantize(old)

    assert [i.name for i in result.model.graph.input] == ["x"]
    assert result.snr_db > 30


def test_models_newer_than_onnxruntime_reads_are_accepted():
    assert quantize(conv_net(ir_version=14)).snr_db > 30


def test_an_exact_network_has_an_infinite_ratio():
    model = network(helper.make_node("Identity", ["x"], ["y"]), shape=(1, 2))

    assert quantize(model).snr_db == math.inf


def test_a_quantised_model_is_refused():
    once = quantize(conv_net()).model

    with pytest.raises(ModelError, match="quantised already: node .* is DequantizeLinear"):
        quantize(once)


def test_a_model_that_onnxruntime_cannot_load_is_refused():
    model = network(helper.make_node("Gemm", ["x", "x"], ["y"]))

    with pytest.raises(ModelError, match="onnxruntime cannot load the model"):
        quantize(model)


def test_a_dynamic_shape_is_refused_with_a_way_out():
    with pytest.raises(OptionError, match=r"'x' has no static shape: \[N, 4, 8, 8\]") as raised:
        quantize(conv_net(shape=("N", 4, 8, 8)))

    assert "--shape x=1,3,224,224" in str(raised.value)


@pytest.mark.parametrize("arguments", [{"samples": 0}, {"seed": -1}])
def test_counts_out_of_range_are_refused(arguments):
    with pytest.raises(OptionError, match="at least 1 and 0 are allowed"):
        quantize(conv_net(), **arguments)


def test_ranges_come_from_the_data_given(tmp_path):
    images = np.linspace(-3, 5, 2 * 4 * 8 * 8, dtype=np.float32).reshape(2, 4, 8, 8)
    np.savez(tmp_path / "data.npz", x=images)
    result = quantize(conv_net(), calibration=tmp_path / "data.npz")
    arrays = {w.name: numpy_helper.to_array(w) for w in result.model.graph.initializer}

    assert (result.calibrated, result.samples) == (True, 2)
    assert arrays["x_scale"] == pytest.approx(8 / 255)
    assert result.snr_db > 30


def test_reference_runs_are_repeatable():
    model = quantize(small("darknet19"), samples=1).model
    feeds = {"input": pink_noise((1, 3, 32, 32), 9)}
    one, two = (run(make_session(model, threads=t), feeds)["logits"] for t in (1, 2))

    assert one.tobytes() == two.tobytes()


@pytest.mark.slow
def test_the_full_resnet50_keeps_its_signal(tmp_path):
    result = quantize(build("resnet50"))

    assert {n.op_type for n in executed(result.model, tmp_path)[1:-1]} <= INTEGER
    assert result.snr_db > 12


def two_layers() -> onnx.ModelProto:
    """Return a network with two activations."""
    first, second = weights(0), weights(1, inputs=6)
    return network(
        helper.make_node("Conv", ["x", "w", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["first_relu.out"]),
        helper.make_node("Conv", ["first_relu.out", "w2", "b"], ["d"]),
        helper.make_node("Relu", ["d"], ["second_relu.out"]),
        helper.make_node("MaxPool", ["second_relu.out"], ["y"], kernel_shape=[2, 2]),
        weights=[*first, ("w2", second[0][1])],
        shape=(1, 4, 16, 16),
    )


def test_a_method_of_calibration_cuts_ranges_off():
    model = two_layers()
    scales = []
    for options in (
        QuantizeOptions(),
        QuantizeOptions(method=CalibrationMethod.PERCENTILE, percentile=99.0),
        QuantizeOptions(method=CalibrationMethod.ENTROPY),
    ):
        weights = quantize(model, samples=2, options=options).model.graph.initializer
        found = {item.name: numpy_helper.to_array(item) for item in weights}
        scales.append(
            {name: float(a) for name, a in found.items() if name.endswith("relu.out_scale")}
        )

    whole, percentile, entropy = scales
    assert len(whole) == 2
    assert all(percentile[name] < whole[name] for name in whole)
    assert all(entropy[name] <= whole[name] for name in whole)
    assert any(entropy[name] < whole[name] for name in whole)


@pytest.mark.parametrize("percentile", [0.0, 49.9, 100.1, math.nan])
def test_a_percentile_is_between_a_half_and_all(percentile):
    with pytest.raises(OptionError, match=r"percentile is .*, must be 50 to 100"):
        QuantizeOptions(method=CalibrationMethod.PERCENTILE, percentile=percentile)


def test_a_percentile_belongs_to_its_method():
    with pytest.raises(OptionError, match="the calibration method is entropy"):
        QuantizeOptions(method=CalibrationMethod.ENTROPY, percentile=99.0)


def test_layers_are_measured_on_the_data_that_is_given(tmp_path):
    images = np.random.default_rng(3).normal(size=(3, 4, 8, 8)).astype(np.float32)
    np.save(tmp_path / "data.npy", images)
    wide = np.concatenate([images[:2], 50 * images[2:]])
    np.save(tmp_path / "wide.npy", wide)

    (near,) = quantize(conv_net(), calibration=tmp_path / "data.npy").layers
    (far,) = quantize(conv_net(), calibration=tmp_path / "wide.npy").layers
    assert near.name == far.name == "y"
    assert near.snr_db > far.snr_db + 20  # the same two samples, in steps fifty times as coarse


@pytest.mark.parametrize("name", ["norm", ""])
def test_a_normalisation_over_several_axes_stays_in_float(name: str):
    scale = np.linspace(0.5, 1.5, 60, dtype=np.float32).reshape(4, 15)
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"], name, axis=1),
        helper.make_node("MatMul", ["n", "w"], ["y"], "product"),
    ]
    values = [("scale", scale), ("shift", -scale), ("w", np.ones((15, 2), np.float32))]
    graph = helper.make_graph(
        nodes,
        "norm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 4, 15))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 4, 2))],
        [numpy_helper.from_array(array, name) for name, array in values],
    )
    opsets = [helper.make_opsetid("", 17)]
    result = quantize(helper.make_model(graph, opset_imports=opsets, ir_version=8))

    quantised = [node for node in result.model.graph.node if node.op_type == "LayerNormalization"]
    assert [list(node.input[1:]) for node in quantised] == [["scale", "shift"]]
    assert result.snr_db > 15


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *thinned(
            ["mobilenetv2", "squeezenet"], [QuantizeOptions(), QuantizeOptions(activation=Int8.U8)]
        )
    ],
)
def test_finding_nodes_by_tensor_changes_nothing(monkeypatch, name, options):
    model = small(name)
    indexed = quantize(model, samples=1, options=options).model
    monkeypatch.setattr("accnn.models.quantisation.quantize._IndexedQuantiser", QDQQuantizer)

    assert quantize(model, samples=1, options=options).model == indexed


def test_constants_are_looked_up_and_the_quantiser_is_left_as_it_is(monkeypatch):
    rounds: list[int] = []
    plain = NamedConstants.__iter__

    def through_all(constants):
        rounds.append(1)
        return plain(constants)

    monkeypatch.setattr(NamedConstants, "__iter__", through_all)
    quantize(small("squeezenet"), samples=1)

    assert len(rounds) <= 2  # and not for each constant that is wanted
    for module in (base_quantizer, qdq_quantizer):
        assert module.find_by_name is quant_utils.find_by_name


def test_nodes_that_are_removed_are_no_longer_found():
    relu, sigmoid = (
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["y"]),
    )
    indexed = IndexedModel(ONNXModel(network(relu, sigmoid)))
    indexed.add_nodes([helper.make_node("Relu", ["a"], ["z"], name="other")])
    indexed.replace_input_of_nodes("a", "b", {"other"})
    indexed.replace_output_of_all_nodes("a", "b")
    indexed.remove_nodes([sigmoid])

    (other,) = indexed.input_name_to_nodes()["b"]
    assert other.name == "other"
    assert "a" not in indexed.input_name_to_nodes()
    assert [list(node.output) for node in indexed.model.graph.node] == [["b"], ["z"]]
