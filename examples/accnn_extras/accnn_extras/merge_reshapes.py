"""Merge a reshape into the reshape that feeds it.

    %a = reshape(%x) {shape = [4, 6]}      ->     %b = reshape(%x) {shape = [24]}
    %b = reshape(%a) {shape = [24]}

The first one is dropped where nobody else reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from accnn.ir.graph import Op, eliminate_dead
from accnn.ir.module import Module, Stage
from accnn.passes.base import Context, Pass


@dataclass(frozen=True)
class MergeReshapes(Pass):
    """Let a reshape read what the reshape before it reads."""

    name: ClassVar[str] = "merge-reshapes"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with at most one reshape in a row."""

        def merge(op: Op, producers: Mapping[str, Op]) -> Op | None:
            source = producers.get(op.operands[0])
            if op.kind != "reshape" or source is None or source.kind != "reshape":
                return None
            ctx.counters.add("merged")
            return replace(op, operands=source.operands)

        graph = module.graph.rewrite(merge)
        if graph is module.graph:
            return module
        return replace(module, graph=eliminate_dead(graph))
