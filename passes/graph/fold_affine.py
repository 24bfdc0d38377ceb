"""Move products and sums with one constant per channel into the weights before them.

::

    %a = conv2d(%x, %w, %b)        ->     %d = conv2d(%x, %w', %b')
    %c = mul(%a, %scale)                  w' = w * scale,  b' = b * scale + shift
    %d = add(%c, %shift)

This is what batch normalisation comes to. Needs the constants' data; where there are none, nothing
is folded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ...ir.codec.names import Namer
from ...ir.graph import Graph, Op, Value
from ...ir.module import Module, Stage
from ...ir.operators.elementary import Array
from ...ir.resources import Constants
from ...ir.types import DType, TensorType
from ..base import Context, Pass
from .substitute import rewritten

_CHANNEL_AXES = {"conv2d": 2, "dense": 0}
"""How many axes follow the channel's in the result."""


@dataclass(frozen=True)
class FoldAffine(Pass):
    """Move products and sums with constants into the float weights before them."""

    name: ClassVar[str] = "fold-affine"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with new weights; the old operators and constants are gone."""
        graph, constants = _fold(module.graph, module.constants)
        if graph is module.graph:
            return module
        after = rewritten(module, graph, constants)
        ctx.counters.add("operators folded", len(module.graph.ops) - len(after.graph.ops))
        return after


@dataclass
class _Weights:
    """Constants while they change; local to one run of the rewrite."""

    arrays: dict[str, Array]
    namer: Namer
    added: list[Value] = field(default_factory=list[Value])

    def add(self, name: str, array: Array) -> str:
        unique = self.namer.fresh(name)
        self.arrays[unique] = array.astype(np.float32)
        self.added.append(Value(unique, TensorType(DType.F32, array.shape)))
        return unique


def _fold(graph: Graph, constants: Constants) -> tuple[Graph, Constants]:
    weights = _Weights(dict(constants), Namer(graph.types))
    use_count = graph.use_count

    def fold(op: Op, producer: Mapping[str, Op]) -> Op | None:
        if op.kind not in ("mul", "add") or op.result.type.dtype is not DType.F32 or op.attrs:
            return None
        for source, other in (op.operands, op.operands[::-1]):
            mac = producer.get(source)
            if mac is None or mac.kind not in _CHANNEL_AXES or use_count[source] > 1:
                continue
            values = _per_channel(op, mac, weights.arrays.get(other))
            if values is not None and _is_plain(mac, weights.arrays):
                return _folded(op, mac, values, weights)
        return None

    folded = graph.rewrite(fold)
    if folded is graph:
        return graph, constants
    grown = replace(folded, constants=(*graph.constants, *weights.added))
    return grown, Constants(weights.arrays)


def _is_plain(mac: Op, arrays: Mapping[str, Array]) -> bool:
    """Whether an operator is float, has constant weights and bias, and no activation."""
    is_float = mac.result.type.dtype is DType.F32
    return (
        is_float
        and mac.str("act", "none") == "none"
        and all(name in arrays for name in mac.operands[1:] if name)
    )


def _per_channel(op: Op, mac: Op, constant: Array | None) -> Array | None:
    """Return one float64 value per channel of ``mac``, ``None`` if the constant is not that."""
    if constant is None or op.result.type.shape != mac.result.type.shape:
        return None
    after = _CHANNEL_AXES[mac.kind]
    if len(mac.result.type.shape) != after + 2:
        return None
    channels = mac.result.type.shape[-1 - after]
    wide = constant.astype(np.float64)
    if wide.size == 1:
        return np.full(channels, wide.item())
    shape = (1,) * (after + 2 - wide.ndim) + wide.shape
    if shape != (1, channels, *(1,) * after):
        return None
    return wide.reshape(channels)


def _folded(op: Op, mac: Op, values: Array, weights: _Weights) -> Op:
    source, w_name, bias_name = (*mac.operands, "")[:3]
    w = weights.arrays[w_name].astype(np.float64)
    bias = weights.arrays[bias_name].astype(np.float64) if bias_name else np.zeros(len(w))
    if op.kind == "mul":
        w_name = weights.add(f"{op.name}.w", w * values.reshape(-1, *(1,) * (w.ndim - 1)))
        bias = bias * values
    else:
        bias = bias + values
    if op.kind == "add" or bias_name:
        bias_name = weights.add(f"{op.name}.bias", bias)
    return Op(
        kind=mac.kind,
        operands=(source, w_name, bias_name) if bias_name else (source, w_name),
        results=op.results,
        attrs=mac.attrs,
        loc=mac.loc,
    )
