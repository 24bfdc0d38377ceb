"""Made-up inputs: seeded, and of a kind that says something about the model.

Real numbers are pink noise. Indices are uniform over what they index. Other wide integers and
booleans are taken for masks: ones, and zeros from somewhere in the second half of the last axis on,
as of a text that is padded. Narrow integers, which quantised models read, are uniform.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibration import InputSpec, Sample
from .images import pink_noise

Seed = tuple[int, ...]
_NARROW = ("int8", "uint8", "int16", "uint16")
_LEAST, _MOST = -128, 255


def synthetic(specs: tuple[InputSpec, ...], seed: Seed, samples: int) -> Iterator[Sample]:
    """Yield seeded samples.

    Args:
        specs: The inputs of the network.
        seed: Of what is drawn.
        samples: How many.
    """
    for sample in range(samples):
        yield {spec.name: made_up(spec, (*seed, sample, index)) for index, spec in enumerate(specs)}


def made_up(spec: InputSpec, seed: Seed) -> NDArray[Any]:
    """Return one value of an input; same spec and seed, same bytes."""
    if spec.is_float:
        return pink_noise(spec.shape, seed).astype(spec.dtype)
    rng = np.random.default_rng(seed)
    if spec.below:
        return rng.integers(0, spec.below, spec.shape).astype(spec.dtype)
    if spec.dtype.name in _NARROW:
        bounds = np.iinfo(spec.dtype.name)
        low, high = max(bounds.min, _LEAST), min(bounds.max, _MOST)
        return rng.integers(low, high + 1, spec.shape).astype(spec.dtype)
    return _mask(spec, rng)


def _mask(spec: InputSpec, rng: np.random.Generator) -> NDArray[Any]:
    if not spec.shape:
        return np.ones((), spec.dtype)
    length = spec.shape[-1]
    lengths = rng.integers(length - length // 2, length + 1, (*spec.shape[:-1], 1))
    return (np.arange(length) < lengths).astype(spec.dtype)
