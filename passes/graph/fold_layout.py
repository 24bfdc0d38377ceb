"""Compute at compile time what only moves the elements of constants.

::

    const %w : f32<2x3>                                    ->     const %t : f32<3x2>
    %t = transpose(%w) {perm = [1, 0]} : f32<3x2>                 %y = dense(%x, %t) : f32<1x3>
    %y = dense(%x, %t) : f32<1x3>

Needs the constants' data; where there are none, nothing is folded. An operator that makes an
output of the network is kept.
"""

from dataclasses import dataclass
from typing import ClassVar

from ...ir.graph import Graph, Op
from ...ir.module import Module, Stage
from ...ir.operators.access import move
from ...ir.ops import is_move, parts_of
from ...ir.resources import Array
from ..base import Context, Pass
from .substitute import as_constants, rewritten


@dataclass(frozen=True)
class FoldLayout(Pass):
    """Turn what moves the elements of constants into constants."""

    name: ClassVar[str] = "fold-layout"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with the results as constants, under their own names."""
        arrays: dict[str, Array] = dict(module.constants)
        folded = [op for op in module.graph.ops if _fold(op, module.graph, arrays)]
        if not folded:
            return module
        ctx.counters.add("operators folded", len(folded))
        graph = as_constants(module.graph, frozenset(op.name for op in folded))
        return rewritten(module, graph, module.constants.with_arrays(arrays))


def _fold(op: Op, graph: Graph, arrays: dict[str, Array]) -> bool:
    """Add the result of an operator to the arrays; return whether that was possible."""
    if not is_move(op) or op.name in graph.outputs:
        return False
    if any(name not in arrays for name in op.operands):
        return False
    operands = tuple(arrays[name] for name in op.operands)
    arrays[op.name] = move(parts_of(op, graph.types), operands, op.result.type.shape)
    return True
