"""Float operators, one at a time, against onnxruntime."""

import numpy as np
import pytest
from onnx import helper

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"pads": [1, 2, 0, 1], "strides": [2, 1]},
        {"dilations": [2, 1], "pads": [2, 1, 2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [3, 2]},
        {"auto_pad": "VALID"},
    ],
)
def test_convolution(sketch, assert_same, rng, attrs):
    w = sketch.constant(floats(rng, 6, 4, 3, 3))
    out = sketch.node("Conv", "x", w, sketch.constant(floats(rng, 6)), **attrs)

    assert_same(sketch.model({"x": (2, 4, 9, 10)}, out), {"x": floats(rng, 2, 4, 9, 10)})


@pytest.mark.parametrize("groups", [2, 4])
def test_grouped_convolution(sketch, assert_same, rng, groups):
    out = sketch.node("Conv", "x", sketch.constant(floats(rng, 8, 4 // groups, 3, 3)), group=groups)

    network = assert_same(sketch.model({"x": (1, 4, 7, 7)}, out), {"x": floats(rng, 1, 4, 7, 7)})

    assert network.graph.ops[0].int("groups") == groups


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"pads": [1, 1, 1, 1]},
        {"ceil_mode": 1},
        {"ceil_mode": 1, "pads": [1, 0, 1, 0]},
        {"auto_pad": "SAME_UPPER"},
    ],
)
def test_pools(sketch, assert_same, rng, kind, attrs):
    out = sketch.node(kind, "x", kernel_shape=[3, 3], strides=[2, 2], **attrs)

    assert_same(sketch.model({"x": (2, 3, 10, 11)}, out), {"x": floats(rng, 2, 3, 10, 11)})


@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_an_average_may_count_padding(sketch, assert_same, rng, ceil_mode):
    attrs = {"kernel_shape": [3, 2], "pads": [1, 1, 1, 0], "strides": [2, 2]}
    out = sketch.node("AveragePool", "x", count_include_pad=1, ceil_mode=ceil_mode, **attrs)

    model = sketch.model({"x": (1, 2, 8, 8)}, out, opset=19)
    assert_same(model, {"x": floats(rng, 1, 2, 8, 8)})


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [13, 18])
def test_reduce_mean_over_the_image_is_a_global_pool(
    sketch, assert_same, kinds_of, rng, keepdims, opset
):
    axes = {"axes": [-1, 2]} if opset < 18 else {}
    extra = () if opset < 18 else (sketch.constant(np.array([2, 3])),)
    out = sketch.node("ReduceMean", "x", *extra, keepdims=keepdims, **axes)

    model = sketch.model({"x": (2, 3, 5, 6)}, out, opset=opset)
    network = assert_same(model, {"x": floats(rng, 2, 3, 5, 6)})

    assert kinds_of(network)[0] == "global_avg_pool"


def test_reduce_mean_over_channels(sketch, assert_same, kinds_of, rng):
    out = sketch.node("ReduceMean", "x", axes=[1])

    network = assert_same(sketch.model({"x": (1, 2, 3, 3)}, out), {"x": floats(rng, 1, 2, 3, 3)})
    assert kinds_of(network) == ["reduce_mean"]


@pytest.mark.parametrize(
    ("kind", "attrs"),
    [
        ("Relu", {}),
        ("LeakyRelu", {"alpha": 0.2}),
        ("Sigmoid", {}),
        ("Tanh", {}),
        ("Softmax", {"axis": 1}),
        ("GlobalAveragePool", {}),
        ("GlobalMaxPool", {}),
        ("Flatten", {"axis": 2}),
        ("Flatten", {"axis": 4}),
        ("Transpose", {"perm": [0, 3, 1, 2]}),
        ("Transpose", {}),
        ("Identity", {}),
    ],
)
def test_operators_of_one_operand(sketch, assert_same, rng, kind, attrs):
    out = sketch.node("Relu", sketch.node(kind, "x", **attrs))

    assert_same(sketch.model({"x": (2, 3, 4, 5)}, out), {"x": floats(rng, 2, 3, 4, 5)})


