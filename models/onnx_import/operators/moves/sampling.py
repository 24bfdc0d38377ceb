"""Import of ``GridSample``: elements at computed places, gathered and weighted."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from .....ir.types import DType
from ...builder import Builder
from ...node import Node
from ..chain import Chain

_CUBIC = -0.75
"""ONNX's factor of cubic interpolation."""

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of before opset 20."""

Tap = tuple[str, str]
"""A whole coordinate, in floats, and its weight; ``""`` weighs 1."""


def grid_sample(node: Node, b: Builder) -> None:
    """``GridSample`` of images or volumes."""
    chain, x, grid = Chain(node, b), b.value(node.input(0)), b.value(node.input(1))
    extents, places = chain.shape(x)[2:], chain.shape(grid)[1:-1]
    mode = node.str("mode", "linear" if node.opset >= 20 else "bilinear")
    taps_of = _TAPS.get(_MODES.get(mode, mode))
    if taps_of is None or (len(extents) != 2 and mode == "cubic"):
        raise node.refusal(f"has mode = {mode!r} in {len(extents)} dimensions")
    axes = [_taps(chain, grid, axis, extents, taps_of) for axis in range(len(extents))]
    N, C = chain.shape(x)[:2]
    order = (0, *range(2, 2 + len(extents)), 1)
    rows = chain.reshape(chain.transpose(x, order), (N * math.prod(extents), C))
    total = ""
    for taps in product(*axes):
        part = _picked(chain, rows, taps, (N, C), extents, places)
        total = chain("add", total, part) if total else part
    back = (0, 1 + len(places), *range(1, 1 + len(places)))
    chain.bind(chain.transpose(chain.reshape(total, (N, *places, C)), back))


def _taps(
    chain: Chain,
    grid: str,
    axis: int,
    extents: tuple[int, ...],
    taps_of: Callable[[Chain, str], list[Tap]],
) -> list[Tap]:
    """Return what is picked along an axis; the grid's last coordinate is the first axis."""
    rank, extent = len(extents), extents[axis]
    at = chain.slice(grid, len(chain.shape(grid)) - 1, rank - 1 - axis, 1)
    at = chain.reshape(at, (chain.b.types[at].elements, 1))
    corners = bool(chain.node.int("align_corners", 0))
    unit = chain("add", at, chain.constant(1.0))
    if corners:
        at = chain("mul", unit, chain.constant((extent - 1) / 2))
    else:
        at = chain("mul", unit, chain.constant(extent / 2))
        at = chain("sub", at, chain.constant(0.5))
    mode = chain.node.str("padding_mode", "zeros")
    if mode == "reflection":
        at = _reflected(chain, at, *((0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)))
    elif mode == "border" and taps_of is not _cubic_taps:
        at = chain("clip", at, lo=0.0, hi=extent - 1.0)
    return [_inside(chain, tap, extent, mode, corners) for tap in taps_of(chain, at)]


def _reflected(chain: Chain, at: str, low: float, high: float) -> str:
    """Return coordinates reflected at both ends until they lie between them."""
    if high <= low:
        return chain("mul", at, chain.constant(0.0))
    period = 2 * (high - low)
    within = chain("mod", chain("sub", at, chain.constant(low)), chain.constant(period))
    other = chain("sub", chain.constant(period), within)
    return chain("add", chain("min", within, other), chain.constant(low))


def _nearest_taps(chain: Chain, at: str) -> list[Tap]:
    return [(chain("round", at), "")]


def _linear_taps(chain: Chain, at: str) -> list[Tap]:
    first = chain("floor", at)
    second = chain("add", first, chain.constant(1.0))
    return [(first, chain("sub", second, at)), (second, chain("sub", at, first))]


def _cubic_taps(chain: Chain, at: str) -> list[Tap]:
    first = chain("floor", at)
    t = chain("sub", at, first)
    taps: list[Tap] = []
    for offset in range(-1, 3):
        distance = chain("abs", chain("sub", t, chain.constant(offset)))
        factors = (
            (_CUBIC + 2, -(_CUBIC + 3), 0.0, 1.0)
            if offset in (0, 1)
            else (_CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC)
        )
        weight = chain.constant(factors[0])
        for factor in factors[1:]:
            weight = chain("add", chain("mul", weight, distance), chain.constant(factor))
        taps.append((chain("add", first, chain.constant(offset)), weight))
    return taps


_TAPS: dict[str, Callable[[Chain, str], list[Tap]]] = {
    "nearest": _nearest_taps,
    "linear": _linear_taps,
    "cubic": _cubic_taps,
}


def _inside(chain: Chain, tap: Tap, extent: int, mode: str, corners: bool) -> Tap:
    """Return a tap within the axis; one outside weighs nothing, or is moved to the border."""
    at, weight = tap
    if mode == "reflection":
        at = _reflected(chain, at, *((0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)))
    near = chain("clip", at, lo=0.0, hi=extent - 1.0)
    if mode != "zeros":
        return near, weight
    hit = chain.cast(chain("equal", near, at), DType.F32)
    return near, chain("mul", weight, hit) if weight else hit


def _picked(
    chain: Chain,
    rows: str,
    taps: tuple[Tap, ...],
    size: tuple[int, int],
    extents: tuple[int, ...],
    places: tuple[int, ...],
) -> str:
    """Return the rows at one tap of each axis, weighted.

    Args:
        chain: Where operators are added.
        rows: The operand, ``[N * elements, C]``.
        taps: Coordinate and weight along each axis, each ``[N * places, 1]``.
        size: ``N`` and ``C``.
        extents: The operand's other extents.
        places: Extents of the grid.
    """
    N, count = size[0], math.prod(places)
    flat = ""
    for (at, _), extent in zip(taps, extents, strict=True):
        whole = chain.cast(at, DType.S64)
        if flat:
            scaled = chain("mul", flat, chain.constant(extent, DType.S64))
            flat = chain("add", scaled, whole)
        else:
            flat = whole
    images = np.repeat(np.arange(N) * math.prod(extents), count).reshape(-1, 1)
    flat = chain("add", flat, chain.constant(images, DType.S64))
    value = chain("gather", rows, chain.reshape(flat, (N * count,)), axis=0)
    weights = [weight for _, weight in taps if weight]
    if not weights:
        return value
    weight = weights[0]
    for other in weights[1:]:
        weight = chain("mul", weight, other)
    return chain("mul", value, weight)
