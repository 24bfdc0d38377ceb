"""Remove operators that only move elements, and move none.

::

    %a = reshape(%x) {shape = [1, 8]} : f32<1x8>      ->     %b = relu(%x) : f32<1x8>
    %b = relu(%a) : f32<1x8>

That is a reshape to the shape of its operand, a transposition that keeps all axes with more than
one element in order and the shape, and a concatenation of one tensor. One that makes an output of
the network is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.operators.access import Part
from ...ir.ops import is_move, parts_of
from ...ir.tiles.regions import Region
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
    if not is_move(op) or types[op.operands[0]].shape != op.result.type.shape:
        return False
    parts = parts_of(op, types)
    return len(parts) == 1 and all(_keeps_order(part) for part in parts)


def _keeps_order(part: Part) -> bool:
    """Whether every element of the result is the one at its place in the operand."""
    (read,) = part.reads
    return _walk(part.out.region(part.domain)) == _walk(read.region(part.domain))


def _walk(region: Region) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the first element of a region and the axes along which it has more than one."""
    axes = zip(region.shape, region.strides, strict=True)
    return region.offset, tuple(axis for axis in axes if axis[0] > 1)
