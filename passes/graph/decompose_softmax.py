"""Split softmax into operators that the vector unit has.

::

    %y = softmax(%x) {axis = 1}    ->    %m = reduce_max(%x) {axis = 1}
                                         %d = sub(%x, %m)
                                         %e = exp(%d)
                                         %s = reduce_sum(%e) {axis = 1}
                                         %y = div(%e, %s)
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Graph, Op, Value
from ...ir.module import Module, Stage
from ...ir.types import TensorType
from ..base import Context, Pass


@dataclass(frozen=True)
class DecomposeSoftmax(Pass):
    """Replace every softmax by five simple operators."""

    name: ClassVar[str] = "decompose-softmax"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without softmax; results keep their names."""
        graph = module.graph
        count = sum(op.kind == "softmax" for op in graph.ops)
        if not count:
            return module
        ctx.counters.add("operators decomposed", count)
        ops = tuple(
            part
            for op in graph.ops
            for part in (_parts(op, graph) if op.kind == "softmax" else (op,))
        )
        return replace(module, graph=replace(graph, ops=ops))


def _parts(op: Op, graph: Graph) -> tuple[Op, ...]:
    (x,), axis, full = op.operands, op.int("axis"), op.result.type
    shape = full.shape
    row = TensorType(full.dtype, (*shape[:axis], 1, *shape[axis + 1 :]))

    def part(kind: str, operands: tuple[str, ...], result: str, type: TensorType) -> Op:
        attrs = (("axis", axis),) if kind.startswith("reduce") else ()
        return Op(
            kind=kind, operands=operands, results=(Value(result, type),), attrs=attrs, loc=op.loc
        )

    highest, shifted, powers, total = (
        _fresh(f"{op.name}.{what}", graph) for what in ("max", "shifted", "exp", "sum")
    )
    return (
        part("reduce_max", (x,), highest, row),
        part("sub", (x, highest), shifted, full),
        part("exp", (shifted,), powers, full),
        part("reduce_sum", (powers,), total, row),
        part("div", (powers, total), op.name, full),
    )


def _fresh(name: str, graph: Graph) -> str:
    """Return a name that the network does not use, like ``name``."""
    while name in graph.types:
        name += "_"
    return name
