"""Seeded inputs of networks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from accnn.ir.graph import Graph
from accnn.ir.resources import numpy_dtype

Array = npt.NDArray[Any]


def random_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    """Return seeded inputs over the whole range of their types."""
    rng = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for value in graph.inputs:
        kind = numpy_dtype(value.type.dtype)
        if value.type.dtype.is_integer:
            low, high = value.type.dtype.range
            inputs[value.name] = rng.integers(low, high + 1, value.type.shape).astype(kind)
        else:
            inputs[value.name] = rng.standard_normal(value.type.shape).astype(kind)
    return inputs
