"""Remove operators that only move elements, and move none.

::

    %a = reshape(%x) {shape = [1, 8]} : f32<1x8>      ->     %b = relu(%x) : f32<1x8>
    %b = relu(%a) : f32<1x8>

That is a reshape to the shape of its operand, a transposition that keeps all axes with more than
one element in order and the shape, and a concatenation of one tensor. One that makes an output of
the network stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.types import TensorType
from ..base import Context, Pass
from .substitute import substitute


@dataclass(frozen=True)
class RemoveIdentities(Pass):
    """Remove reshapes, transpositions and concatenations that change nothing."""

    name: ClassVar[str] = "remove-identities"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without operators that change nothing."""
        types = module.graph.types

        def operand(op: Op) -> str | None:
            return op.operands[0] if is_identity(op, types) else None

        graph = substitute(module.graph, operand)
        if graph is module.graph:
            return module
        ctx.counters.add("operators removed", len(module.graph.ops) - len(graph.ops))
        return replace(module, graph=graph)


def is_identity(op: Op, types: Mapping[str, TensorType]) -> bool:
    """Whether the result of an operator is its operand, element by element."""
    if op.kind == "concat":
        return len(op.operands) == 1
    if op.kind == "reshape":
        return types[op.operands[0]].shape == op.result.type.shape
    return op.kind == "transpose" and _keeps_order(op, types[op.operands[0]].shape)


def _keeps_order(op: Op, shape: tuple[int, ...]) -> bool:
    moved = [axis for axis in op.ints("perm") if shape[axis] > 1]
    return moved == sorted(moved) and op.result.type.shape == shape
