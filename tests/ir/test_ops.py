"""The table of operator kinds: inference, verification, workloads."""

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.operators.spec import Family
from accnn.ir.ops import OPS, is_mac, make_op, verify_graph, verify_op, workload
from accnn.ir.types import DType, Quantization, TensorType

Q = Quantization((0.5,), (3,))
PER_CHANNEL = Quantization((0.5,) * 6, (0,) * 6, 0)


def f32(*shape):
    return TensorType(DType.F32, shape)


def s8(*shape, quant=Q):
    return TensorType(DType.S8, shape, quant)


TYPES = {
    "x": f32(2, 4, 9, 8),
    "w": f32(6, 4, 3, 3),
    "b": f32(6),
    "m": f32(5, 7),
    "v": f32(3, 7),
    "heads": f32(2, 3, 5, 7),
    "keys": f32(2, 3, 9, 7),
    "qheads": s8(2, 5, 7),
    "qkeys": s8(2, 9, 7, quant=Quantization((0.1, 0.2), (0, 0), 0)),
    "qx": s8(2, 4, 9, 8),
    "qw": s8(6, 4, 3, 3, quant=PER_CHANNEL),
    "qb": TensorType(DType.S32, (6,)),
    "raw": TensorType(DType.S8, (2, 4, 9, 8)),
    "table": TensorType(DType.S8, (256,)),
    "i": TensorType(DType.S64, (2,)),
}


def make(kind, *operands, dtype=None, quant=None, **attrs):
    return make_op(kind, operands, TYPES, "y", attrs=attrs, dtype=dtype, quant=quant)


@pytest.mark.parametrize(
    ("kind", "operands", "attrs", "shape"),
    [
        ("conv2d", ("x", "w", "b"), {}, (2, 6, 7, 6)),
        ("conv2d", ("x", "w"), {"stride": (2, 1), "pads": (1, 0, 1, 2)}, (2, 6, 5, 8)),
        ("conv2d", ("x", "w"), {"dilation": (2, 3)}, (2, 6, 5, 2)),
        ("dense", ("m", "v"), {}, (5, 3)),
        ("dense", ("heads", "keys"), {}, (2, 3, 5, 9)),
        ("add", ("x", "x"), {}, (2, 4, 9, 8)),
        ("max_pool", ("x",), {"kernel": (3, 3), "overhang": (1, 0)}, (2, 4, 8, 6)),
        ("avg_pool", ("x",), {"kernel": (2, 2), "stride": (2, 2)}, (2, 4, 4, 4)),
        ("global_avg_pool", ("x",), {}, (2, 4, 1, 1)),
        ("reshape", ("m",), {"shape": (7, 5)}, (7, 5)),
        ("transpose", ("x",), {"perm": (0, 2, 3, 1)}, (2, 9, 8, 4)),
        ("concat", ("x", "x", "x"), {"axis": 1}, (2, 12, 9, 8)),
        ("softmax", ("m",), {"axis": 1}, (5, 7)),
    ],
)
def test_shapes_are_inferred(kind, operands, attrs, shape):
    assert make(kind, *operands, **attrs).result.type == f32(*shape)


def test_sums_hold_what_they_sum():
    sums = Quantization(Q.scale, (0,))
    made = make("sum_pool", "qx", kernel=(1, 8), dtype=DType.S16, quant=sums)

    assert made.result.type == TensorType(DType.S16, (2, 4, 9, 1), sums)
    types = {"s": made.result.type}
    mean = make_op(
        "global_avg_pool", ("s",), types, "m", attrs={"count": 8}, dtype=DType.U8, quant=Q
    )
    assert mean.result.type == TensorType(DType.U8, (2, 4, 1, 1), Q)


def test_an_integer_convolution_takes_the_quantisation_that_is_asked_for():
    op = make("conv2d", "qx", "qw", "qb", dtype=DType.U8, quant=Q, qlo=3, qhi=200)

    assert op.result.type == TensorType(DType.U8, (2, 6, 7, 6), Q)


