"""Inputs chosen so that a formula and its near misses round differently; onnxruntime decides."""

import numpy as np
import pytest

S8 = np.int8
F = np.float32


def rounded(values):
    return np.clip(np.rint(values), -128, 127)


def test_a_requantisation_factor_is_the_product_over_the_output_scale(sketch, assert_same, rng):
    """A channel's bias is a sum for which ``(sx * sw) / sy`` and ``sx * (sw / sy)`` part ways."""
    sx, sy = F(0.0123), F(0.456)
    steps = rng.uniform(0.0001, 0.001, 400).astype(F)
    halves = np.arange(0.5, 127)
    chosen = []
    for sw in steps:
        sums = np.rint(halves / np.float64(sx * sw / sy)).astype(F)
        sums = sums[sums < 2**21]
        right, wrong = (rounded(sums * factor) for factor in (sx * sw / sy, sx * (sw / sy)))
        differing = np.flatnonzero(right != wrong)
        chosen.append(sums[differing[0]] if len(differing) else 0.0)
    bias, count = np.array(chosen, np.int32), len(steps)

    x = np.zeros((1, 4), S8)
    weight = sketch.dequantize(
        sketch.constant(np.ones((count, 4), S8)), steps, np.zeros(count, S8), axis=0
    )
    offset = sketch.dequantize(sketch.constant(bias), sx * steps, np.zeros(count, np.int32), axis=0)
    real = sketch.dequantize("x", sx, S8(0))
    out = sketch.quantize(sketch.node("Gemm", real, weight, offset, transB=1), sy, S8(0))

    assert np.count_nonzero(bias) > 50
    assert_same(sketch.model({"x": x}, out, dtypes=("int8",)), {"x": x})


@pytest.mark.parametrize("zero", [4, 5])
def test_a_product_adds_the_zero_point_before_it_rounds(sketch, assert_same, zero):
    """With a factor of one half every odd product is a tie."""
    x = np.arange(-64, 64, dtype=S8).reshape(1, 128)
    y = np.array([[1]], S8)
    first, second = sketch.dequantize("x", F(0.5), S8(0)), sketch.dequantize("y", F(1), S8(0))
    out = sketch.quantize(sketch.node("Mul", first, second), F(1), S8(zero))

    before, after = np.rint(x * 0.5 + zero), np.rint(x * 0.5) + zero
    assert (before != after).any() == (zero % 2 == 1)
    assert_same(sketch.model({"x": x, "y": y}, out, dtypes=("int8",)), {"x": x, "y": y})


def test_a_convolution_adds_the_zero_point_after_it_rounds(sketch, assert_same):
    x = np.arange(-64, 64, dtype=S8).reshape(1, 1, 8, 16)
    weight = sketch.dequantize(sketch.constant(np.ones((1, 1, 1, 1), S8)), F(0.5), S8(0))
    real = sketch.dequantize("x", F(1), S8(0))
    out = sketch.quantize(sketch.node("Conv", real, weight), F(1), S8(5))

    assert_same(sketch.model({"x": x}, out, dtypes=("int8",)), {"x": x})


def test_a_global_average_divides_by_the_scale_times_the_count(sketch, assert_same, rng):
    """Each channel has a sum for which ``sx / (sy * n)`` and ``(sx / sy) / n`` part ways."""
    n, sums = 49, np.arange(-6000, 6000)
    while True:
        sx, sy = (F(value) for value in rng.uniform(0.01, 0.1, 2))
        right, wrong = (
            rounded(sums.astype(F) * factor) for factor in (sx / (sy * F(n)), sx / sy / F(n))
        )
        differing = sums[right != wrong]
        if len(differing):
            break
    x = np.zeros((1, len(differing), 7, 7), S8)
    for channel, total in enumerate(differing):
        parts = np.full(n, total // n)
        parts[: total - n * (total // n)] += 1
        x[0, channel] = parts.reshape(7, 7)
    real = sketch.dequantize("x", sx, S8(0))
    out = sketch.quantize(sketch.node("GlobalAveragePool", real), sy, S8(0))

    assert (x.sum(axis=(2, 3), dtype=int)[0] == differing).all()
    assert_same(sketch.model({"x": x}, out, dtypes=("int8",)), {"x": x})


@pytest.mark.parametrize("image", [(1,), (1, 1), (2, 4)])
def test_an_instance_normalisation_scales_before_it_subtracts_the_mean(
    sketch, assert_same, rng, image
):
    """Of equal elements: product and shift are rounded before they cancel. All sums are exact."""
    levels = rng.integers(7 * 1024, 9 * 1024, (2, 64, *(1 for _ in image))).astype(F) / F(1024)
    x = np.broadcast_to(levels, (2, 64, *image)).copy()
    scale, bias = rng.uniform(0.8, 1.2, 64).astype(F), rng.uniform(-0.1, 0.1, 64).astype(F)
    weights = (sketch.constant(array) for array in (scale, bias))
    out = sketch.node("InstanceNormalization", "x", *weights, epsilon=1e-3)

    assert_same(sketch.model({"x": x}, out), {"x": x})
