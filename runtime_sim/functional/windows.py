"""Sliding windows over a tile in memory as one strided view, with padding supplied."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.isa.instructions import Access, Window
from .machine import Array, QueuePort, out_of_bounds
from .region import progressions, window_region


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPlan:
    """Geometry of the windows of one shape of tile.

    Attributes:
        shape: Extents of the view: leading loops, then taps and outputs (``r s p q``).
        strides: Byte strides of the view, into memory or into ``padded``.
        origin: Byte offset of the view's first element.
        low: Lowest byte touched in memory, relative to the access.
        high: One past the highest.
        padded: Copy of the tile with padding around it; ``None`` if no window meets padding.
        inner: The part of ``padded`` that comes from memory; ``None`` if all is padding.
        source_offset: Byte offset of the first element of ``inner`` in memory.
        source_strides: Byte strides of ``inner`` in memory.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    origin: int
    low: int
    high: int
    padded: Array | None = None
    inner: Array | None = None
    source_offset: int = 0
    source_strides: tuple[int, ...] = ()


def windows(
    port: QueuePort,
    access: Access,
    leading: tuple[int, ...],
    outputs: tuple[int, int],
    taps: tuple[int, int],
    window: Window,
    dtype: np.dtype[Any],
    padding: float,
) -> Array:
    """Return a view ``[*leading, r, s, p, q]`` of the elements that each tap of each window meets.

    The view is valid until the next call with the same geometry.

    Args:
        port: Where the tile lies.
        access: The tile; strides over the leading loops, row and column.
        leading: Extents of the leading loops.
        outputs: Output rows and columns.
        taps: Taps, vertical and horizontal.
        window: Geometry.
        dtype: Element type.
        padding: What stands outside of the rows and columns that exist.

    Raises:
        SimulationError: A window leaves the space.
    """
    key = (leading, outputs, taps, window, access.strides, dtype, padding)
    plan = port.plans.get(key)
    if plan is None:
        if len(access.strides) != len(leading) + 2:
            raise port.fault(access, (*leading, 1, 1), dtype.itemsize)
        plan = port.plans[key] = _plan(
            leading, outputs, taps, window, access.strides, dtype, padding
        )
    memory = port.reach.get((access.space, access.npu))
    if memory is None:
        raise port.fault(access, leading, dtype.itemsize)
    if access.address + plan.low < 0 or access.address + plan.high > memory.bytes.size:
        raise out_of_bounds(memory, access.address + plan.low, access.address + plan.high)
    if plan.padded is None:
        start = access.address + plan.origin
        return np.ndarray(plan.shape, dtype, memory.bytes, start, plan.strides)
    if plan.inner is not None:
        start = access.address + plan.source_offset
        plan.inner[...] = np.ndarray(
            plan.inner.shape, dtype, memory.bytes, start, plan.source_strides
        )
    return np.ndarray(plan.shape, dtype, plan.padded, plan.origin, plan.strides)


def _plan(
    leading: tuple[int, ...],
    outputs: tuple[int, int],
    taps: tuple[int, int],
    window: Window,
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    padding: float,
) -> WindowPlan:
    region = window_region(leading, outputs, taps, window, strides, dtype.itemsize)
    spans = (
        _span(outputs[0], taps[0], window, 0),
        _span(outputs[1], taps[1], window, 1),
    )
    shape = (*leading, *taps, *outputs)
    sizes = (window.rows, window.columns)
    if all(first >= 0 and last < size for (first, last), size in zip(spans, sizes, strict=True)):
        return WindowPlan(
            shape=shape,
            strides=_view_strides(strides, window),
            origin=spans[0][0] * strides[-2] + spans[1][0] * strides[-1],
            low=region.low,
            high=region.high,
        )
    extents = tuple(last - first + 1 for first, last in spans)
    padded = np.full((*leading, *extents), padding, dtype)
    inner, offset = None, 0
    if region.lattices:
        r0, r1 = _touched(outputs[0], taps[0], window, 0)
        c0, c1 = _touched(outputs[1], taps[1], window, 1)
        rows = slice(r0 - spans[0][0], r1 - spans[0][0] + 1)
        columns = slice(c0 - spans[1][0], c1 - spans[1][0] + 1)
        inner, offset = padded[..., rows, columns], r0 * strides[-2] + c0 * strides[-1]
    return WindowPlan(
        shape=shape,
        strides=_view_strides(padded.strides, window),
        origin=0,
        low=region.low,
        high=region.high,
        padded=padded,
        inner=inner,
        source_offset=offset,
        source_strides=strides,
    )


def _span(outputs: int, taps: int, window: Window, axis: int) -> tuple[int, int]:
    """Return the first and last row (axis 0) or column that windows meet, padding included."""
    first = -(window.top, window.left)[axis]
    return first, first + (outputs - 1) * window.stride[axis] + (taps - 1) * window.dilation[axis]


def _touched(outputs: int, taps: int, window: Window, axis: int) -> tuple[int, int]:
    """Return the first and last row (axis 0) or column that exist and that windows meet."""
    lines = progressions(outputs, taps, window, axis)
    first = min(first for first, _, _ in lines)
    return first, max(first + (count - 1) * step for first, count, step in lines)


def _view_strides(strides: tuple[int, ...], window: Window) -> tuple[int, ...]:
    *outer, row, column = strides
    return (
        *outer,
        window.dilation[0] * row,
        window.dilation[1] * column,
        window.stride[0] * row,
        window.stride[1] * column,
    )
