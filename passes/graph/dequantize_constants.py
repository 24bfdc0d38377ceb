"""Turn dequantised constants that float operators still read into float constants.

::

    const %w : s8<4x8, scale = 0.5, zero = 0>              ->     const %wf : f32<4x8>
    %wf = dequantize(%w) : f32<4x8>                               %y = dense(%x, %wf) : f32<1x4>
    %y = dense(%x, %wf) : f32<1x4>

Needs the constants' data; where there are none, nothing changes. An operator that makes an output
of the network is kept.
"""

from dataclasses import dataclass
from typing import ClassVar

from ...ir.module import Module, Stage
from ...ir.operators.elementary import dequantized
from ..base import Context, Pass
from .substitute import as_constants, rewritten


@dataclass(frozen=True)
class DequantizeConstants(Pass):
    """Replace each dequantised constant by its float value, under the same name."""

    name: ClassVar[str] = "dequantize-constants"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with float constants instead of operators."""
        graph, constants = module.graph, module.constants
        found = {
            op.name: dequantized(constants[op.operands[0]], graph.types[op.operands[0]])
            for op in graph.ops
            if op.kind == "dequantize"
            and op.operands[0] in constants
            and op.name not in graph.outputs
        }
        if not found:
            return module
        ctx.counters.add("constants dequantised", len(found))
        folded = as_constants(graph, frozenset(found))
        return rewritten(module, folded, constants.with_arrays(found))
