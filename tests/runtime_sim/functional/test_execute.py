"""Every instruction but ``Mac`` against a direct formula."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accnn.ir.errors import SimulationError
from accnn.ir.isa.instructions import (
    Access,
    Activate,
    Activation,
    Binary,
    BinaryKind,
    Convert,
    Copy,
    Dequantize,
    Fill,
    Gather,
    Lookup,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    ReduceKind,
    Requant,
    RequantLookup,
    RequantPair,
    Select,
    Space,
    Window,
)
from accnn.ir.operators.elementary import erf
from accnn.ir.operators.functions import FUNCTIONS, PAIRS, REDUCTIONS
from accnn.ir.types import DType
from accnn.runtime_sim.accesses import touches
from accnn.runtime_sim.functional.machine import NUMPY_TYPES, Machine

from ...programs import at, dense, program
from ..whole import execute, store

MANY = settings(max_examples=120, deadline=None)
FEW = settings(max_examples=40, deadline=None)
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
BYTES = st.sampled_from([DType.S8, DType.U8])


def port_of():
    machine = Machine(program({"vx0": []}))
    rng = np.random.default_rng(1)
    for memory in machine.memories.values():
        memory.bytes[:] = rng.integers(0, 256, memory.bytes.size)
    return machine.ports[0]


def floats(port, access, shape, seed, scale=3.0):
    """Random float32 in memory."""
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * scale
    port.view(access, shape, np.dtype("<f4"))[...] = values
    return values


@st.composite
def strided(draw, shape, size, space=Space.GB, base=4000):
    """An access whose elements do not overlap: dense loops in any order, gaps, either sign."""
    order = draw(st.permutations(range(len(shape))))
    strides, reach, address = [0] * len(shape), size, base
    for loop in order:
        step = reach + draw(st.integers(0, 3))
        reach = step * (shape[loop] - 1) + reach
        if draw(st.booleans()):
            strides[loop] = step
        else:
            strides[loop] = -step
            address += step * (shape[loop] - 1)
    return Access(space, 0, address, tuple(strides))


def place(base, index, strides):
    """The byte at an index."""
    return base + sum(i * stride for i, stride in zip(index, strides, strict=True))


def gathered(memory, access, shape, size):
    """The bytes of an access, element by element."""
    firsts = {index: place(access.address, index, access.strides) for index in np.ndindex(shape)}
    return {index: bytes(memory[first : first + size]) for index, first in firsts.items()}


@MANY
@given(st.data())
def test_copy(data):
    shape, size = data.draw(SHAPES), data.draw(st.sampled_from([1, 2, 3, 4, 8]))
    src = data.draw(strided(shape, size, Space.PB, base=500))
    if data.draw(st.booleans()):
        src = Access(src.space, 0, src.address, (*src.strides[:-1], 0))
    dst = data.draw(strided(shape, size))
    port = port_of()
    expected = gathered(port.reach[src.space, 0].bytes, src, shape, size)
    memory = port.reach[dst.space, 0].bytes
    before = memory.copy()

    execute(port, Copy(dst=dst, src=src, shape=shape, element_bytes=size))

    assert gathered(memory, dst, shape, size) == expected
    assert np.count_nonzero(memory != before) <= math.prod(shape) * size


@FEW
@given(st.data())
def test_fill(data):
    shape, size = data.draw(SHAPES), data.draw(st.sampled_from([1, 2, 3, 4, 8]))
    value = data.draw(st.integers(0, (1 << 8 * size) - 1))
    dst = data.draw(strided(shape, size))
    port = port_of()

    execute(port, Fill(dst=dst, shape=shape, element_bytes=size, value=value))

    written = gathered(port.reach[dst.space, 0].bytes, dst, shape, size)
    assert set(written.values()) == {value.to_bytes(size, "little")}


@MANY
@given(st.data())
def test_touches_are_exactly_the_bytes_that_change(data):
    """What races are judged by: the written bytes of a copy, one by one."""
    shape, size = data.draw(SHAPES), data.draw(st.sampled_from([1, 3, 4]))
    dst = data.draw(strided(shape, size))
    src = at(Space.PB, 0, *(0,) * len(shape))
    port = port_of()
    port.reach[Space.PB, 0].bytes[:8] = 77
    memory = port.reach[dst.space, 0].bytes
    memory[:] = 0
    copy = Copy(dst=dst, src=src, shape=shape, element_bytes=size)

    execute(port, copy)

    (lattice,) = touches(copy)[1].region.lattices
    claimed = {
        place(dst.address + lattice.offset, index, lattice.strides)
        for index in np.ndindex(lattice.shape)
    }
    assert claimed == set(np.flatnonzero(memory).tolist())


@FEW
@given(st.data())
def test_requant(data):
    K, P = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))
    dtype, acc_bytes = data.draw(BYTES), data.draw(st.sampled_from([3, 4]))
    zero = data.draw(st.integers(*dtype.range))
    low, high = sorted(data.draw(st.tuples(*[st.integers(*dtype.range)] * 2)))
    with_bias = data.draw(st.booleans())
    port = port_of()
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    acc = rng.integers(-(1 << 22), 1 << 22, (K, P), np.int32)
    bias = rng.integers(-(1 << 20), 1 << 20, K, np.int32)
    factor = rng.uniform(0, 1e-4, K).astype(np.float32)
    port.reach[Space.PB, 0].bytes[: 8 * K] = np.concatenate([bias.view("u1"), factor.view("u1")])
    acc_access = dense(Space.AB, 16, (K, P), acc_bytes)
    store(port, acc_access, (K, P), acc_bytes, acc)
    dst = data.draw(strided((K, P), 1))
    total = acc + bias[:, None] if with_bias else acc
    scaled = np.rint(total.astype(np.float32) * factor[:, None]).astype(np.int64) + zero

    execute(
        port,
        Requant(
            dst=dst,
            acc=acc_access,
            bias=at(Space.PB, 0, 4, 0) if with_bias else None,
            multiplier=at(Space.PB, 4 * K, 4, 0),
            shape=(K, P),
            dtype=dtype,
            zero_point=zero,
            low=low,
            high=high,
            acc_bytes=acc_bytes,
        ),
    )

    found = port.view(dst, (K, P), NUMPY_TYPES[dtype])
    np.testing.assert_array_equal(found, np.clip(scaled, low, high))


K, P = 5, 9
"""Channels and positions that are finished."""

BETWEEN, MADE = dense(Space.GB, 0, (K, P), 1), dense(Space.GB, 2000, (K, P), 1)


def finishing(data, port) -> dict[str, Any]:
    """Return drawn fields of ``Requant``, of which ``dst`` is missing."""
    dtype = data.draw(BYTES)
    low, high = sorted(data.draw(st.tuples(*[st.integers(*dtype.range)] * 2)))
    factor = np.random.default_rng(3).uniform(0, 1e-7, K).astype(np.float32)
    port.reach[Space.PB, 0].bytes[: 4 * K] = factor.view("u1")
    return {
        "acc": dense(Space.AB, 16, (K, P), 4),
        "bias": None,
        "multiplier": at(Space.PB, 0, 4, 0),
        "shape": (K, P),
        "dtype": dtype,
        "zero_point": data.draw(st.integers(*dtype.range)),
        "low": low,
        "high": high,
    }


@settings(deadline=None)
@given(st.data())
def test_requant_pair_is_requant_and_then_qbinary(data):
    port = port_of()
    fields = finishing(data, port)
    dtype = fields["dtype"]
    numbers = st.integers(*dtype.range)
    least, most = sorted(data.draw(st.tuples(numbers, numbers)))
    pairing = {
        "kind": data.draw(st.sampled_from([BinaryKind.ADD, BinaryKind.MUL])),
        "scales": tuple(float(np.float32(data.draw(st.floats(0.01, 2)))) for _ in range(3)),
        "zeros": data.draw(st.tuples(numbers, numbers, numbers)),
    }
    is_second = data.draw(st.booleans())
    other, dst = (data.draw(strided((K, P), 1, base=base)) for base in (4000, 6000))
    a, b = (other, BETWEEN) if is_second else (BETWEEN, other)
    both = {"shape": (K, P), "dtype": dtype, "low": least, "high": most, **pairing}
    joint = {"other": other, "is_second": is_second, "least": least, "most": most, **pairing}

    execute(port, Requant(dst=BETWEEN, **fields))
    execute(port, QBinary(dst=MADE, a=a, b=b, **both))
    execute(port, RequantPair(dst=dst, **fields, **joint))

    form = (K, P), NUMPY_TYPES[dtype]
    np.testing.assert_array_equal(port.view(dst, *form), port.view(MADE, *form))


@settings(deadline=None)
@given(st.data())
def test_requant_lookup_is_requant_and_then_lookup(data):
    port = port_of()
    fields, table = finishing(data, port), at(Space.PB, 512, 1, 1)
    dst = data.draw(strided((K, P), 1, base=6000))

    execute(port, Requant(dst=BETWEEN, **fields))
    execute(port, Lookup(dst=MADE, src=BETWEEN, table=table, shape=(K, P)))
    execute(port, RequantLookup(dst=dst, table=table, **fields))

    form = (K, P), np.dtype("u1")
    np.testing.assert_array_equal(port.view(dst, *form), port.view(MADE, *form))


FORMULAS = {
    Activation.NONE: lambda x: x,
    Activation.RELU: lambda x: np.maximum(x, 0),
    Activation.CLIP: lambda x: np.clip(x, -1, 2),
    Activation.LEAKY_RELU: lambda x: np.where(x < 0, -1 * x, x),
    Activation.SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
    Activation.TANH: np.tanh,
    Activation.EXP: np.exp,
    Activation.SQRT: np.sqrt,
    Activation.RECIPROCAL: lambda x: 1 / x,
    Activation.ERF: np.vectorize(math.erf),
    Activation.LOG: np.log,
    Activation.ABS: lambda x: np.where(x < 0, -x, x),
    Activation.NEG: lambda x: 0 - x,
    Activation.SIGN: lambda x: (x > 0) * 1.0 - (x < 0),
    Activation.FLOOR: np.vectorize(math.floor),
    Activation.CEIL: np.vectorize(math.ceil),
    Activation.ROUND: np.vectorize(round),
    Activation.SIN: np.vectorize(math.sin),
    Activation.COS: np.vectorize(math.cos),
    Activation.TAN: lambda x: np.sin(x) / np.cos(x),
    Activation.ASIN: np.arcsin,
    Activation.ACOS: lambda x: np.pi / 2 - np.arcsin(x),
    Activation.ATAN: np.vectorize(math.atan),
    Activation.SINH: lambda x: (np.exp(x) - np.exp(-x)) / 2,
    Activation.COSH: lambda x: (np.exp(x) + np.exp(-x)) / 2,
    Activation.ASINH: lambda x: np.log(x + np.sqrt(x * x + 1)),
    Activation.ACOSH: lambda x: np.log(x + np.sqrt(x * x - 1)),
    Activation.ATANH: lambda x: np.log((1 + x) / (1 - x)) / 2,
    Activation.SOFTPLUS: lambda x: np.log(1 + np.exp(x)),
    Activation.SOFTSIGN: lambda x: x / (1 + np.abs(x)),
    Activation.MISH: lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    Activation.ELU: lambda x: np.where(x < 0, -(np.exp(x) - 1), x),
    Activation.CELU: lambda x: np.where(x < 0, np.exp(x) - 1, x),
    Activation.SELU: lambda x: 2 * np.where(x < 0, -(np.exp(x) - 1), x),
    Activation.THRESHOLDED_RELU: lambda x: np.where(x > -1, x, 0),
    Activation.SHRINK: lambda x: np.where(x < -0.5, x + 2, np.where(x > 0.5, x - 2, 0)),
    Activation.HARD_SIGMOID: lambda x: np.clip(2 - x, 0, 1),
    Activation.HARD_SWISH: lambda x: x * np.clip((x + 3) / 6, 0, 1),
    Activation.SWISH: lambda x: x / (1 + np.exp(x)),
    Activation.GELU: lambda x: x * (1 + np.vectorize(math.erf)(x / 2**0.5)) / 2,
    Activation.GELU_TANH: lambda x: (
        x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2
    ),
}
"""Meaning of each function with the numbers -1 and 2."""

_POSITIVE = {Activation.CELU: 1.0, Activation.SHRINK: 0.5}
"""First numbers of functions for which -1 means nothing."""


@pytest.mark.parametrize("act", FORMULAS)
def test_activate(act):
    port, shape = port_of(), (3, 5)
    src, dst = dense(Space.AB, 0, shape, 4), dense(Space.GB, 0, shape, 4)
    values = floats(port, src, shape, seed=2)
    bias = floats(port, at(Space.PB, 0, 4), (3,), seed=3)
    if act is Activation.SQRT:
        values = np.abs(values)
        bias = np.abs(bias)
        port.view(src, shape, np.dtype("<f4"))[...] = values
        port.view(at(Space.PB, 0, 4), (3,), np.dtype("<f4"))[...] = bias
    total = (values + bias[:, None]).astype(np.float64)

    channel, a = at(Space.PB, 0, 4, 0), _POSITIVE.get(act, -1.0)
    execute(port, Activate(dst=dst, src=src, bias=channel, shape=shape, act=act, a=a, b=2.0))

    found = port.view(dst, shape, np.dtype("<f4"))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, FORMULAS[act](total), rtol=1e-5, atol=1e-6)


def test_every_function_has_a_formula():
    assert set(FORMULAS) == {act for act, item in FUNCTIONS.items() if DType.F32 in item.dtypes}
    assert set(FUNCTIONS) == set(Activation) and set(PAIRS) == set(BinaryKind)
    assert set(REDUCTIONS) == set(ReduceKind)


@pytest.mark.parametrize(("dtype", "act"), [("?", "not"), ("<i4", "not"), ("<i8", "neg")])
def test_activate_knows_integers_and_truth_values(dtype, act):
    port, size = port_of(), np.dtype(dtype).itemsize
    src, dst = at(Space.GB, 0, size), at(Space.GB, 500, size)
    values = np.array([0, 1, 1, 0, 1]).astype(dtype)
    port.view(src, (5,), np.dtype(dtype))[...] = values
    kind = next(item for item, found in NUMPY_TYPES.items() if found == np.dtype(dtype))

    call = {"act": Activation(act), "dtype": kind}
    execute(port, Activate(dst=dst, src=src, bias=None, shape=(5,), **call))

    expected = -values if act == "neg" else ~values
    np.testing.assert_array_equal(port.view(dst, (5,), np.dtype(dtype)), expected)


def test_erf_is_accurate_everywhere():
    x = np.concatenate([np.linspace(-6, 6, 4001), [1e-20, 0.0, 0.0499999, 0.05, np.inf]])
    x = x.astype(np.float32)

    exact = np.vectorize(math.erf)(x.astype(np.float64))

    np.testing.assert_allclose(erf(x), exact, atol=3e-7, rtol=3e-6)


@pytest.mark.parametrize(
    "kind",
    [kind for kind, item in PAIRS.items() if DType.F32 in item.dtypes and item.result is None],
)
def test_binary(kind):
    port, shape = port_of(), (2, 7)
    a, b = dense(Space.GB, 0, shape, 4), at(Space.GB, 1000, 0, 4)
    dst = dense(Space.GB, 2000, shape, 4)
    first, second = floats(port, a, shape, 4), floats(port, at(Space.GB, 1000, 4), (7,), 5)
    formulas = {"add": np.add, "mul": np.multiply, "sub": np.subtract, "div": np.divide}
    formulas |= {"max": np.maximum, "min": np.minimum, "fmod": np.fmod, "mod": np.remainder}
    formulas |= {"prelu": lambda x, y: np.maximum(x, 0) + np.minimum(x, 0) * y, "pow": np.power}

    with np.errstate(all="ignore"):
        execute(port, Binary(kind=kind, dst=dst, a=a, b=b, shape=shape, act=Activation.RELU))

    with np.errstate(all="ignore"):
        expected = np.maximum(formulas[kind](first, second), 0)
    np.testing.assert_array_equal(port.view(dst, shape, np.dtype("<f4")), expected)


INTEGERS = {
    "div": lambda a, b: int(a / b),
    "mod": lambda a, b: a - b * math.floor(a / b),
    "fmod": math.fmod,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << abs(b),
    "shift_right": lambda a, b: a >> abs(b),
    "equal": lambda a, b: a == b,
    "less": lambda a, b: a < b,
    "less_or_equal": lambda a, b: a <= b,
    "add": lambda a, b: a + b,
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_binary_knows_integers(kind):
    port, values = port_of(), np.array([7, -7, 7, -7, 6, 2], np.int32)
    others = np.array([2, 2, -2, -2, 3, 2], np.int32)
    others = np.abs(others) if kind.startswith("shift") else others
    a, b, dst = (at(Space.GB, place, 4) for place in (0, 100, 200))
    port.view(a, (6,), np.dtype("<i4"))[...] = values
    port.view(b, (6,), np.dtype("<i4"))[...] = others
    made = np.dtype("?") if kind in ("equal", "less", "less_or_equal") else np.dtype("<i4")
    dst = at(Space.GB, 200, made.itemsize)

    execute(port, Binary(kind=BinaryKind(kind), dst=dst, a=a, b=b, shape=(6,), dtype=DType.S32))

    expected = [INTEGERS[kind](int(x), int(y)) for x, y in zip(values, others, strict=True)]
    np.testing.assert_array_equal(port.view(dst, (6,), made), expected)


def test_select_takes_one_of_two():
    port = port_of()
    condition, a, b, dst = at(Space.GB, 0, 1), *(at(Space.GB, n, 4) for n in (40, 80, 120))
    first, second = floats(port, a, (6,), 1), floats(port, b, (6,), 2)
    truth = np.array([1, 0, 0, 1, 1, 0], bool)
    port.view(condition, (6,), np.dtype("?"))[...] = truth

    execute(port, Select(dst=dst, condition=condition, a=a, b=b, shape=(6,), element_bytes=4))

    found = port.view(dst, (6,), np.dtype("<f4"))
    np.testing.assert_array_equal(found, np.where(truth, first, second))


def test_convert_cuts_fractions_off():
    port, src, dst = port_of(), at(Space.GB, 0, 4), at(Space.GB, 100, 8)
    port.view(src, (4,), np.dtype("<f4"))[...] = (1.9, -1.9, 0.0, 5.0)

    execute(port, Convert(dst=dst, src=src, shape=(4,), dtype=DType.F32, to=DType.S64))
    truth = at(Space.GB, 200, 1)
    execute(port, Convert(dst=truth, src=src, shape=(4,), dtype=DType.F32, to=DType.BOOL))

    assert port.view(dst, (4,), np.dtype("<i8")).tolist() == [1, -1, 0, 5]
    assert port.view(truth, (4,), np.dtype("?")).tolist() == [True, True, False, True]


def gather(extent):
    return Gather(
        dst=at(Space.GB, 1000, 12, 4),
        src=at(Space.GB, 0, 0, 4),
        index=at(Space.GB, 500, 8, 0),
        shape=(4, 3),
        element_bytes=4,
        dtype=DType.S64,
        step=12,
        extent=extent,
    )


def test_gather_picks_rows():
    port, rows = port_of(), np.array([4, 0, -1, 2])
    table = floats(port, at(Space.GB, 0, 12, 4), (5, 3), 3)
    port.view(at(Space.GB, 500, 8), (4,), np.dtype("<i8"))[...] = rows

    execute(port, gather(5))

    found = port.view(at(Space.GB, 1000, 12, 4), (4, 3), np.dtype("<f4"))
    np.testing.assert_array_equal(found, table[rows])
    with pytest.raises(SimulationError, match="an index of 4 elements is outside"):
        execute(port, gather(4))


@FEW
@given(st.data())
def test_qbinary_add_uses_fused_multiply_adds(data):
    dtype = data.draw(BYTES)
    scale = st.floats(0.0078125, 2, width=32)
    scales = data.draw(st.tuples(scale, scale, scale))
    zeros = data.draw(st.tuples(*[st.integers(*dtype.range)] * 3))
    port, low, high = port_of(), *dtype.range
    a, b, dst = (at(Space.GB, place, 1) for place in (0, 100, 200))
    np_dtype = NUMPY_TYPES[dtype]
    first, second = port.view(a, (64,), np_dtype).copy(), port.view(b, (64,), np_dtype).copy()

    execute(
        port,
        QBinary(
            kind=BinaryKind.ADD,
            dst=dst,
            a=a,
            b=b,
            shape=(64,),
            dtype=dtype,
            scales=scales,
            zeros=zeros,
            low=low,
            high=high,
        ),
    )

    real = scales[0] * (first.astype(float) - zeros[0]) + scales[1] * (second - float(zeros[1]))
    expected = np.clip(np.rint(real / scales[2]) + zeros[2], low, high)
    assert np.abs(port.view(dst, (64,), np_dtype) - expected).max() <= 1


def test_qbinary_mul():
    port = port_of()
    a, b, dst = (at(Space.GB, place, 1) for place in (0, 100, 200))
    first = port.view(a, (64,), np.dtype("u1")).astype(np.int32)
    second = port.view(b, (64,), np.dtype("u1")).astype(np.int32)
    factor = np.float32(0.02) * np.float32(0.03) / np.float32(0.1)
    product = ((first - 3) * (second - 7)).astype(np.float32) * factor + np.float32(11)

    execute(
        port,
        QBinary(
            kind=BinaryKind.MUL,
            dst=dst,
            a=a,
            b=b,
            shape=(64,),
            dtype=DType.U8,
            scales=(0.02, 0.03, 0.1),
            zeros=(3, 7, 11),
            low=11,
            high=200,
        ),
    )

    expected = np.clip(np.rint(product), 11, 200)
    np.testing.assert_array_equal(port.view(dst, (64,), np.dtype("u1")), expected)


def test_qbinary_knows_no_maximum():
    access = at(Space.GB, 0, 1)
    fields = {"dst": access, "a": access, "b": access, "shape": (1,), "dtype": DType.U8}
    instruction = QBinary(
        kind=BinaryKind.MAX, scales=(1.0,) * 3, zeros=(0,) * 3, low=0, high=1, **fields
    )

    with pytest.raises(SimulationError, match="no quantised max of u8"):
        execute(port_of(), instruction)


def test_lookup():
    port, shape = port_of(), (4, 9)
    src, dst = dense(Space.GB, 0, shape), dense(Space.GB, 999, shape)
    values = port.view(src, shape, np.dtype("u1")).copy()
    table = port.view(at(Space.PB, 30, 1), (256,), np.dtype("u1")).copy()

    execute(port, Lookup(dst=dst, src=src, table=at(Space.PB, 30, 0, 0), shape=shape))

    np.testing.assert_array_equal(port.view(dst, shape, np.dtype("u1")), table[values])


@st.composite
def pools(draw, kind, dtype, to=None, **fields):
    small = st.integers(1, 3)
    shape = (draw(small), draw(small), draw(small), draw(small))
    kernel = draw(st.sampled_from([(1, 1), (2, 2), (3, 2), (5, 4)]))
    stride = (draw(small), draw(small))
    top, left = draw(st.integers(0, kernel[0] - 1)), draw(st.integers(0, kernel[1] - 1))
    rows = max(1, (shape[2] - 1) * stride[0] + kernel[0] - top - draw(st.integers(0, 1)))
    columns = max(1, (shape[3] - 1) * stride[1] + kernel[1] - left - draw(st.integers(0, 1)))
    window = Window(stride=stride, dilation=(1, 1), rows=rows, columns=columns, top=top, left=left)
    return Pool(
        kind=kind,
        dst=dense(Space.GB, 8000, shape, (to or dtype).bytes),
        src=dense(Space.GB, 0, (*shape[:2], rows, columns), dtype.bytes),
        shape=shape,
        kernel=kernel,
        window=window,
        dtype=dtype,
        to=to or dtype,
        **fields,
    )


def pool_taps(instruction, values):
    """Per output, the elements that exist, in the order of the taps."""
    window = instruction.window
    for n, c, p, q in np.ndindex(instruction.shape):
        seen = []
        for r in range(instruction.kernel[0]):
            for s in range(instruction.kernel[1]):
                row = p * window.stride[0] + r - window.top
                column = q * window.stride[1] + s - window.left
                if 0 <= row < window.rows and 0 <= column < window.columns:
                    seen.append(values[n, c, row, column])
        yield (n, c, p, q), seen


def pool_input(port, instruction):
    window, shape = instruction.window, instruction.shape
    extents = (*shape[:2], window.rows, window.columns)
    if instruction.dtype is DType.F32:
        return floats(port, instruction.src, extents, 8)
    return port.view(instruction.src, extents, NUMPY_TYPES[instruction.dtype]).copy()


@MANY
@given(st.data())
def test_pool_max(data):
    dtype = data.draw(st.sampled_from([DType.S8, DType.U8, DType.F32]))
    instruction = data.draw(pools(ReduceKind.MAX, dtype))
    port = port_of()
    values = pool_input(port, instruction)

    execute(port, instruction)

    found = port.view(instruction.dst, instruction.shape, NUMPY_TYPES[dtype])
    lowest = -np.inf if dtype is DType.F32 else dtype.range[0]
    for index, seen in pool_taps(instruction, values):
        assert found[index] == max(seen, default=lowest)


@MANY
@given(st.data())
def test_pool_mean(data):
    dtype = data.draw(st.sampled_from([DType.S8, DType.U8, DType.F32]))
    fields = {"scales": (0.5, 0.375), "zeros": (5, 9)} if dtype.is_integer else {}
    float_mean = data.draw(st.booleans())
    instruction = data.draw(pools(ReduceKind.MEAN, dtype, float_mean=float_mean, **fields))
    port = port_of()
    values = pool_input(port, instruction)
    taps = list(pool_taps(instruction, values))
    if not all(seen for _, seen in taps):
        with pytest.raises(SimulationError, match="a mean counts no element"):
            execute(port, instruction)
        return

    execute(port, instruction)

    found = port.view(instruction.dst, instruction.shape, NUMPY_TYPES[dtype])
    for index, seen in taps:
        mean = np.mean(np.asarray(seen, np.float64))
        if dtype.is_integer:
            real = (mean - 5) * 0.5 / 0.375 + 9
            assert abs(found[index] - np.clip(real, *dtype.range)) <= 0.5 + 1e-4
        else:
            assert found[index] == pytest.approx(mean, abs=1e-5)


def test_a_mean_may_count_padding():
    """A 2x2 window at the corner of an input padded by one row and one column."""
    window = Window(stride=(2, 2), dilation=(1, 1), rows=2, columns=2, top=1, left=1)
    src, dst = dense(Space.GB, 0, (1, 1, 2, 2), 4), dense(Space.GB, 64, (1, 1, 1, 1), 4)
    port = port_of()
    port.view(src, (1, 1, 2, 2), np.dtype("<f4"))[...] = 8
    fields = {
        "kind": ReduceKind.MEAN,
        "dst": dst,
        "src": src,
        "shape": (1, 1, 1, 1),
        "kernel": (2, 2),
        "window": window,
        "dtype": DType.F32,
        "to": DType.F32,
    }
    outer = {"include_padding": True, "outer_rows": (-1, 1), "outer_columns": (-1, 1)}

    for changes, expected in (({}, 8.0), (outer, 2.0), ({**outer, "outer_rows": (0, 1)}, 4.0)):
        execute(port, Pool(**fields, **changes))
        assert port.view(dst, (1, 1, 1, 1), np.dtype("<f4")).item() == expected


@MANY
@given(st.data())
def test_pool_sum(data):
    """Sums of integers are exact, and padding adds nothing."""
    dtype = data.draw(st.sampled_from([DType.S8, DType.U8]))
    to = data.draw(st.sampled_from([DType.S16, DType.S32]))
    instruction = data.draw(pools(ReduceKind.SUM, dtype, to, zeros=(5, 0)))
    port = port_of()
    values = pool_input(port, instruction)

    execute(port, instruction)

    found = port.view(instruction.dst, instruction.shape, NUMPY_TYPES[to])
    for index, seen in pool_taps(instruction, values):
        assert found[index] == sum(int(value) - 5 for value in seen)


@MANY
@given(st.data())
def test_a_mean_of_sums_counts_what_they_are_sums_of(data):
    dtype = data.draw(st.sampled_from([DType.S16, DType.S32]))
    fields = {"scales": (0.5, 0.375), "zeros": (0, 9), "count": 1000}
    instruction = data.draw(pools(ReduceKind.MEAN, dtype, DType.S8, **fields))
    port, window = port_of(), instruction.window
    extents = (*instruction.shape[:2], window.rows, window.columns)
    image = port.view(instruction.src, extents, NUMPY_TYPES[dtype])
    image //= 1 if dtype is DType.S16 else 1 << 16  # sums of all fit in 32 bits
    values = image.copy()
    taps = list(pool_taps(instruction, values))
    assume(all(seen for _, seen in taps))

    execute(port, instruction)

    found = port.view(instruction.dst, instruction.shape, np.dtype("i1"))
    for index, seen in taps:
        real = np.mean(np.asarray(seen, np.float64)) / 1000 * 0.5 / 0.375 + 9
        assert abs(found[index] - np.clip(real, -128, 127)) <= 0.5 + 1e-3


def test_a_pool_cannot_sum_floats():
    window = Window(stride=(1, 1), dilation=(1, 1), rows=1, columns=1, top=0, left=0)
    access = dense(Space.GB, 0, (1, 1, 1, 1), 4)
    instruction = Pool(
        kind=ReduceKind.SUM,
        dst=access,
        src=access,
        shape=(1, 1, 1, 1),
        kernel=(1, 1),
        window=window,
        dtype=DType.F32,
        to=DType.F32,
    )

    with pytest.raises(SimulationError, match="a pool cannot make a sum"):
        execute(port_of(), instruction)


REDUCED = {
    "max": np.max,
    "mean": np.mean,
    "sum": np.sum,
    "min": np.min,
    "prod": np.prod,
    "arg_max": np.argmax,
    "arg_min": np.argmin,
    "last_arg_max": lambda x, axis: 5 - np.argmax(x[:, ::-1], axis),
    "last_arg_min": lambda x, axis: 5 - np.argmin(x[:, ::-1], axis),
}


@pytest.mark.parametrize("kind", ReduceKind)
def test_reduce(kind):
    port = port_of()
    src, dst = dense(Space.GB, 0, (3, 6), 4), at(Space.GB, 500, 8)
    values = floats(port, src, (3, 6), 6)
    values[1, 2:4] = values[1].max() + 1
    port.view(src, (3, 6), np.dtype("<f4"))[...] = values
    made = np.dtype("<i8" if "arg" in kind else "<f4")

    execute(port, Reduce(kind=kind, dst=dst, src=src, shape=(3, 6)))

    found, formula = port.view(dst, (3,), made), REDUCED[kind]
    np.testing.assert_allclose(found, formula(values, axis=1), rtol=1e-6)


@FEW
@given(BYTES, st.floats(0.0078125, 3, width=32), st.integers(-100, 100))
def test_quantize_and_dequantize(dtype, scale, zero):
    zero = max(zero, dtype.range[0])
    port = port_of()
    src, dst, back = dense(Space.GB, 0, (40,), 4), at(Space.GB, 500, 1), at(Space.GB, 600, 4)
    values = floats(port, src, (40,), 7, scale=60)
    steps = np.rint(values / np.float32(scale)) + zero
    fields = {"shape": (40,), "dtype": dtype, "scale": scale, "zero_point": zero}

    execute(port, Quantize(dst=dst, src=src, **fields))
    execute(port, Dequantize(dst=back, src=dst, **fields))

    found = port.view(dst, (40,), NUMPY_TYPES[dtype])
    np.testing.assert_array_equal(found, np.clip(steps, *dtype.range))
    real = (found.astype(np.float32) - zero) * np.float32(scale)
    np.testing.assert_array_equal(port.view(back, (40,), np.dtype("<f4")), real)


def test_quantize_gives_bytes_only():
    access = at(Space.GB, 0, 4)
    fields = {"dst": access, "src": access, "shape": (1,), "scale": 1.0, "zero_point": 0}

    with pytest.raises(SimulationError, match="cannot quantise to s16"):
        execute(port_of(), Quantize(dtype=DType.S16, **fields))


@pytest.mark.parametrize("strides", [(1,), (1, 1, 1)])
def test_strides_must_match_the_loops(strides):
    copy = Copy(
        dst=at(Space.GB, 0, *strides), src=at(Space.GB, 99, 2, 1), shape=(2, 2), element_bytes=1
    )

    with pytest.raises(SimulationError, match=f"has {len(strides)} strides for 2 loops"):
        execute(port_of(), copy)
