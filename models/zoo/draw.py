"""Seeded draws: initial weights, and inputs that a network reads."""

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.calibration import InputSpec
from ..data.synthetic import made_up
from .layers.structure import LayerValue, Parameter

Weights = dict[str, NDArray[np.float32]]


def draw(parameters: Iterable[Parameter], seed: int) -> Weights:
    """Return initial values; each depends on the seed and its own name only."""
    return {p.name: _draw_one(p, seed) for p in parameters}


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of one weight."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def sample(inputs: Iterable[LayerValue], seed: int) -> dict[str, NDArray[Any]]:
    """Return one input of each: pink noise, or indices that are in range."""
    return {x.name: _sample_one(x, seed) for x in inputs}


def _draw_one(parameter: Parameter, seed: int) -> NDArray[np.float32]:
    if parameter.std == 0:
        return np.full(parameter.shape, parameter.mean, np.float32)
    values = generator(seed, parameter.name).standard_normal(parameter.shape, dtype=np.float32)
    values *= np.float32(parameter.std)
    values += np.float32(parameter.mean)
    return values


def _sample_one(value: LayerValue, seed: int) -> NDArray[Any]:
    dtype = np.dtype(np.int64 if value.below else np.float32)
    spec = InputSpec(name=value.name, shape=value.shape, dtype=dtype, below=value.below)
    return made_up(spec, (seed,))