def test_softmax_before_opset_13_flattens(sketch, assert_same, rng):
    out = sketch.node("Softmax", "x", axis=1)

    model = sketch.model({"x": (2, 3, 4)}, out, opset=11)
    assert_same(model, {"x": floats(rng, 2, 3, 4)})


@pytest.mark.parametrize("bounds", [(0.0, 6.0), (None, 0.5), (-0.5, None), (None, None)])
def test_clip(sketch, assert_same, rng, bounds):
    names = ["" if bound is None else sketch.constant(np.float32(bound)) for bound in bounds]
    out = sketch.node("Clip", "x", *names)

    assert_same(sketch.model({"x": (3, 4)}, out), {"x": floats(rng, 3, 4)})


def test_the_bounds_of_clip_may_be_computed(sketch, assert_same, kinds_of, rng):
    out = sketch.node("Clip", "x", "lo")

    feeds = {"x": floats(rng, 3, 4), "lo": np.array(0.25, np.float32)}
    network = assert_same(sketch.model({"x": (3, 4), "lo": ()}, out), feeds)
    assert kinds_of(network) == ["max"]


@pytest.mark.parametrize("kind", ["Add", "Mul"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 4), (3, 1, 1), (1,), (2, 1, 4, 1)])
def test_binary_operators_broadcast(sketch, assert_same, rng, kind, shape):
    out = sketch.node(kind, "x", "y")

    feeds = {"x": floats(rng, 2, 3, 4, 4), "y": floats(rng, *shape)}
    assert_same(sketch.model({"x": (2, 3, 4, 4), "y": shape}, out), feeds)


def test_sum_of_three(sketch, assert_same, kinds_of, rng):
    out = sketch.node("Sum", "x", "y", "z")

    feeds = {name: floats(rng, 2, 3) for name in "xyz"}
    network = assert_same(sketch.model(dict.fromkeys("xyz", (2, 3)), out), feeds)

    assert kinds_of(network) == ["add", "add"]


@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (5,), (1, 5), (1,), (3, 5)])
def test_gemm(sketch, assert_same, rng, trans_b, bias):
    w = floats(rng, 5, 4) if trans_b else floats(rng, 4, 5)
    inputs = ["x", sketch.constant(w)]
    if bias is not None:
        inputs.append(sketch.constant(floats(rng, *bias)))
    out = sketch.node("Gemm", *inputs, transB=trans_b, alpha=0.5, beta=2.0)

    assert_same(sketch.model({"x": (3, 4)}, out), {"x": floats(rng, 3, 4)})


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("rows", [(), (1,)])
def test_a_row_that_gemm_adds_is_the_bias(sketch, kinds_of, rng, columns, rows):
    bias = sketch.constant(floats(rng, *rows, columns))
    out = sketch.node("Gemm", "x", sketch.constant(floats(rng, 4, columns)), bias)

    kinds = kinds_of(import_model(sketch.model({"x": (3, 4)}, out)))

    assert ("add" in kinds) == (rows == (1,) and columns == 1)  # a number for every element


def test_gemm_of_a_transposed_activation(sketch, assert_same, rng):
    out = sketch.node("Gemm", "x", sketch.constant(floats(rng, 3, 5)), transA=1)

    assert_same(sketch.model({"x": (3, 4)}, out), {"x": floats(rng, 3, 4)})


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (4,)])
def test_matmul_with_a_matrix(sketch, assert_same, rng, shape):
    out = sketch.node("MatMul", "x", sketch.constant(floats(rng, 4, 6)))

    assert_same(sketch.model({"x": shape}, out), {"x": floats(rng, *shape)})


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((3, 4), (2, 4, 5)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((3, 4), (4, 5)),
        ((4,), (4,)),
    ],
)
def test_products_of_two_computed_tensors(sketch, assert_same, rng, shapes):
    out = sketch.node("MatMul", "x", "y")

    feeds = {name: floats(rng, *shape) for name, shape in zip("xy", shapes, strict=True)}
    assert_same(sketch.model(dict(zip("xy", shapes, strict=True)), out), feeds)


