"""Windowed reductions: the instruction ``Pool``."""

from functools import lru_cache
from typing import Any

import numpy as np

from ...ir.errors import SimulationError
from ...ir.isa.instructions import Pool, ReduceKind, Window
from ...ir.operators.elementary import dequantize
from ...ir.types import DType
from .machine import NUMPY_TYPES, Array, QueuePort
from .numerics import average_factor, requantize, window_average
from .windows import windows


def run_pool(port: QueuePort, instruction: Pool) -> None:
    """Execute a ``Pool``.

    Raises:
        SimulationError: The kind does not suit the type, or an access is out of bounds.
    """
    dtype = NUMPY_TYPES[instruction.dtype]
    n, c, p, q = instruction.shape
    taps = windows(
        port,
        instruction.src,
        (n, c),
        (p, q),
        instruction.kernel,
        instruction.window,
        dtype,
        _padding(instruction),
    )
    dst = port.target(instruction.dst, instruction.shape, NUMPY_TYPES[instruction.to])
    match instruction.kind:
        case ReduceKind.MAX:
            dst[...] = _maximum(taps)
        case ReduceKind.MEAN if instruction.dtype is DType.F32:
            dst[...] = taps.sum(axis=(2, 3), dtype=np.float32) / counts(instruction)
        case ReduceKind.MEAN if instruction.float_mean:
            dst[...] = _float_mean(instruction, taps)
        case ReduceKind.MEAN:
            dst[...] = _integer_mean(instruction, taps)
        case ReduceKind.SUM if instruction.dtype.is_integer:
            dst[...] = _integer_sum(instruction, taps)
        case _:
            raise SimulationError(f"a pool cannot make a {instruction.kind}")


def _padding(instruction: Pool) -> float:
    """Return what stands in padding: never the maximum, or nothing to add."""
    integer = instruction.dtype.is_integer
    if instruction.kind is ReduceKind.MAX:
        return instruction.dtype.range[0] if integer else -np.inf
    return instruction.zeros[0] if integer else 0.0


def _maximum(taps: Array) -> Array:
    R, S = taps.shape[2:4]
    if R * S > 16:
        return taps.max(axis=(2, 3))
    result = taps[:, :, 0, 0].copy()
    for tap in range(1, R * S):
        np.maximum(result, taps[:, :, tap // S, tap % S], out=result)
    return result


def _float_mean(instruction: Pool, taps: Array) -> Array:
    dtype = NUMPY_TYPES[instruction.to]
    low, high = _bounds(instruction)
    n, c, R, S, p, q = taps.shape
    real = dequantize(taps, instruction.scales[0], instruction.zeros[0])
    ordered = np.moveaxis(real, (2, 3), (0, 1)).reshape(R * S, n, c, p, q)
    scale, zero = instruction.scales[1], instruction.zeros[1]
    return window_average(ordered, counts(instruction), scale, zero, low, high, dtype)


def _integer_sum(instruction: Pool, taps: Array) -> Array:
    taps_in_all = taps.shape[2] * taps.shape[3]
    return taps.sum(axis=(2, 3), dtype=np.int32) - instruction.zeros[0] * taps_in_all


def _integer_mean(instruction: Pool, taps: Array) -> Array:
    number, total = counts(instruction) * instruction.count, _integer_sum(instruction, taps)
    factor = np.asarray(
        [average_factor(instruction.scales[0], instruction.scales[1], int(n)) for n in number.flat],
        np.float32,
    ).reshape(number.shape)
    low, high = _bounds(instruction)
    dtype = NUMPY_TYPES[instruction.to]
    return requantize(total, factor, instruction.zeros[1], low, high, dtype)


def _bounds(instruction: Pool) -> tuple[int, int]:
    """Return the smallest and the largest result of a mean of integers."""
    low, high = instruction.to.range
    return max(low, instruction.low), min(high, instruction.high)


def counts(instruction: Pool) -> Array:
    """Return how many elements each window of a mean counts, float32 ``[p, q]`` or ``[1, 1]``.

    Raises:
        SimulationError: A window counts none.
    """
    _, _, p, q = instruction.shape
    window = instruction.window
    if instruction.include_padding:
        (first_row, last_row), (first, last) = instruction.outer_rows, instruction.outer_columns
    else:
        first_row, last_row, first, last = 0, window.rows - 1, 0, window.columns - 1
    R, S = instruction.kernel
    rows = _counted(p, R, window, 0, first_row, last_row)
    columns = _counted(q, S, window, 1, first, last)
    return _outer(rows, columns)


@lru_cache(maxsize=1 << 12)
def _counted(
    outputs: int, taps: int, window: Window, axis: int, first: int, last: int
) -> tuple[int, ...]:
    step, dilation = window.stride[axis], window.dilation[axis]
    before = (window.top, window.left)[axis]
    return tuple(
        sum(first <= p * step + r * dilation - before <= last for r in range(taps))
        for p in range(outputs)
    )


@lru_cache(maxsize=1 << 12)
def _outer(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
    if 0 in rows or 0 in columns:
        raise SimulationError("a mean counts no element")
    if len({*rows}) == 1 and len({*columns}) == 1:
        rows, columns = rows[:1], columns[:1]
    result = np.multiply.outer(np.asarray(rows, np.float32), np.asarray(columns, np.float32))
    result.flags.writeable = False
    return result
