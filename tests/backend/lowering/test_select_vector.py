"""Instructions without accumulators: tiles of every family, against NumPy's meaning."""

from dataclasses import replace

import pytest

from accnn.ir.operators.functions import REDUCTIONS
from accnn.ir.types import DType, TensorType
from tests.backend.lowering.single import Constant, Single, assert_right, drawn, f32, s8
from tests.networks import per_tensor
from tests.thinned import thinned

QUANT = per_tensor(0.11, 4)


def numbers(dtype: DType, *shape: int) -> TensorType:
    return TensorType(dtype, shape)


def indices(extent: int, *shape: int) -> Constant:
    return drawn(numbers(DType.S32, *shape), 3, -extent, extent - 1)


def window(kernel, stride, pads, dilation=(1, 1), **others):
    return {"kernel": kernel, "stride": stride, "pads": pads, "dilation": dilation, **others}


ASYMMETRIC = window((3, 2), (2, 1), (1, 0, 2, 1))
BEYOND = window((3, 2), (2, 1), (1, 0, 1, 1), overhang=(1, 0))
"""The last window of rows ends in what nobody counts."""
POOLS = [
    Single("max pool", "max_pool", (s8(2, 5, 9, 8),), attrs=ASYMMETRIC),
    Single(
        "dilated",
        "max_pool",
        (s8(1, 5, 11, 9),),
        attrs=window((2, 3), (1, 2), (1, 2, 1, 1), (3, 2)),
    ),
    Single("gaps", "max_pool", (s8(1, 6, 13, 14),), attrs=window((2, 1), (3, 4), (0, 0, 0, 0))),
    *(
        Single(
            f"average, padding {'counts' if counts else 'does not count'}",
            "avg_pool",
            (s8(2, 5, 8, 8),),
            attrs={**BEYOND, "count_include_pad": counts, "qlo": -9, "qhi": 11},
            dtype=DType.S8,
            quant=per_tensor(0.05, -3),
        )
        for counts in (False, True)
    ),
    *(
        Single(
            f"sums over {kernel}",
            "sum_pool",
            (s8(2, 5, 7, 9, zero=zero),),
            attrs={"kernel": kernel, "pads": pads},
            dtype=dtype,
            quant=per_tensor(0.05),
        )
        for kernel, pads, dtype, zero in (
            ((1, 9), (0, 0, 0, 0), DType.S16, -128),
            ((3, 2), (1, 0, 1, 1), DType.S32, 5),
        )
    ),
    Single(
        "average of sums",
        "global_avg_pool",
        (replace(s8(2, 7, 6, 5, zero=0), dtype=DType.S16),),
        attrs={"count": 13},
        dtype=DType.S8,
        quant=per_tensor(0.002, 7),
    ),
    Single(
        "average of the whole",
        "global_avg_pool",
        (s8(2, 7, 6, 5),),
        attrs={"qlo": 3, "qhi": 9},
        dtype=DType.S8,
        quant=per_tensor(0.02, 7),
    ),
]
BYTES = [
    *(
        Single(
            f"{kind} that broadcasts",
            kind,
            (s8(2, 5, 7, 6), s8(1, 5, 1, 6, scale=0.02, zero=9)),
            dtype=DType.S8,
            quant=QUANT,
            attrs={"qlo": 4} if kind == "add" else {},
        )
        for kind in ("add", "mul")
    ),
    Single(
        "the first operand broadcasts",
        "add",
        (s8(1, 5, 1, 1, zero=8), s8(2, 5, 7, 6, scale=0.03)),
        dtype=DType.S8,
        quant=QUANT,
    ),
    Single(
        "lookup",
        "lookup",
        (s8(2, 5, 7, 6),),
        (drawn(s8(256), 1),),
        dtype=DType.S8,
        quant=QUANT,
    ),
    Single("transpose", "transpose", (s8(2, 5, 7, 6),), attrs={"perm": (2, 0, 3, 1)}),
    Single(
        "slice backwards",
        "slice",
        (s8(2, 5, 9, 6),),
        attrs={"starts": (0, 1, 8, 5), "steps": (1, 2, -3, -1), "shape": (2, 2, 3, 6)},
    ),
    Single("concat", "concat", (s8(2, 3, 7, 6), s8(2, 4, 7, 6)), attrs={"axis": 1}),
]
FLOATS = [
    Single("quantize", "quantize", (f32(2, 5, 7, 6),), dtype=DType.S8, quant=QUANT),
    Single("dequantize", "dequantize", (s8(2, 5, 7, 6),), dtype=DType.F32),
    Single("difference", "sub", (f32(2, 5, 7, 6), f32(5, 7, 6))),
    Single(
        "clipped product",
        "mul",
        (f32(5, 1, 6), f32(3, 5, 7, 6)),
        attrs={"act": "clip", "lo": -0.25, "hi": 0.5},
    ),
    Single("activation", "leaky_relu", (f32(2, 5, 7, 6),), attrs={"alpha": 0.125}),
    Single("clip", "clip", (f32(3, 7, 6),), attrs={"lo": -0.5, "hi": 0.75}),
    Single(
        "choice",
        "where",
        (numbers(DType.BOOL, 5, 7, 6), f32(2, 5, 7, 6), f32(2, 1, 7, 1)),
        dtype=DType.F32,
    ),
    Single("wide integers", "mul", (numbers(DType.S64, 3, 5, 6), numbers(DType.S64, 5, 1))),
    Single("comparison", "less", (f32(4, 7, 6), f32(7, 1))),
    Single("cast", "cast", (numbers(DType.S32, 4, 7, 6),), dtype=DType.F32),
    Single("cast to fewer bytes", "cast", (numbers(DType.S64, 4, 7, 6),), dtype=DType.S16),
    *(
        Single(
            f"gather along {axis}",
            "gather",
            (f32(4, 9, 7),),
            (indices(extent, 5, 3),),
            {"axis": axis},
        )
        for axis, extent in enumerate((4, 9, 7))
    ),
    *(
        Single(
            f"gather elements along {axis}",
            "gather_elements",
            (f32(4, 9, 7),),
            (indices(extent, 3, 8, 6),),
            {"axis": axis},
        )
        for axis, extent in enumerate((4, 9, 7))
    ),
    Single("average of floats", "avg_pool", (f32(1, 5, 9, 8),), attrs=ASYMMETRIC),
    Single("max pool of floats", "max_pool", (f32(1, 5, 9, 8),), attrs=ASYMMETRIC),
]


def reduced(kind: str, axis: int, *shape: int) -> Single:
    reduction = REDUCTIONS[kind]
    dtype = DType.F32 if DType.F32 in reduction.dtypes else min(reduction.dtypes)
    return Single(
        f"{kind} along {axis}", f"reduce_{kind}", (numbers(dtype, *shape),), attrs={"axis": axis}
    )


REDUCED = [reduced(str(kind), axis, 4, 7, 6) for kind in REDUCTIONS for axis in range(3)]
REDUCED += [reduced("sum", 0, 37), reduced("max", 1, 9, 8)]


@pytest.mark.parametrize(("case", "arch"), [*thinned([*POOLS, *BYTES], ["edge-1m", "simba"])])
def test_bytes_are_exact_however_small_the_tiles(case: Single, arch: str) -> None:
    assert sum(assert_right(case, arch, budget) for budget in (None, 500, 260, 130, 70)) > 1


@pytest.mark.parametrize("case", [*FLOATS, *REDUCED], ids=str)
def test_numbers_are_those_of_the_reference(case: Single) -> None:
    assert sum(assert_right(case, "edge-fp32", budget) for budget in (None, 1500, 600, 300)) > 1