@pytest.mark.parametrize("attrs", [{}, {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}])
def test_a_gemm_of_inputs(sketch, assert_same, rng, attrs):
    out = sketch.node("Gemm", "x", "y", "z", **attrs)

    shapes = {"x": (3, 4), "y": (4, 3), "z": (3,)}
    if attrs:
        shapes = {"x": (4, 3), "y": (3, 4), "z": (3,)}
    feeds = {name: floats(rng, *shape) for name, shape in shapes.items()}
    assert_same(sketch.model(shapes, out), feeds)


def test_concat(sketch, assert_same, rng):
    out = sketch.node("Concat", "x", "y", sketch.constant(floats(rng, 2, 1, 4)), axis=-2)

    feeds = {"x": floats(rng, 2, 3, 4), "y": floats(rng, 2, 5, 4)}
    assert_same(sketch.model({"x": (2, 3, 4), "y": (2, 5, 4)}, out), feeds)


@pytest.mark.parametrize("opset", [11, 13])
def test_squeeze_and_unsqueeze(sketch, assert_same, kinds_of, rng, opset):
    def axes(*values):
        inputs = () if opset < 13 else (sketch.constant(np.array(values)),)
        return inputs, {"axes": list(values)} if opset < 13 else {}

    inputs, attrs = axes(0, -1)
    wide = sketch.node("Unsqueeze", "x", *inputs, **attrs)
    inputs, attrs = axes(-1)
    out = sketch.node("Squeeze", wide, *inputs, **attrs)

    model = sketch.model({"x": (2, 3)}, out, opset=opset)
    network = assert_same(model, {"x": floats(rng, 2, 3)})

    assert kinds_of(network) == ["reshape", "reshape"]


def test_squeeze_without_axes(sketch, assert_same, rng):
    out = sketch.node("Squeeze", "x")

    assert_same(sketch.model({"x": (1, 2, 1, 3)}, out), {"x": floats(rng, 1, 2, 1, 3)})


def test_shape_arithmetic_is_folded(sketch, assert_same, kinds_of, rng):
    shape = sketch.node("Shape", "x")
    batch = sketch.node("Gather", shape, sketch.constant(np.array(0)), axis=0)
    batch = sketch.node("Unsqueeze", batch, sketch.constant(np.array([0])))
    target = sketch.node("Concat", batch, sketch.constant(np.array([-1])), axis=0)
    out = sketch.node("Reshape", "x", target)

    network = assert_same(sketch.model({"x": (2, 3, 4)}, out), {"x": floats(rng, 2, 3, 4)})

    assert kinds_of(network) == ["reshape"]
    assert network.graph.ops[0].ints("shape") == (2, 12)


def test_folding_refuses_to_make_huge_constants(sketch):
    huge = sketch.node("ConstantOfShape", sketch.constant(np.array([2**20, 2**20])))
    out = sketch.node("Add", "x", huge)

    with pytest.raises(ModelError, match="makes a constant of more than"):
        import_model(sketch.model({"x": (1, 1)}, out))


def test_folding_refuses_to_make_long_ranges(sketch):
    ends = (sketch.constant(np.array(end)) for end in (0, 2**40, 1))
    out = sketch.node("Add", "x", sketch.node("Cast", sketch.node("Range", *ends), to=1))

    with pytest.raises(ModelError, match="makes a constant of more than"):
        import_model(sketch.model({"x": (1,)}, out))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("extra", [(), (0.3,)])
def test_dropout_vanishes_and_a_mask_that_nobody_reads(sketch, kinds_of, extra, outputs):
    ratio = (sketch.constant(np.float32(value)) for value in extra)
    drop, *_ = sketch.several(outputs, "Dropout", "x", *ratio)
    out = sketch.node("Relu", drop)

    assert kinds_of(import_model(sketch.model({"x": (2, 3)}, out))) == ["relu"]


