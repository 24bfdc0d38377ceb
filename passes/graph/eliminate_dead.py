"""Drop operators and constants that no output of the network depends on.

::

    %a = relu(%x)                  ->     %b = relu(%x)
    %b = relu(%x)                         return %b
    return %b
"""

from dataclasses import dataclass
from typing import ClassVar

from ...ir.graph import eliminate_dead
from ...ir.module import Module, Stage
from ..base import Context, Pass
from .substitute import rewritten


@dataclass(frozen=True)
class EliminateDead(Pass):
    """Drop operators and constants that no output depends on."""

    name: ClassVar[str] = "eliminate-dead"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with a graph in which everything is needed."""
        graph = eliminate_dead(module.graph)
        if graph is module.graph:
            return module
        ctx.counters.add("operators dropped", len(module.graph.ops) - len(graph.ops))
        ctx.counters.add("constants dropped", len(module.graph.constants) - len(graph.constants))
        return rewritten(module, graph)
