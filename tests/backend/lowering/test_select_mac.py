"""Instructions of the MAC array: tiles of convolutions and products, against NumPy's meaning."""

import numpy as np
import pytest

from accnn.ir.graph import Attr
from accnn.ir.graph_schedule import Group
from accnn.ir.types import DType, Quantization, TensorType
from tests.backend.lowering.single import Constant, Single, assert_right, drawn, f32, s8
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import compile_fused
from tests.thinned import thinned

QUANT = per_tensor(0.3, 5)


def weights(*shape: int, zero: int = 0) -> Constant:
    """Return weights of a scale for each channel, or of one and a zero point."""
    quant = per_tensor(0.002, zero)
    if not zero:
        scales = tuple(float(np.float32(0.001 + 0.0001 * k)) for k in range(shape[0]))
        quant = Quantization(scales, (0,) * shape[0], 0)
    return drawn(TensorType(DType.S8, shape, quant), 1)


def bias(channels: int, dtype: DType = DType.S32) -> Constant:
    return drawn(TensorType(dtype, (channels,)), 2, -3000, 3000)


def steps(
    stride: tuple[int, ...] = (1, 1),
    pads: tuple[int, ...] = (0, 0, 0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
    **others: Attr,
) -> dict[str, Attr]:
    return {"stride": stride, "pads": pads, "dilation": dilation, "groups": groups, **others}


CASES = [
    Single(
        "batch",
        "conv2d",
        (s8(2, 6, 7, 5),),
        (weights(9, 6, 3, 2), bias(9)),
        steps(pads=(1, 0, 1, 1)),
        DType.S8,
        QUANT,
    ),
    Single(
        "strides and dilation",
        "conv2d",
        (s8(2, 5, 13, 11),),
        (weights(7, 5, 3, 2), bias(7)),
        steps((2, 1), (2, 1, 1, 2), (1, 3)),
        DType.S8,
        QUANT,
    ),
    Single(
        "strides beyond the kernel",
        "conv2d",
        (s8(1, 9, 11, 13),),
        (weights(7, 9, 1, 1), bias(7)),
        steps((3, 2)),
        DType.S8,
        QUANT,
    ),
    Single(
        "groups",
        "conv2d",
        (s8(2, 6, 6, 7),),
        (weights(9, 2, 3, 3), bias(9)),
        steps(pads=(1, 1, 1, 1), groups=3),
        DType.S8,
        QUANT,
    ),
    Single(
        "depthwise",
        "conv2d",
        (s8(2, 7, 9, 6),),
        (weights(7, 1, 3, 3), bias(7)),
        steps((2, 1), (0, 1, 1, 1), groups=7),
        DType.S8,
        QUANT,
    ),
    Single(
        "zero point of weights",
        "conv2d",
        (s8(1, 6, 7, 7),),
        (weights(8, 6, 3, 3, zero=9),),
        steps(pads=(1, 1, 1, 1)),
        DType.S8,
        QUANT,
    ),
    Single(
        "bounds",
        "conv2d",
        (s8(1, 6, 7, 7),),
        (weights(8, 6, 3, 3), bias(8)),
        steps(pads=(1, 1, 1, 1), qlo=5, qhi=60),
        DType.S8,
        QUANT,
    ),
    Single("rows", "dense", (s8(5, 37),), (weights(19, 37), bias(19)), {}, DType.S8, QUANT),
    Single("a batch", "dense", (s8(3, 5, 37), s8(3, 19, 37)), (), {}, DType.S8, QUANT),
    Single("batches", "dense", (s8(2, 3, 5, 17), s8(2, 3, 9, 17)), (), {}, DType.S8, QUANT),
    Single(
        "rows, zero point",
        "dense",
        (s8(3, 29),),
        (weights(21, 29, zero=-4),),
        {},
        DType.S8,
        QUANT,
    ),
]
FLOATS = [
    Single(
        "floats",
        "conv2d",
        (f32(2, 5, 7, 6),),
        (drawn(f32(6, 5, 3, 2), 1), bias(6, DType.F32)),
        steps((2, 1), (1, 0, 1, 1), act="clip", lo=-0.5, hi=1.5),
    ),
    Single(
        "floats without a bias",
        "conv2d",
        (f32(1, 6, 6, 7),),
        (drawn(f32(8, 3, 2, 3), 1),),
        steps(groups=2, act="leaky_relu", alpha=0.25),
    ),
    Single("rows of floats", "dense", (f32(4, 23),), (drawn(f32(9, 23), 1), bias(9, DType.F32))),
]
BUDGETS = (None, 900, 600, 400, 250)


@pytest.mark.parametrize(("case", "arch"), [*thinned(CASES, ["edge-1m", "simba"])])
def test_integers_are_exact_however_small_the_tiles(case: Single, arch: str) -> None:
    fits = [assert_right(case, arch, budget) for budget in BUDGETS]

    assert sum(fits) > 1


@pytest.mark.parametrize("case", FLOATS, ids=str)
def test_floats_are_those_of_the_reference(case: Single) -> None:
    fits = [assert_right(case, "edge-fp32", budget) for budget in (None, 2400, 1500, 900)]

    assert sum(fits) > 1


@pytest.mark.parametrize(("dilation", "rows"), [*thinned([1, 2], [1, 2, 3])])
def test_lines_that_a_window_meets_are_read_whatever_its_steps(dilation: int, rows: int) -> None:
    """Of what a group keeps on chip an operation reads rows; here strides are no dilations."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 6, 13, 11)), "a", 8, 1)
    b = net.conv(a, "b", 7, 3, stride=3 - dilation, dilation=dilation)
    graph = net.build(net.conv(b, "y", 5, 1))

    compiled = compile_fused(graph, net.data, "simba", [Group(members=("a", "b", "y"), rows=rows)])

    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize("rows", [1, 3])
def test_products_of_rows_that_a_stripe_keeps_are_those_of_whole_matrices(rows: int) -> None:
    net = NetworkBuilder()
    net.dense(net.dense(net.input("x", (8, 20)), "a", 24), "b", 17)
    graph = net.build("b")
    groups = (Group(members=("a", "b"), rows=rows),)

    compiled = compile_fused(graph, net.data, "edge-1m", groups)

    assert compiled.wrong(compiled.run(detect_races=True)) == []