def test_batch_normalisation_moves_into_the_convolution(sketch, assert_same, kinds_of, rng):
    conv = sketch.node("Conv", "x", sketch.constant(floats(rng, 5, 3, 3, 3)))
    statistics = [floats(rng, 5), floats(rng, 5), floats(rng, 5), floats(rng, 5) ** 2 + 0.1]
    norm = sketch.node("BatchNormalization", conv, *map(sketch.constant, statistics))
    out = sketch.node("Relu", norm)

    network = assert_same(sketch.model({"x": (2, 3, 6, 6)}, out), {"x": floats(rng, 2, 3, 6, 6)})

    assert kinds_of(network) == ["conv2d"]
    assert network.graph.ops[0].str("act") == "relu"
    assert len(network.constants) == 2


def test_batch_normalisation_after_an_activation_stays(sketch, assert_same, kinds_of, rng):
    conv = sketch.node("Conv", "x", sketch.constant(floats(rng, 5, 3, 3, 3)))
    statistics = [floats(rng, 5), floats(rng, 5), floats(rng, 5), floats(rng, 5) ** 2 + 0.1]
    relu = sketch.node("Relu", conv)
    out = sketch.node("BatchNormalization", relu, *map(sketch.constant, statistics))

    network = assert_same(sketch.model({"x": (2, 3, 6, 6)}, out), {"x": floats(rng, 2, 3, 6, 6)})

    assert kinds_of(network) == ["conv2d", "mul", "add"]


@pytest.mark.parametrize("computed", range(4))
def test_batch_normalisation_by_one_computed_statistic(sketch, assert_same, rng, computed):
    statistics = [floats(rng, 3), floats(rng, 3), floats(rng, 3), floats(rng, 3) ** 2 + 0.1]
    names = [
        "s" if place == computed else sketch.constant(value)
        for place, value in enumerate(statistics)
    ]
    out = sketch.node("BatchNormalization", "x", *names)

    model = sketch.model({"x": (2, 3, 4, 4), "s": (3,)}, out)
    assert_same(model, {"x": floats(rng, 2, 3, 4, 4), "s": statistics[computed]})


@pytest.mark.parametrize("kind", ["Relu", "LeakyRelu"])
def test_an_activation_is_fused(sketch, assert_same, kinds_of, rng, kind):
    out = sketch.node(kind, sketch.node("Add", "x", "y"))

    feeds = {name: floats(rng, 2, 3) for name in "xy"}
    network = assert_same(sketch.model(dict.fromkeys("xy", (2, 3)), out), feeds)

    assert kinds_of(network) == ["add"]


def test_an_activation_stays_where_others_read_its_operand(sketch, assert_same, kinds_of, rng):
    total = sketch.node("Add", "x", "y")
    out = sketch.node("Relu", total)

    feeds = {name: floats(rng, 2, 3) for name in "xy"}
    network = assert_same(
        sketch.model(
            dict.fromkeys("xy", (2, 3)),
            out,
            total,
        ),
        feeds,
    )

    assert kinds_of(network) == ["add", "relu"]


def test_an_unsupported_operator_is_named(sketch):
    out = sketch.node("NonZero", "x")
    other = sketch.node("Det", sketch.node("Relu", "x"))

    with pytest.raises(ModelError) as caught:
        import_model(sketch.model({"x": (2, 2)}, out, other))

    text = str(caught.value)
    assert "NonZero node 'n_t0' is not supported (domain ai.onnx, opset 17)" in text
    assert "Det node 'n_t2' is not supported (domain ai.onnx, opset 17)" in text
    assert "hint: supported in ai.onnx: Abs, Acos, " in text


def test_unsupported_operators_are_counted(sketch):
    out = sketch.node("NonZero", "x")
    other = sketch.node("NonZero", sketch.node("Relu", "x"))

    with pytest.raises(ModelError) as caught:
        import_model(sketch.model({"x": (2, 2)}, out, other))

    assert "NonZero node 'n_t0' and 1 more of its kind are not supported (domain" in str(
        caught.value
    )


def test_an_unknown_domain_is_named(sketch):
    out = sketch.node("Wonder", "x", domain="example.org")

    with pytest.raises(ModelError, match=r"domain example\.org.*\n.*nothing"):
        import_model(sketch.model({"x": (2, 3)}, out))


