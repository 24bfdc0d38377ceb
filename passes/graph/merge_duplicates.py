"""Compute once what several operators compute in the same way.

::

    %a = relu(%x)                  ->     %a = relu(%x)
    %b = relu(%x)                         %c = add(%a, %a)
    %c = add(%a, %b)

Operators are the same if kind, operands, attributes and types of results are. The later one goes,
unless it makes an output of the network.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.types import TensorType
from ..base import Context, Pass
from .substitute import substitute

_Key: TypeAlias = tuple[str, tuple[str, ...], str, TensorType]


@dataclass(frozen=True)
class MergeDuplicates(Pass):
    """Compute once what several operators compute in the same way."""

    name: ClassVar[str] = "merge-duplicates"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without operators that repeat an earlier one."""
        first: dict[_Key, str] = {}

        def earlier(op: Op) -> str | None:
            found = first.setdefault(_key(op), op.name)
            return None if found == op.name else found

        graph = substitute(module.graph, earlier)
        if graph is module.graph:
            return module
        ctx.counters.add("operators merged", len(module.graph.ops) - len(graph.ops))
        return replace(module, graph=graph)


def _key(op: Op) -> _Key:
    """All that the result depends on; ``1``, ``1.0`` and ``true`` are different attributes."""
    return op.kind, op.operands, repr(op.attrs), op.result.type
