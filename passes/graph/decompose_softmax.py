"""Split softmax into operators that the vector unit has.

::

    %y = softmax(%x) {axis = 1}    ->    %m = reduce_max(%x) {axis = 1}
                                         %d = sub(%x, %m)
                                         %e = exp(%d)
                                         %s = reduce_sum(%e) {axis = 1}
                                         %y = div(%e, %s)
"""

from dataclasses import dataclass
from typing import ClassVar

from ...ir.graph import Op
from ...ir.module import Module, Stage
from ..base import Context, Pass
from .growth import Growth


@dataclass(frozen=True)
class DecomposeSoftmax(Pass):
    """Replace every softmax by five simple operators."""

    name: ClassVar[str] = "decompose-softmax"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without softmax; results keep their names."""
        names = {op.name for op in module.graph.ops if op.kind == "softmax"}
        if not names:
            return module
        ctx.counters.add("operators decomposed", len(names))
        return Growth.splitting(module, names, _decompose)


def _decompose(growth: Growth, op: Op) -> None:
    (x,), axis = op.operands, op.int("axis")
    highest = growth.add(op, "reduce_max", (x,), label="max", axis=axis)
    shifted = growth.add(op, "sub", (x, highest), label="shifted")
    powers = growth.add(op, "exp", (shifted,))
    total = growth.add(op, "reduce_sum", (powers,), label="sum", axis=axis)
    growth.add(op, "div", (powers, total))
    growth.end(op)
