"""What every instruction does to memory: one small function each, and the table of them."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...ir.errors import SimulationError
from ...ir.isa.instructions import (
    Access,
    Activate,
    Binary,
    Convert,
    Copy,
    Dequantize,
    Fill,
    Gather,
    Halt,
    Instruction,
    Lookup,
    Mac,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    Requant,
    RequantLookup,
    RequantPair,
    Select,
    Sync,
)
from ...ir.operators.elementary import dequantize, quantize
from ...ir.operators.functions import PAIRS, REDUCTIONS
from ...ir.operators.pairs import TABLES
from ...ir.operators.views import Call
from ...ir.types import DType
from .mac import run_mac
from .machine import BYTE, F32, NUMPY_TYPES, S32, Array, QueuePort, check_single_writes
from .numerics import requantize
from .pooling import run_pool


def begin(port: QueuePort, instruction: Instruction) -> None:
    """Let the next instruction of a queue read and compute; its result is pending in its port.

    It sees what the queue's own instructions before it have made, retired or not.

    Raises:
        SimulationError: It does something that the machine forbids; the message does not say
            where the instruction stands.
    """
    with port.pending.next_instruction():
        _TABLE[type(instruction)](port, instruction)


def _nothing(port: QueuePort, instruction: Instruction) -> None:
    """Sync and halt touch no memory."""


def _copy(port: QueuePort, instruction: Copy) -> None:
    if 0 in instruction.dst.strides:
        check_single_writes(instruction.shape, instruction.dst.strides)
    loops = _joint_loops(
        instruction.shape,
        instruction.dst.strides,
        instruction.src.strides,
        instruction.element_bytes,
    )
    shape, dtype, dst_strides, src_strides = loops
    dst, src = instruction.dst, instruction.src
    try:
        to = port.reach[dst.space, dst.npu].bytes
        of = port.reach[src.space, src.npu].bytes
        source = np.ndarray(shape, dtype, of, src.address, src_strides)
        port.pending.put(np.ndarray(shape, dtype, to, dst.address, dst_strides), source.copy())
    except (KeyError, ValueError):
        element = _element(instruction.element_bytes)
        port.view(src, instruction.shape, element)
        port.view(dst, instruction.shape, element)
        raise


@lru_cache(maxsize=1 << 16)
def _joint_loops(
    shape: tuple[int, ...], dst: tuple[int, ...], src: tuple[int, ...], size: int
) -> tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...], tuple[int, ...]]:
    """Merge the loops of a copy that both sides walk contiguously; bytes innermost if they can."""
    if not len(shape) == len(dst) == len(src):
        return shape, _element(size), dst, src
    merged: list[tuple[int, int, int]] = []
    for n, to, of in zip(shape, dst, src, strict=True):
        if merged and merged[-1][1:] == (n * to, n * of):
            n *= merged.pop()[0]
        if n != 1:
            merged.append((n, to, of))
    dtype = _element(size)
    if merged and merged[-1][1:] == (size, size):
        merged[-1] = (merged[-1][0] * size, 1, 1)
        dtype = BYTE
    if not merged:
        merged.append((1, size, size))
    extents, to_strides, of_strides = zip(*merged, strict=True)
    return extents, dtype, to_strides, of_strides


@lru_cache
def _element(size: int) -> np.dtype[Any]:
    return np.dtype(f"u{size}") if size in (1, 2, 4, 8) else np.dtype(f"V{size}")


def _fill(port: QueuePort, instruction: Fill) -> None:
    dtype = _element(instruction.element_bytes)
    value = instruction.value.to_bytes(instruction.element_bytes, "little")
    dst = port.target(instruction.dst, instruction.shape, dtype)
    dst[...] = np.frombuffer(value, dtype)[0]


def _requant(port: QueuePort, instruction: Requant) -> None:
    dtype = NUMPY_TYPES[instruction.dtype]
    port.target(instruction.dst, instruction.shape, dtype)[...] = _requantized(port, instruction)


def _requantized(port: QueuePort, instruction: Requant) -> Array:
    """Return accumulators as outputs."""
    shape, dtype = instruction.shape, NUMPY_TYPES[instruction.dtype]
    acc = port.load_accumulators(instruction.acc, shape, instruction.acc_bytes)
    if instruction.bias is not None:
        acc = acc + _broadcast(port, instruction.bias, shape, S32)
    return requantize(
        acc,
        _broadcast(port, instruction.multiplier, shape, F32),
        instruction.zero_point,
        instruction.low,
        instruction.high,
        dtype,
    )


def _broadcast(
    port: QueuePort, access: Access, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Return a view whose loops of stride 0 have extent 1."""
    if len(access.strides) != len(shape):
        raise port.fault(access, shape, dtype.itemsize)
    loops = zip(shape, access.strides, strict=True)
    return port.view(access, tuple(n if stride else 1 for n, stride in loops), dtype)