@pytest.mark.parametrize(
    ("kind", "operands", "options", "text"),
    [
        ("conv3d", ("x",), {}, "is no known operator"),
        ("conv2d", ("x",), {}, "has 1 operands, expected x, w, bias"),
        ("conv2d", ("x", ""), {}, "lacks operand 'w'"),
        ("relu", ("x", "x"), {}, "has 2 operands, expected x"),
        ("conv2d", ("x", "w", "v"), {}, r"expects a bias of shape \(6,\)"),
        ("conv2d", ("x", "w"), {"groups": 2}, "do not suit 4 input channels"),
        ("conv2d", ("x", "w"), {"dilation": (9, 1)}, "the window is larger"),
        ("conv2d", ("m", "w"), {}, r"expects \[N, C, H, W\]"),
        ("conv2d", ("x", "w"), {"stride": (0, 1)}, "'stride' = .* must be at least 1"),
        ("conv2d", ("x", "w"), {"stride": (1,)}, "must have 2 values"),
        ("conv2d", ("x", "w"), {"stride": 2}, "must be of type ints"),
        ("conv2d", ("x", "w"), {"pad": (1, 1)}, r"has no attribute 'pad' \(known: stride, "),
        ("conv2d", ("x", "w"), {"act": "gelu"}, "must be one of none, relu, clip, leaky_relu"),
        ("conv2d", ("x", "w"), {"lo": 0.0}, "has 'lo' without act"),
        ("conv2d", ("x", "w"), {"act": "leaky_relu"}, "lacks 'alpha', which act"),
        ("conv2d", ("x", "w"), {"qlo": 0}, "clamp bounds 'qlo'/'qhi' on a float result"),
        ("conv2d", ("x", "w"), {"dtype": DType.S8}, "expects f32 throughout, got s8"),
        ("conv2d", ("qx", "qw"), {"dtype": DType.S8}, "result must be s8 or u8 with a quant"),
        ("conv2d", ("raw", "qw"), {"dtype": DType.S8, "quant": Q}, "x must be s8 or u8 with"),
        ("conv2d", ("qx", "qw", "b"), {"dtype": DType.S8, "quant": Q}, "bias of type s32"),
        (
            "conv2d",
            ("qx", "qw"),
            {"dtype": DType.S8, "quant": Q, "qlo": 9, "qhi": 3},
            r"clamp bounds 9\.\.3",
        ),
        (
            "conv2d",
            ("qx", "qw"),
            {"dtype": DType.S8, "quant": Q, "act": "relu"},
            "float activation on an integer",
        ),
        ("dense", ("m", "b"), {}, r"expects \[M, L\] and \[J, L\]"),
        ("dense", ("heads", "v"), {}, "or batches of them, got"),
        ("dense", ("heads", "keys", "b"), {}, "has batches and a bias"),
        (
            "dense",
            ("qheads", "qkeys"),
            {"dtype": DType.S8, "quant": Q},
            "w is quantised along axis 0",
        ),
        ("add", ("x", "m"), {}, "do not broadcast"),
        ("add", ("x", "qx"), {}, "expects f32 throughout"),
        ("leaky_relu", ("x",), {}, "lacks attribute 'alpha'"),
        ("reshape", ("m",), {"shape": (5, 6)}, r"cannot reshape \(5, 7\) to \(5, 6\)"),
        ("transpose", ("m",), {"perm": (0, 0)}, "is no permutation"),
        ("concat", ("x", "m"), {"axis": 1}, "differ beside axis 1"),
        ("concat", ("x", "x"), {"axis": 4}, "axis 4 is outside"),
        ("concat", ("x", "qx"), {"axis": 1}, "operand 1 and the result differ in type"),
        ("slice", ("m",), {"starts": (0,), "steps": (1,), "shape": (5,)}, "for .5, 7."),
        (
            "slice",
            ("m",),
            {"starts": (0, 3), "steps": (1, 2), "shape": (5, 3)},
            "takes 3 elements from 3 by 2 of 7",
        ),
        ("expand", ("m",), {"shape": (5, 8)}, r"cannot broadcast \(5, 7\) to \(5, 8\)"),
        ("tile", ("m",), {"repeats": (2,)}, r"has repeats \(2,\)"),
        ("take", ("m",), {"axis": 0, "indices": (5,)}, "takes index 5 along axis 0"),
        (
            "rearrange",
            ("m",),
            {"factors": (5, 7), "perm": (0, 0), "shape": (7, 5)},
            "is no permutation",
        ),
        (
            "rearrange",
            ("m",),
            {"factors": (5, 6), "perm": (1, 0), "shape": (7, 5)},
            r"cannot see \(5, 7\) as \(5, 6\)",
        ),
        ("pad", ("m",), {"pads": (1, 0), "mode": "edge"}, r"has pads \(1, 0\)"),
        ("pad", ("m",), {"pads": (0, 0, 1, 1), "mode": "constant"}, "has 0 values around it"),
        ("pad", ("m",), {"pads": (5, 0, 0, 0), "mode": "reflect"}, "more than mode reflect finds"),
        ("gather", ("m", "v"), {"axis": 0}, "expects indices of s32 or s64, got f32"),
        ("gather", ("m", "v"), {"axis": 2}, "axis 2 is outside"),
        ("gather_elements", ("x", "i"), {"axis": 0}, "do not suit"),
        ("where", ("m", "m", "m"), {}, "expects bool throughout, got f32"),
        ("cast", ("qx",), {"dtype": DType.F32}, "works on plain numbers"),
        (
            "shift_left",
            ("m", "m"),
            {},
            "u64, u8, not for f32",
        ),
        ("less", ("qx", "qx"), {}, "works on plain numbers; an operand"),
        ("max_pool", ("qb",), {"kernel": (2, 2)}, r"expects \[N, C, H, W\]"),
        ("sum_pool", ("x",), {"kernel": (1, 8)}, "x must be s8 or u8 with a quant"),
        ("sum_pool", ("qx",), {"kernel": (1, 8), "dtype": DType.S8}, "up to 2040, which s8 does"),
        ("sum_pool", ("qx",), {"kernel": (1, 8), "dtype": DType.S16}, "the operand's scale"),
        (
            "global_avg_pool",
            ("qx",),
            {"count": 8, "dtype": DType.S8, "quant": Q},
            "averages sums of s16 or s32 without a zero point, not s8<2x4x9x8>",
        ),
        ("lookup", ("x", "table"), {"dtype": DType.S8}, "maps s8 or u8 to s8 or u8"),
        ("lookup", ("qx", "qb"), {"dtype": DType.S8}, "expects a table s8<256>"),
        ("quantize", ("qx",), {"quant": Q, "dtype": DType.S8}, "expects f32 throughout"),
        ("dequantize", ("x",), {}, "must be s8, u8 or s32 with a quantisation"),
    ],
)
def test_what_breaks_a_rule_is_refused(kind, operands, options, text):
    with pytest.raises(VerifyError, match=text):
        make(kind, *operands, **options)