def test_an_opset_that_is_too_new_is_refused(sketch):
    out = sketch.node("Relu", "x")

    with pytest.raises(ModelError, match=r"opset 29 is not supported \(7 to 28\)"):
        import_model(sketch.model({"x": (2, 3)}, out, opset=29))


def test_an_operator_that_was_another_in_an_old_opset_is_refused(sketch):
    out = sketch.node("Add", "x", "x")

    with pytest.raises(ModelError, match=r"is not supported at opset 6 of ai.onnx \(7 to 28\)"):
        import_model(sketch.model({"x": (2, 3)}, out, opset=6))


@pytest.mark.parametrize("opset", [6, 7, 28])
def test_the_ends_of_the_opset_range_work(sketch, opset):
    import_model(sketch.model({"x": (2, 3)}, sketch.node("Relu", "x"), opset=opset))


def test_half_precision_is_refused(sketch):
    out = sketch.node("Relu", "x")
    model = sketch.model({"x": (2, 3)}, out)
    model.graph.input[0].type.tensor_type.elem_type = 10

    with pytest.raises(ModelError, match="input 'x' has element type float16; supported: float"):
        import_model(model)


def test_names_become_identifiers_and_the_originals_are_kept(sketch):
    model = sketch.model({"in put:0": (2, 3)}, "1/out")
    model.graph.node.append(helper.make_node("Relu", ["in put:0"], ["1/out"]))

    network = import_model(model)

    assert network.input_names == (("in put:0", "in_put_0"),)
    assert network.output_names == (("1/out", "t1_out"),)


def test_names_that_clash_once_cleaned_stay_apart(sketch):
    model = sketch.model({"a/b": (2, 3), "a:b": (2, 3)}, "y")
    model.graph.node.append(helper.make_node("Add", ["a/b", "a:b"], ["y"]))

    assert [name for _, name in import_model(model).input_names] == ["a_b", "a_b_1"]


def test_a_node_that_reads_nothing_defined_is_refused(sketch):
    out = sketch.node("Relu", "nowhere")

    with pytest.raises(ModelError, match="reads 'nowhere' before it is defined"):
        import_model(sketch.model({"x": (2, 3)}, out))


def test_surviving_tensors_are_listed(sketch):
    total = sketch.node("Add", "x", "y")
    pooled = sketch.node("Sigmoid", total)

    network = import_model(sketch.model(dict.fromkeys("xy", (2, 3)), pooled))

    assert dict(network.tensor_names) == {"x": "x", "y": "y", total: total, pooled: pooled}


def test_importing_twice_gives_equal_networks(sketch, rng):
    conv = sketch.node("Conv", "x", sketch.constant(floats(rng, 5, 3, 3, 3)))
    model = sketch.model({"x": (2, 3, 6, 6)}, sketch.node("Relu", conv))

    assert import_model(model) == import_model(model)


def test_absurd_attributes_are_refused(sketch):
    out = sketch.node("MaxPool", "x", kernel_shape=[1, 1], pads=[2**31, 2**31, 0, 0])

    with pytest.raises(ModelError, match="which is absurd"):
        import_model(sketch.model({"x": (1, 3, 4, 4)}, out))


def test_a_normalisation_with_quantised_parameters(sketch, assert_same, rng):
    parameters = [
        sketch.dequantize(sketch.constant(np.array(row, np.int8)), 0.05, np.int8(-3))
        for row in ([20, -7, 50], [1, 2, 3], [0, -9, 9], [30, 20, 10])
    ]
    y = sketch.node("BatchNormalization", "x", *parameters)
    model = sketch.model({"x": (1, 3, 4, 5)}, y)

    assert_same(model, {"x": rng.standard_normal((1, 3, 4, 5)).astype(np.float32)})


def test_an_output_that_nothing_computes_is_copied(sketch, assert_same, kinds_of, rng):
    y, z = sketch.node("Identity", "x"), sketch.node("Shape", "x")

    model = sketch.model({"x": (1, 3)}, y, z, dtypes=("float32", "int64"))
    network = assert_same(model, {"x": floats(rng, 1, 3)})
    assert kinds_of(network) == ["reshape", "reshape"]