def _activate(port: QueuePort, instruction: Activate) -> None:
    dtype = NUMPY_TYPES[instruction.dtype]
    values = port.view(instruction.src, instruction.shape, dtype)
    if instruction.bias is not None:
        values = values + _broadcast(port, instruction.bias, instruction.shape, F32)
    result = Call(instruction.act, instruction.a, instruction.b)(values)
    port.target(instruction.dst, instruction.shape, dtype)[...] = result


def _requant_pair(port: QueuePort, instruction: RequantPair) -> None:
    one = _requantized(port, instruction).view(BYTE)
    other = port.view(instruction.other, instruction.shape, BYTE)
    a, b = (other, one) if instruction.is_second else (one, other)
    bounds = instruction.least, instruction.most
    port.target(instruction.dst, instruction.shape, BYTE)[...] = _paired(
        port, instruction, bounds, a, b
    )


def _requant_lookup(port: QueuePort, instruction: RequantLookup) -> None:
    source = _requantized(port, instruction).view(BYTE).astype(np.intp)
    table = port.view(table_access(instruction), (256,), BYTE)
    port.target(instruction.dst, instruction.shape, BYTE)[...] = table[source]


def _qbinary(port: QueuePort, instruction: QBinary) -> None:
    a = port.view(instruction.a, instruction.shape, BYTE)
    b = port.view(instruction.b, instruction.shape, BYTE)
    bounds = instruction.low, instruction.high
    port.target(instruction.dst, instruction.shape, BYTE)[...] = _paired(
        port, instruction, bounds, a, b
    )


def _paired(
    port: QueuePort,
    instruction: QBinary | RequantPair,
    bounds: tuple[int, int],
    a: Array,
    b: Array,
) -> Array:
    """Return the sums, or products, of quantised numbers, all of them as bytes."""
    key = instruction.kind, instruction.dtype, instruction.scales, instruction.zeros, bounds
    table = port.plans.get(key)
    if table is None:
        table = port.plans[key] = _pair_table(instruction, bounds)
    index = a.astype(np.intp)
    index <<= 8
    index |= b
    return table[index]


def _pair_table(instruction: QBinary | RequantPair, bounds: tuple[int, int]) -> Array:
    """Return the result of every pair of bytes, ``table[a * 256 + b]``, as bytes."""
    function = TABLES.get(instruction.kind)
    if function is None or instruction.dtype.bytes != 1:
        raise SimulationError(f"no quantised {instruction.kind} of {instruction.dtype}")
    a, b, dst = zip(instruction.scales, instruction.zeros, strict=True)
    dtype = NUMPY_TYPES[instruction.dtype]
    return function(dtype, a, b, dst, *bounds).reshape(-1).view(BYTE)


def _binary(port: QueuePort, instruction: Binary) -> None:
    dtype, function = NUMPY_TYPES[instruction.dtype], PAIRS[instruction.kind]
    a = port.view(instruction.a, instruction.shape, dtype)
    b = port.view(instruction.b, instruction.shape, dtype)
    with np.errstate(all="ignore"):
        result = function.evaluate(a, b)
    result = Call(instruction.act, instruction.low, instruction.high)(result)
    made = dtype if function.result is None else NUMPY_TYPES[function.result]
    port.target(instruction.dst, instruction.shape, made)[...] = result


