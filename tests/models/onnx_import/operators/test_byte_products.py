"""Products of bytes that return int32, against onnxruntime."""

import numpy as np
import pytest

from accnn.ir.errors import ModelError
from accnn.models.onnx_import import import_model


def any_bytes(rng, dtype, *shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("depth", [7, 258, 1000])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_products_of_matrices_are_exact(sketch, assert_same, rng, depth, dtype):
    w = sketch.constant(np.full((depth, 3), np.iinfo(dtype).max, dtype))
    zeros = [sketch.constant(dtype(np.iinfo(dtype).min)) for _ in range(2)]
    out = sketch.node("MatMulInteger", "x", w, *zeros)

    x = np.full((2, depth), np.iinfo(dtype).max, dtype)
    x[1] = any_bytes(rng, dtype, depth)
    assert_same(sketch.model({"x": x}, out, dtypes=("int32",)), {"x": x})


def test_a_zero_point_for_every_column(sketch, assert_same, rng):
    zeros = sketch.constant(np.uint8(3)), sketch.constant(any_bytes(rng, np.int8, 4))
    out = sketch.node("MatMulInteger", "x", "w", *zeros)

    x, w = any_bytes(rng, np.uint8, 2, 5, 6), any_bytes(rng, np.int8, 6, 4)
    assert_same(sketch.model({"x": x, "w": w}, out, dtypes=("int32",)), {"x": x, "w": w})


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(sketch, assert_same, rng, groups):
    w = sketch.constant(any_bytes(rng, np.uint8, 4, 60 // groups, 3, 3))
    zeros = (sketch.constant(np.uint8(128)), sketch.constant(np.uint8(7)))
    attrs = {"group": groups, "pads": [1, 1, 0, 1], "strides": [2, 1]}

    if groups > 1:
        out = sketch.node("ConvInteger", "x", w, *zeros, **attrs)
        with pytest.raises(ModelError, match="adds up 270 products, more than float32 does"):
            import_model(sketch.model({"x": np.zeros((1, 60, 5, 6), np.uint8)}, out))
        return
    out = sketch.node("ConvInteger", "x", w, *zeros, **attrs)
    x = any_bytes(rng, np.uint8, 1, 60, 5, 6)
    assert_same(sketch.model({"x": x}, out, dtypes=("int32",)), {"x": x})


def test_dynamic_quantisation(sketch, assert_same, rng):
    outs = sketch.several(3, "DynamicQuantizeLinear", "x")

    model = sketch.model({"x": (5, 40)}, *outs, dtypes=("uint8", "float32", "uint8"))
    assert_same(model, {"x": (rng.normal(size=(5, 40)) * 3).astype(np.float32)})


@pytest.mark.parametrize("block", [0, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16])
def test_scales_along_an_axis(sketch, assert_same, rng, dtype, block):
    count = 3 if block else 8  # 8 elements are two blocks of three and one of two
    shape = (2, count, 5) if block else (count,)
    scale = sketch.constant(rng.uniform(0.01, 0.1, shape).astype(np.float32))
    zero = sketch.constant(rng.integers(0, 200, shape).astype(dtype))
    attrs = {"axis": 1} | ({"block_size": block} if block else {})
    quantised = sketch.node("QuantizeLinear", "x", scale, zero, **attrs)
    back = sketch.node("DequantizeLinear", quantised, scale, zero, **attrs)

    name = np.dtype(dtype).name
    model = sketch.model({"x": (2, 8, 5)}, quantised, back, opset=21, dtypes=(name, "float32"))
    assert_same(model, {"x": (rng.normal(size=(2, 8, 5)) * 5).astype(np.float32)})


def test_as_many_zero_points_as_scales(sketch):
    scale, zero = sketch.constant(np.ones(3, np.float32)), sketch.constant(np.zeros(2, np.int8))
    out = sketch.node("QuantizeLinear", "x", scale, zero)

    with pytest.raises(ModelError, match="has 3 scales and 2 zero points"):
        import_model(sketch.model({"x": (2, 3)}, out, dtypes=("int8",)))


@pytest.mark.parametrize("bias", [False, True])
def test_what_onnxruntime_fuses(sketch, assert_same, rng, bias):
    w = sketch.constant(any_bytes(rng, np.uint8, 20, 4))
    scale, zero = sketch.constant(np.float32(0.02)), sketch.constant(np.uint8(120))
    extra = (sketch.constant(rng.normal(size=4).astype(np.float32)),) if bias else ()
    inputs = ("x", w, scale, zero, *extra)
    out = sketch.node("DynamicQuantizeMatMul", *inputs, domain="com.microsoft")

    model = sketch.model({"x": (3, 20)}, out)
    assert_same(model, {"x": rng.normal(size=(3, 20)).astype(np.float32)})


def test_a_product_with_its_scales(sketch, assert_same, rng):
    w = sketch.constant(any_bytes(rng, np.int8, 20, 4))
    scales = [sketch.constant(np.float32(0.02)), sketch.constant(np.float32([0.1, 0.2, 0.3, 0.4]))]
    out = sketch.node(
        "MatMulIntegerToFloat",
        *("x", w, *scales, sketch.constant(np.uint8(120))),
        domain="com.microsoft",
    )

    x = any_bytes(rng, np.uint8, 3, 20)
    assert_same(sketch.model({"x": x}, out), {"x": x})
