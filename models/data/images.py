"""Seeded pink noise: images whose spectrum falls as 1/f, as that of photographs does.

White noise averages out in the first pooling layers and tells nothing about deeper ones. Pink noise
has structure at every scale, so that activations of every depth vary with the input.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def pink_noise(shape: Sequence[int], seed: int | Sequence[int]) -> NDArray[np.float32]:
    """Return Gaussian noise with amplitude proportional to 1/f over the last two axes.

    The mean is 0 and the expected variance 1; the constant part varies from plane to plane, as
    brightness does. Planes are independent. With fewer than two axes, the noise is pink over all.

    Args:
        shape: Shape of the result, e.g. ``[N, C, H, W]``.
        seed: Seed of the generator, or a tuple of seeds; same shape and seed, same bytes.
    """
    shape = tuple(shape)
    axes = tuple(range(max(0, len(shape) - 2), len(shape)))
    white = np.random.default_rng(seed).standard_normal(shape)
    if not axes or 0 in shape:
        return white.astype(np.float32)
    amplitude = _amplitude([shape[axis] for axis in axes])
    pink = np.fft.ifftn(np.fft.fftn(white, axes=axes) * amplitude, axes=axes).real
    return pink.astype(np.float32)


def _amplitude(sizes: Sequence[int]) -> NDArray[np.float64]:
    """Return 1/f on the FFT's grid, scaled to keep the variance of white noise."""
    squares = np.zeros((1,) * len(sizes))
    for axis, size in enumerate(sizes):
        column = [1] * len(sizes)
        column[axis] = size
        squares = squares + np.fft.fftfreq(size).reshape(column) ** 2
    lowest = 1.0 / max(sizes)
    amplitude = 1.0 / np.maximum(np.sqrt(squares), lowest)
    return amplitude * math.sqrt(amplitude.size / float(np.sum(amplitude**2)))
