from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import OverflowTrap, SimulationError
from accnn.ir.isa.instructions import Mac, Space, Window
from accnn.ir.types import DType
from accnn.runtime_sim.functional.machine import NUMPY_TYPES, Machine

from ...programs import at, dense, program
from ..whole import execute, store

SMALL = settings(max_examples=150, deadline=None)


def machine_of():
    return Machine(program({"mx0": []}))


def reference(x, w, acc, instruction):
    """The definition, one multiply-accumulate at a time."""
    R, S, P, Q, C, K, N, G = instruction.extents
    window = instruction.window
    result = acc.copy() if instruction.accumulate else np.zeros_like(acc)
    for p in range(P):
        for q in range(Q):
            for r in range(R):
                for s in range(S):
                    row = p * window.stride[0] + r * window.dilation[0] - window.top
                    column = q * window.stride[1] + s * window.dilation[1] - window.left
                    if not (0 <= row < window.rows and 0 <= column < window.columns):
                        continue
                    result[..., p, q] += np.einsum(
                        "ngc,gkc->ngk",
                        x[..., row, column] - instruction.x_zero,
                        w[..., r, s] - instruction.w_zero,
                    )
    assert result.shape == (N, G, K, P, Q)
    assert w.shape[2] == C
    return result


@st.composite
def macs(draw, dtypes=((DType.U8, DType.S8), (DType.S8, DType.S8), (DType.U8, DType.U8))):
    small = st.integers(1, 3)
    R, S, P, Q, C, K, N, G = (draw(small) for _ in range(8))
    if draw(st.booleans()):
        C = K = 1
    x_dtype, w_dtype = draw(st.sampled_from(dtypes))
    window = Window(
        stride=(draw(small), draw(small)),
        dilation=(draw(small), draw(small)),
        rows=draw(st.integers(1, 6)),
        columns=draw(st.integers(1, 6)),
        top=draw(st.integers(-2, 3)),
        left=draw(st.integers(-2, 3)),
    )
    acc_bytes = draw(st.sampled_from([3, 4])) if x_dtype is not DType.F32 else 4
    zero = 0 if x_dtype is DType.F32 else draw(st.integers(*x_dtype.range))
    w_zero = 0 if x_dtype is DType.F32 else draw(st.sampled_from([0, 0, 3]))
    return Mac(
        acc=dense(Space.AB, 8, (N, G, K, P, Q), acc_bytes),
        x=dense(Space.GB, 5, (N, G, C, window.rows, window.columns), x_dtype.bytes),
        w=dense(Space.WB, 3, (G, K, C, R, S), w_dtype.bytes),
        extents=(R, S, P, Q, C, K, N, G),
        window=window,
        x_dtype=x_dtype,
        w_dtype=w_dtype,
        x_zero=zero,
        w_zero=w_zero,
        acc_bytes=acc_bytes,
        accumulate=draw(st.booleans()),
    )


def filled(port, instruction, seed):
    """Random operands in memory, as wide numbers."""
    rng = np.random.default_rng(seed)
    R, S, P, Q, C, K, N, G = instruction.extents
    window = instruction.window
    shapes = {
        "x": ((N, G, C, window.rows, window.columns), instruction.x_dtype),
        "w": ((G, K, C, R, S), instruction.w_dtype),
    }
    values = []
    for name, (shape, dtype) in shapes.items():
        view = port.view(getattr(instruction, name), shape, NUMPY_TYPES[dtype])
        if dtype is DType.F32:
            view[...] = rng.standard_normal(shape)
        else:
            view[...] = rng.integers(*dtype.range, shape, endpoint=True)
        values.append(view.astype(np.float64 if dtype is DType.F32 else np.int64))
    if instruction.x_dtype is DType.F32:
        acc = rng.standard_normal((N, G, K, P, Q)).astype(np.float32)
        port.view(instruction.acc, acc.shape, acc.dtype)[...] = acc
    else:
        acc = rng.integers(-(1 << 20), 1 << 20, (N, G, K, P, Q)).astype(np.int32)
        store(port, instruction.acc, acc.shape, instruction.acc_bytes, acc)
    return (*values, acc)


@SMALL
@given(macs(), st.integers(0, 1000))
def test_integers_equal_the_definition(instruction, seed):
    machine = machine_of()
    (port,) = machine.ports
    x, w, acc = filled(port, instruction, seed)
    expected = reference(x, w, acc.astype(np.int64), instruction)

    execute(port, instruction)

    found = port.load_accumulators(instruction.acc, acc.shape, instruction.acc_bytes)
    np.testing.assert_array_equal(found, expected)


@SMALL
@given(macs(dtypes=((DType.F32, DType.F32),)), st.integers(0, 1000))
def test_floats_are_close_to_the_definition(instruction, seed):
    machine = machine_of()
    (port,) = machine.ports
    x, w, acc = filled(port, instruction, seed)
    expected = reference(x, w, acc.astype(np.float64), instruction)

    execute(port, instruction)

    found = port.view(instruction.acc, acc.shape, acc.dtype)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@SMALL
