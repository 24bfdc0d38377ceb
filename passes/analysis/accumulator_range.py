"""Bound the accumulators of integer operators, to tell whether a sum can leave its width.

A sum over all taps of output channel ``k`` never exceeds ``sum |w[k] - zw| * max |x - zx|`` in
magnitude, and no partial sum of it, in any order, does either. Where that bound fits the
accumulator, overflow is impossible; where it does not, the simulator's trap decides for the inputs
at hand.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...ir.graph import Graph, Op
from ...ir.ops import is_mac
from ...ir.types import DType, Quantization

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class AccumulatorBound:
    """How large the partial sums of an operator can grow.

    Attributes:
        operator: Its name.
        magnitude: No partial sum is larger, for any input.
    """

    operator: str
    magnitude: int

    @property
    def bits(self) -> int:
        """Width of a two's complement accumulator that never overflows [bit]."""
        return self.magnitude.bit_length() + 1


def accumulator_bounds(
    graph: Graph, constants: Mapping[str, Array]
) -> tuple[AccumulatorBound, ...]:
    """Return the bound of every integer operator with constant weights, in graph order."""
    return tuple(
        AccumulatorBound(op.name, _magnitude(graph, op, constants[op.operands[1]]))
        for op in graph.ops
        if is_mac(op)
        and graph.types[op.operands[0]].dtype.is_integer
        and op.operands[1] in constants
    )


def _magnitude(graph: Graph, op: Op, weights: Array) -> int:
    x, w = graph.types[op.operands[0]], graph.types[op.operands[1]]
    zeros = np.asarray(_zero_points(w.quant), np.int64).reshape(-1, *(1,) * (weights.ndim - 1))
    taps = np.abs(weights.astype(np.int64) - zeros)
    depth = weights.shape[-1:] if op.kind == "dense" else weights.shape[1:]
    largest = taps.reshape(-1, math.prod(depth)).sum(axis=1).max()
    return int(largest) * _largest_input(x.dtype, _zero_points(x.quant)[0])


def _zero_points(quant: Quantization | None) -> tuple[int, ...]:
    return (0,) if quant is None else quant.zero_point


def _largest_input(dtype: DType, zero: int) -> int:
    low, high = dtype.range
    return max(high - zero, zero - low)
