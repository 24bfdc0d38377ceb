"""Import of Fourier transforms: products with constant matrices of sines and cosines."""

import math

import numpy as np

from .....ir.operators.elementary import Array
from ...arguments import constant_input, normal_axis
from ...builder import Builder
from ...folding import check_size
from ...node import Node
from ..chain import Chain

_AXIS_INPUT = 20
"""The opset since which ``DFT`` has its axis as an input."""


def dft(node: Node, b: Builder) -> None:
    """``DFT`` along one axis, of real or complex numbers, these as a last axis of two."""
    chain, x = Chain(node, b), b.value(node.input(0))
    rank = len(chain.shape(x))
    if node.opset >= _AXIS_INPUT:
        axis = -2
        if node.has_input(2):
            axis = int(constant_input(b, node, 2, "axis").reshape(-1)[0])
    else:
        axis = node.int("axis", 1)
    axis, inverse = normal_axis(node, axis, rank), bool(node.int("inverse", 0))
    one_sided = bool(node.int("onesided", 0))
    if inverse and not one_sided:
        # ONNX's case of it expects rounding errors of a fast transform, beyond its own tolerance
        raise node.refusal("is the inverse of a whole spectrum; supported: of one half (onesided)")
    count = _length(node, b, chain.shape(x), axis, inverse)
    x = _fitted(chain, x, axis, count // 2 + 1 if inverse else count)
    parts = chain.shape(x)[-1]
    check_size(node, count * count)
    matrix = (
        _inverse_matrix(count, parts) if inverse else _matrix(count, parts, one_sided=one_sided)
    )
    others = tuple(other for other in range(rank - 1) if other != axis)
    turned = chain.transpose(x, (*others, axis, rank - 1))
    shape = tuple(chain.shape(turned)[: len(others)])
    rows = chain.reshape(turned, (math.prod(shape), math.prod(chain.shape(turned)[-2:])))
    product = chain("dense", rows, chain.constant(matrix.reshape(matrix.shape[0], -1).T))
    result = chain.reshape(product, (*shape, *matrix.shape[1:]))
    order = (*others, axis, rank - 1)
    chain.bind(chain.transpose(result, tuple(order.index(other) for other in range(rank))))


def _length(node: Node, b: Builder, shape: tuple[int, ...], axis: int, inverse: bool) -> int:
    """Return how many samples are transformed."""
    if node.has_input(1):
        return int(constant_input(b, node, 1, "length").reshape(-1)[0])
    return 2 * (shape[axis] - 1) if inverse else shape[axis]


def _fitted(chain: Chain, x: str, axis: int, count: int) -> str:
    """Return a value cut to, or padded with zeros to, an extent."""
    shape = chain.shape(x)
    if shape[axis] >= count:
        return chain.slice(x, axis, 0, count)
    pads = [0] * (2 * len(shape))
    pads[len(shape) + axis] = count - shape[axis]
    return chain("pad", x, chain.constant([0.0]), pads=tuple(pads), mode="constant")


def _matrix(count: int, parts: int, *, one_sided: bool) -> Array:
    """Return what every part of a sample adds to every part of the spectrum.

    Args:
        count: Samples ``n``.
        parts: 1 of real numbers, 2 of complex ones.
        one_sided: Whether only the first half of the spectrum is wanted, as of real samples.

    Returns:
        ``[samples * parts, results, 2]``.
    """
    results = count // 2 + 1 if one_sided else count
    angle = -2 * np.pi * np.outer(np.arange(count), np.arange(results)) / count
    real, imaginary = np.cos(angle), np.sin(angle)
    by_part = [np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)][:parts]
    return np.stack(by_part, axis=1).reshape(count * parts, results, 2)


def _inverse_matrix(count: int, parts: int) -> Array:
    """Return what every part of a half spectrum adds to each of ``count`` real samples.

    The other half is its mirror, so that all but the ends count twice.
    """
    half = count // 2 + 1
    angle = 2 * np.pi * np.outer(np.arange(half), np.arange(count)) / count
    twice = np.full((half, 1), 2.0)
    twice[0] = 1.0
    if count % 2 == 0:
        twice[-1] = 1.0
    rows = np.stack([twice * np.cos(angle), -twice * np.sin(angle)], axis=1)[:, :parts]
    return rows.reshape(half * parts, count, 1) / count


def stft(node: Node, b: Builder) -> None:
    """``STFT``: frames of a signal, windowed, each transformed."""
    chain, x = Chain(node, b), b.value(node.input(0))
    step = int(constant_input(b, node, 1, "step of frames").reshape(-1)[0])
    window = b.value(node.input(2)) if node.has_input(2) else ""
    length = chain.shape(window)[0] if window else 0
    if node.has_input(3):
        length = int(constant_input(b, node, 3, "length of frames").reshape(-1)[0])
    if len(chain.shape(x)) == 2:
        x = chain.reshape(x, (*chain.shape(x), 1))
    N, count, parts = chain.shape(x)
    if step < 1 or not 1 <= length <= count:
        raise node.refusal(f"takes frames of {length} by {step} of {count} samples")
    frames = (count - length) // step + 1
    places = (np.arange(frames)[:, None] * step + np.arange(length)[None, :]).reshape(-1)
    taken = chain("take", x, axis=1, indices=tuple(int(place) for place in places))
    framed = chain.reshape(taken, (N, frames, length, parts))
    if window:
        framed = chain("mul", framed, chain.reshape(window, (length, 1)))
    matrix = _matrix(length, parts, one_sided=bool(node.int("onesided", 1)))
    rows = chain.reshape(framed, (N * frames, length * parts))
    product = chain("dense", rows, chain.constant(matrix.reshape(length * parts, -1).T))
    chain.bind(chain.reshape(product, (N, frames, chain.shape(product)[1] // 2, 2)))