def _select(port: QueuePort, instruction: Select) -> None:
    shape, element = instruction.shape, _element(instruction.element_bytes)
    condition = port.view(instruction.condition, shape, BYTE) != 0
    a, b = (port.view(access, shape, element) for access in (instruction.a, instruction.b))
    port.target(instruction.dst, shape, element)[...] = np.where(condition, a, b)


def _convert(port: QueuePort, instruction: Convert) -> None:
    values = port.view(instruction.src, instruction.shape, NUMPY_TYPES[instruction.dtype])
    target = port.target(instruction.dst, instruction.shape, NUMPY_TYPES[instruction.to])
    with np.errstate(all="ignore"):
        target[...] = values.astype(target.dtype)


def _gather(port: QueuePort, instruction: Gather) -> None:
    shape, extent = instruction.shape, instruction.extent
    element = _element(instruction.element_bytes)
    index = port.view(instruction.index, shape, NUMPY_TYPES[instruction.dtype]).astype(np.intp)
    index = np.where(index < 0, index + extent, index)
    if index.min() < 0 or index.max() >= extent:
        raise SimulationError(f"an index of {extent} elements is outside of them")
    source = port.view(indexed(instruction), (*shape, extent), element)
    picked = np.take_along_axis(source, index[..., None], axis=-1)
    port.target(instruction.dst, shape, element)[...] = picked[..., 0]


def indexed(instruction: Gather) -> Access:
    """Return the access to all that a gather may pick, the indexed axis as the last loop."""
    src = instruction.src
    return Access(src.space, src.npu, src.address, (*src.strides, instruction.step))


def _lookup(port: QueuePort, instruction: Lookup) -> None:
    src = port.view(instruction.src, instruction.shape, BYTE)
    table = port.view(table_access(instruction), (256,), BYTE)
    port.target(instruction.dst, instruction.shape, BYTE)[...] = table[src]


def table_access(instruction: Lookup | RequantLookup) -> Access:
    """Return the access to all of a table: 256 bytes in a row, whatever its strides say."""
    table = instruction.table
    return Access(table.space, table.npu, table.address, (1,))


def _reduce(port: QueuePort, instruction: Reduce) -> None:
    dtype, reduction = NUMPY_TYPES[instruction.dtype], REDUCTIONS[instruction.kind]
    src = port.view(instruction.src, instruction.shape, dtype)
    made = dtype if reduction.result is None else NUMPY_TYPES[reduction.result]
    dst = port.target(instruction.dst, instruction.shape[:-1], made)
    with np.errstate(all="ignore"):
        dst[...] = reduction.evaluate(src)


def _quantize(port: QueuePort, instruction: Quantize) -> None:
    src = port.view(instruction.src, instruction.shape, F32)
    dtype = NUMPY_TYPES[instruction.dtype]
    if instruction.dtype not in (DType.S8, DType.U8):
        raise SimulationError(f"cannot quantise to {instruction.dtype}")
    result = quantize(src, instruction.scale, instruction.zero_point, dtype)
    port.target(instruction.dst, instruction.shape, dtype)[...] = result


def _dequantize(port: QueuePort, instruction: Dequantize) -> None:
    src = port.view(instruction.src, instruction.shape, NUMPY_TYPES[instruction.dtype])
    result = dequantize(src, instruction.scale, instruction.zero_point)
    port.target(instruction.dst, instruction.shape, F32)[...] = result


_TABLE: Mapping[type[Instruction], Callable[[QueuePort, Any], None]] = {
    Sync: _nothing,
    Halt: _nothing,
    Copy: _copy,
    Fill: _fill,
    Mac: run_mac,
    Requant: _requant,
    RequantPair: _requant_pair,
    RequantLookup: _requant_lookup,
    Activate: _activate,
    QBinary: _qbinary,
    Binary: _binary,
    Lookup: _lookup,
    Pool: run_pool,
    Reduce: _reduce,
    Quantize: _quantize,
    Dequantize: _dequantize,
    Select: _select,
    Convert: _convert,
    Gather: _gather,
}
