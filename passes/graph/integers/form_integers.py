"""Form integer operators where the network computes on floats between dequantise and quantise.

::

    %xf = dequantize(%x)                       %y = conv2d(%x, %w, %b) : s8, scale and zero of %y
    %wf = dequantize(%w)                ->
    %bf = dequantize(%b)
    %yf = conv2d(%xf, %wf, %bf)
    %y = quantize(%yf)

The rules are those by which onnxruntime runs a quantised model in integers; ``rewriter.py`` has
them. Dead operators hide what may be rewritten, so ``eliminate-dead`` goes before. Needs the
constants' data; a network whose constants have none is left as it is.
"""

from dataclasses import dataclass
from typing import ClassVar

from ....ir.module import Module, Stage
from ...base import Context, Pass
from ..substitute import rewritten
from .rewriter import form_integers


@dataclass(frozen=True)
class FormIntegers(Pass):
    """Compute in integers what stands between dequantise and quantise, as onnxruntime does."""

    name: ClassVar[str] = "form-integers"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with integer operators; outputs keep their names."""
        if module.graph.constant_names - module.constants.keys():
            return module
        after = rewritten(module, *form_integers(module.graph, module.constants))
        if after.graph == module.graph:
            return module
        ctx.counters.add("operators fewer", len(module.graph.ops) - len(after.graph.ops))
        return after