def test_a_stored_shape_must_be_the_inferred_one():
    op = Op(kind="relu", operands=("m",), results=(Value("y", f32(7, 5)),))

    with pytest.raises(VerifyError, match=r"relu %y: has shape \(7, 5\), its operands give"):
        verify_op(op, TYPES)


def test_attributes_must_be_sorted():
    op = make("conv2d", "x", "w", stride=(1, 1), pads=(0, 0, 0, 0))
    swapped = Op(kind=op.kind, operands=op.operands, results=op.results, attrs=op.attrs[::-1])

    verify_op(op, TYPES)
    with pytest.raises(VerifyError, match="not sorted"):
        verify_op(swapped, TYPES)


def test_a_graph_is_checked_operator_by_operator():
    good = make("relu", "x")
    bad = Op(kind="relu", operands=("y",), results=(Value("z", f32(1)),), loc="node 'r'")
    inputs = (Value("x", TYPES["x"]),)

    def graph(*ops):
        return Graph(name="g", inputs=inputs, constants=(), ops=ops, outputs=(ops[-1].name,))

    verify_graph(graph(good))
    with pytest.raises(VerifyError, match=r"relu %z \(from node 'r'\): has shape"):
        verify_graph(graph(good, bad))


def test_the_workload_of_a_convolution():
    found = workload(make("conv2d", "x", "w", stride=(2, 1), dilation=(1, 2)), TYPES)

    assert found is not None
    assert str(found) == "R=3 S=3 P=4 Q=4 C=4 K=6 N=2 stride=2,1 dilation=1,2"
    assert (found.input_bits, found.weight_bits, found.psum_bits) == (32, 32, 32)


def test_the_workload_of_a_grouped_integer_convolution():
    types = {**TYPES, "d": s8(4, 1, 3, 3)}
    op = make_op("conv2d", ("qx", "d"), types, "y", attrs={"groups": 4}, dtype=DType.S8, quant=Q)

    found = workload(op, types)
    assert found is not None
    assert (found.C, found.K, found.G) == (1, 1, 4)
    assert (found.input_bits, found.weight_bits, found.output_bits) == (8, 8, 8)


def test_the_workload_of_a_matrix_product():
    found = workload(make("dense", "m", "v"), TYPES)

    assert found is not None
    assert (found.P, found.C, found.K, found.macs) == (5, 7, 3, 105)


def test_every_product_of_a_batch_is_a_step_of_groups():
    found = workload(make("dense", "heads", "keys"), TYPES)

    assert found is not None
    assert (found.G, found.P, found.C, found.K) == (6, 5, 7, 9)


def test_only_the_mac_array_has_workloads():
    for spec in OPS.values():
        assert (spec.workload is not None) == (spec.family is Family.MAC)
        assert (spec.access is None) == (spec.family in (Family.MAC, Family.COMPOSITE))
    assert is_mac(make("dense", "m", "v")) and not is_mac(make("relu", "x"))
    assert workload(make("relu", "x"), TYPES) is None