@given(macs(), st.integers(0, 1000))
def test_bytes_beside_the_accumulators_stay(instruction, seed):
    machine = machine_of()
    (port,) = machine.ports
    _, _, acc = filled(port, instruction, seed)
    memory = machine.memories[Space.AB, 0].bytes
    end = 8 + acc.size * instruction.acc_bytes
    memory[:8] = memory[end:] = 99

    execute(port, instruction)

    assert (memory[:8] == 99).all()
    assert (memory[end:] == 99).all()


def product(x_value, w_value, length, **changes):
    """One product of ``length`` equal terms, and the port that it runs on."""
    machine = Machine(program({"mx0": []}, sizes={Space.GB: 1 << 17, Space.WB: 1 << 17}))
    fields = {
        "acc": at(Space.AB, 0, 0, 0, 0, 0, 0),
        "x": at(Space.GB, 0, 0, 0, 1, 0, 0),
        "w": at(Space.WB, 0, 0, 0, 1, 0, 0),
        "extents": (1, 1, 1, 1, length, 1, 1, 1),
        "window": Window(stride=(1, 1), dilation=(1, 1), rows=1, columns=1, top=0, left=0),
        "x_dtype": DType.U8,
        "w_dtype": DType.S8,
    }
    machine.memories[Space.GB, 0].bytes[:] = x_value
    machine.memories[Space.WB, 0].bytes[:] = np.uint8(w_value % 256)
    return machine.ports[0], Mac(**{**fields, **changes})


def result_of(port, instruction):
    values = port.load_accumulators(instruction.acc, (1, 1, 1, 1, 1), instruction.acc_bytes)
    return values.item()


@pytest.mark.parametrize("length", [1, 513, 514, 515, 5000, 65000])
def test_long_reductions_are_exact(length):
    """Past 2^24 float32 has no odd numbers."""
    port, instruction = product(255, 127, length)
    port.reach[Space.WB, 0].bytes[0] = 126

    execute(port, instruction)

    assert result_of(port, instruction) == 255 * 127 * length - 255


def test_24_bits_hold_their_range():
    length = (1 << 23) // (128 * 128)
    port, instruction = product(128, -128, length, acc_bytes=3)

    execute(port, instruction)

    assert result_of(port, instruction) == -(1 << 23)


def test_24_bits_trap_beyond_their_range():
    length = (1 << 23) // (128 * 128) + 1
    port, instruction = product(128, -128, length, acc_bytes=3)

    with pytest.raises(OverflowTrap, match="accumulator reaches -8404992, which 24 bits cannot"):
        execute(port, instruction)


def test_32_bits_trap_beyond_their_range():
    """All operands read one byte each, 131,073 times and once less."""
    fields = {"x": at(Space.GB, 0, 0, 0, 0, 0, 0), "w": at(Space.WB, 0, 0, 0, 0, 0, 0)}
    most = (1 << 31) // (128 * 128)
    port, instruction = product(128, -128, most, **fields)

    execute(port, instruction)
    assert result_of(port, instruction) == -(1 << 31)
    with pytest.raises(OverflowTrap, match="reaches -2147500032, which 32 bits cannot"):
        execute(port, replace(instruction, extents=(1, 1, 1, 1, most + 1, 1, 1, 1)))


@pytest.mark.parametrize(("acc_bytes", "limit"), [(3, (1 << 23) - 1), (4, (1 << 31) - 1)])
def test_accumulation_traps_one_beyond_the_range(acc_bytes, limit):
    port, instruction = product(1, 1, 1, acc_bytes=acc_bytes, accumulate=True)
    shape = (1, 1, 1, 1, 1)
    store(port, instruction.acc, shape, acc_bytes, np.full(shape, limit - 1, np.int32))

    execute(port, instruction)
    assert result_of(port, instruction) == limit
    with pytest.raises(OverflowTrap, match=str(limit + 1)):
        execute(port, instruction)


def test_windows_are_bounded_by_the_rows_that_they_touch():
    """The last window ends with the memory; one row more leaves it."""
    window = Window(stride=(1, 1), dilation=(1, 1), rows=9, columns=1, top=0, left=0)
    end = 1 << 17
    port, _ = product(1, 1, 1)
    fields = {"x": at(Space.GB, end - 4, 0, 0, 0, 1, 0), "window": window}
    fields["acc"] = at(Space.AB, 0, 0, 0, 0, 4, 0)

    execute(port, product(1, 1, 1, extents=(1, 1, 4, 1, 1, 1, 1, 1), **fields)[1])
    with pytest.raises(SimulationError, match="of gb, which has 131072"):
        execute(port, product(1, 1, 1, extents=(1, 1, 5, 1, 1, 1, 1, 1), **fields)[1])


def test_a_mac_runs_only_on_its_own_npu():
    port, instruction = product(1, 1, 1, w=at(Space.WB, 0, 0, 0, 1, 0, 0, npu=1))

    with pytest.raises(SimulationError, match="wb:0x0 of npu 1 is out of reach"):
        execute(port, instruction)
