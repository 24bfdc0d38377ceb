"""Compute at compile time what only moves the elements of constants.

::

    const %w : f32<2x3>                                    ->     const %t : f32<3x2>
    %t = transpose(%w) {perm = [1, 0]} : f32<3x2>                 %y = dense(%x, %t) : f32<1x3>
    %y = dense(%x, %t) : f32<1x3>

Needs the constants' data; where there are none, nothing is folded. An operator that makes an
output of the network stays.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...ir.graph import Graph, Op, eliminate_dead
from ...ir.module import Module, Stage
from ...ir.resources import Array
from ..base import Context, Pass

_KINDS = frozenset({"reshape", "transpose", "concat"})


@dataclass(frozen=True)
class FoldLayout(Pass):
    """Turn reshapes, transpositions and concatenations of constants into constants."""

    name: ClassVar[str] = "fold-layout"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with the results as constants, under their own names."""
        arrays: dict[str, Array] = dict(module.constants)
        folded = [op for op in module.graph.ops if _fold(op, module.graph, arrays)]
        if not folded:
            return module
        ctx.counters.add("operators folded", len(folded))
        graph = eliminate_dead(_as_constants(module.graph, folded))
        return replace(module, graph=graph, constants=module.constants.with_arrays(arrays))


def _fold(op: Op, graph: Graph, arrays: dict[str, Array]) -> bool:
    """Add the result of an operator to the arrays; return whether that was possible."""
    if op.kind not in _KINDS or op.name in graph.outputs:
        return False
    if any(name not in arrays for name in op.operands):
        return False
    arrays[op.name] = _value(op, [arrays[name] for name in op.operands])
    return True


def _value(op: Op, operands: list[Array]) -> Array:
    if op.kind == "reshape":
        return operands[0].reshape(op.ints("shape"))
    if op.kind == "transpose":
        return operands[0].transpose(op.ints("perm"))
    return np.concatenate(operands, axis=op.int("axis"))


def _as_constants(graph: Graph, folded: list[Op]) -> Graph:
    names = {op.name for op in folded}
    return replace(
        graph,
        constants=(*graph.constants, *(op.result for op in folded)),
        ops=tuple(op for op in graph.ops if op.name not in names),
    )
