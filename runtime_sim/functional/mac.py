"""The MAC array at tile fidelity: one matrix product per instruction, exact for integers.

A float32 product of integers is exact while every partial sum is below 2^24. With ``M`` the
largest magnitude of ``x``, ``x - x_zero`` and ``x_zero``, that holds if ``max_k sum |w| * M`` is
below; it is checked with the range of the types first, then with the weights, and else the product
runs in float64.
"""

from typing import Any

import numpy as np

from ...ir.errors import OverflowTrap
from ...ir.isa.instructions import Mac
from ...ir.types import DType
from .machine import F32, NUMPY_TYPES, S32, Array, QueuePort
from .numerics import F32_EXACT
from .windows import windows

_F64 = np.dtype(np.float64)


def run_mac(port: QueuePort, instruction: Mac) -> None:
    """Execute a ``Mac``.

    Raises:
        OverflowTrap: An integer accumulator leaves its width.
        SimulationError: An access is out of bounds.
    """
    R, S, P, Q, C, K, N, G = instruction.extents
    x_dtype = NUMPY_TYPES[instruction.x_dtype]
    x = windows(
        port,
        instruction.x,
        (N, G, C),
        (P, Q),
        (R, S),
        instruction.window,
        x_dtype,
        instruction.x_zero,
    )
    w = port.view(instruction.w, (G, K, C, R, S), NUMPY_TYPES[instruction.w_dtype])
    if instruction.x_dtype is DType.F32:
        _accumulate_floats(port, instruction, _product(port, x, w, F32))
    else:
        _accumulate_integers(port, instruction, x, w)


def _accumulate_floats(port: QueuePort, instruction: Mac, product: Array) -> None:
    shape = _acc_shape(instruction)
    acc = port.target(instruction.acc, shape, F32)
    if instruction.accumulate:
        held = port.view(instruction.acc, shape, F32)
        np.add(held, product.reshape(shape), out=acc)
    else:
        acc[...] = product.reshape(shape)


def _accumulate_integers(port: QueuePort, instruction: Mac, x: Array, w: Array) -> None:
    shape, size = _acc_shape(instruction), instruction.acc_bytes
    weights = port.buffer("w", w.shape, F32)
    weights[...] = w
    if instruction.w_zero:
        weights -= np.float32(instruction.w_zero)
    bound = _bound(instruction, weights)
    kind = F32 if bound < F32_EXACT else _F64
    product = _product(port, x, weights, kind)
    if instruction.x_zero:
        product -= _zero_correction(instruction, weights, kind)
    product = product.reshape(shape)
    if kind is _F64:
        _check(product, 4)
    total = product.astype(S32)
    if instruction.accumulate:
        total = _add(port.load_accumulators(instruction.acc, shape, size), total, bound)
    if size == 3 and (instruction.accumulate or bound >= 1 << 23):
        _check(total, 3)
    port.store_accumulators(instruction.acc, shape, size, total)


def _acc_shape(instruction: Mac) -> tuple[int, int, int, int, int]:
    _, _, P, Q, _, K, N, G = instruction.extents
    return N, G, K, P, Q


def _bound(instruction: Mac, weights: Array) -> int:
    """Return a magnitude that no partial sum exceeds."""
    R, S, _, _, C, _, _, _ = instruction.extents
    x_low, x_high = instruction.x_dtype.range
    w_low, w_high = instruction.w_dtype.range
    zero = instruction.x_zero
    x_most = max(-x_low, x_high, x_high - zero, zero - x_low, abs(zero))
    w_most = max(w_high - instruction.w_zero, instruction.w_zero - w_low)
    coarse = R * S * C * x_most * w_most
    if coarse < F32_EXACT:
        return coarse
    sums = np.abs(weights).sum(axis=(2, 3, 4), dtype=np.float64)
    return int(sums.max()) * x_most


def _zero_correction(instruction: Mac, weights: Array, kind: np.dtype[Any]) -> Array:
    """Return what ``x_zero`` contributes, ``[g, k, 1]`` or ``[k, 1]`` as the product is shaped."""
    sums = weights.sum(axis=(2, 3, 4), dtype=kind)
    sums *= instruction.x_zero
    return sums[..., None]


def _product(port: QueuePort, x: Array, w: Array, kind: np.dtype[Any]) -> Array:
    """Return ``sum over c r s`` of ``x[n,g,c,r,s,p,q] * w[g,k,c,r,s]`` as ``[n, g, k, p*q]``."""
    N, G, C, R, S, P, Q = x.shape
    K = w.shape[1]
    if C == K == 1 and G > 1:
        return _depthwise(port, x, w.reshape(G, R * S), kind)
    columns = port.buffer("x", x.shape, kind)
    columns[...] = x
    columns = columns.reshape(N, G, C * R * S, P * Q)
    rows = _dense(port, w, kind).reshape(G, K, C * R * S)
    product = port.buffer("product", (N, G, K, P * Q), kind)
    if N * G == 1:
        np.matmul(rows[0], columns[0, 0], out=product[0, 0])
    else:
        np.matmul(rows, columns, out=product)
    return product


def _dense(port: QueuePort, w: Array, kind: np.dtype[Any]) -> Array:
    if w.dtype == kind and w.flags.c_contiguous and w.flags.aligned:
        return w
    dense = port.buffer("w dense", w.shape, kind)
    dense[...] = w
    return dense


def _depthwise(port: QueuePort, x: Array, w: Array, kind: np.dtype[Any]) -> Array:
    """Return the product of one filter per group, tap by tap, as ``[n, g, 1, p*q]``."""
    N, G, _, R, S, P, Q = x.shape
    product = port.buffer("product", (N, G, P, Q), kind)
    term = port.buffer("term", (N, G, P, Q), kind)
    product[...] = 0
    for tap in range(R * S):
        term[...] = x[:, :, 0, tap // S, tap % S]
        term *= w[:, tap, None, None]
        product += term
    return product.reshape(N, G, 1, P * Q)


def _add(held: Array, total: Array, bound: int) -> Array:
    """Return the sum of int32 values.

    Raises:
        OverflowTrap: A sum leaves int32.
    """
    result = held + total
    margin = (1 << 31) - 1 - bound
    if margin < 0 or int(result.max()) > margin or int(result.min()) < -margin:
        exact = held.astype(np.int64) + total
        _check(exact, 4)
    return result


def _check(values: Array, size: int) -> None:
    limit = 1 << (8 * size - 1)
    high, low = values.max(), values.min()
    if high >= limit or low < -limit:
        worst = high if high >= limit else low
        raise OverflowTrap(f"accumulator reaches {int(worst)}, which {8 * size} bits cannot hold")
