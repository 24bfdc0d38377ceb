"""Fuse an activation into the float operator that feeds it.

::

    %a = conv2d(%x, %w) : f32      ->     %b = conv2d(%x, %w) {act = "relu"} : f32
    %b = relu(%a) : f32

An activation whose operand others read, or that is quantised, is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Attr, Graph, Op, eliminate_dead, sorted_attrs
from ...ir.module import Module, Stage
from ...ir.operators.functions import FUNCTIONS
from ...ir.ops import OPS
from ...ir.types import DType
from ..base import Context, Pass

_SOURCES = frozenset(
    kind for kind, spec in OPS.items() if any(attr.name == "act" for attr in spec.attrs)
)
_ACTIVATIONS = frozenset(str(act) for act, function in FUNCTIONS.items() if function.is_fusable)


@dataclass(frozen=True)
class FuseActivations(Pass):
    """Fuse relu, clip and leaky_relu into the float operator that feeds them."""

    name: ClassVar[str] = "fuse-activations"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with activations as attributes."""
        graph = eliminate_dead(_fuse(module.graph))
        if graph is module.graph:
            return module
        ctx.counters.add("operators fused", len(module.graph.ops) - len(graph.ops))
        return replace(module, graph=graph)


def _fuse(graph: Graph) -> Graph:
    use_count = graph.use_count

    def fuse(op: Op, producer: Mapping[str, Op]) -> Op | None:
        if op.kind not in _ACTIVATIONS:
            return None
        source = producer.get(op.operands[0])
        if source is None or source.kind not in _SOURCES or use_count[source.name] > 1:
            return None
        if source.result.type.dtype is not DType.F32 or source.str("act", "none") != "none":
            return None
        act: tuple[tuple[str, Attr], ...] = (("act", op.kind), *op.attrs)
        return Op(
            kind=source.kind,
            operands=source.operands,
            results=op.results,
            attrs=sorted_attrs([*(pair for pair in source.attrs if pair[0] != "act"), *act]),
            loc=source.loc,
        )

    return graph.rewrite(fuse)
