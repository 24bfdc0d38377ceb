"""Compute float products on the vector unit where the MAC array knows integers only.

::

    %y = dense(%x, %w) : f32<2x5>     ->     %a = reshape(%x) {shape = [2, 1, 7]}
                                             %b = mul(%a, %w) : f32<2x5x7>
                                             %c = reduce_sum(%b) {axis = 2}
                                             %y = reshape(%c) {shape = [2, 5]}

A convolution is such a product for every tap of its window, over the elements that the tap meets,
and their sum. All products lie in memory before they are added up: this is for what few operators
of a quantised network the quantiser left in float.
"""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from ...ir.arch import Precision
from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.operators.functions import FUNCTIONS, Activation
from ...ir.operators.views import activation_of, window_of
from ...ir.ops import is_mac
from ...ir.types import DType
from ..base import Context, Pass, require_arch
from .growth import Growth


@dataclass(frozen=True)
class SplitFloatProducts(Pass):
    """Replace float convolutions and products by operators of the vector unit."""

    name: ClassVar[str] = "split-float-products"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without float products, unless the array computes floats."""
        graph = module.graph
        wanted = {op.name for op in graph.ops if _is_split(op)}
        if require_arch(module).precision is Precision.FP32 or not wanted:
            return module
        ctx.counters.add("products split", len(wanted))
        return Growth.splitting(module, wanted, lambda growth, op: _Split(growth).split(op))


def _is_split(op: Op) -> bool:
    return is_mac(op) and op.result.type.dtype is DType.F32


@dataclass(frozen=True)
class _Split:
    """How a product is split into operators of a growing graph."""

    growth: Growth

    def split(self, op: Op) -> None:
        """Add the operators that an operator becomes; the last one has its name."""
        total = self._dense(op) if op.kind == "dense" else self._convolution(op)
        shape, bias = op.result.type.shape, op.operands[2] if len(op.operands) > 2 else ""
        total = self.growth.add(op, "reshape", (total,), shape=shape)
        if bias:
            channels = (shape[1], *(1,) * (len(shape) - 2))
            bias = self.growth.add(op, "reshape", (bias,), shape=channels)
            total = self.growth.add(op, "add", (total, bias))
        call = activation_of(op)
        if call.act is not Activation.NONE:
            numbers = {number.name for number in FUNCTIONS[call.act].numbers}
            attrs = {name: value for name, value in op.attrs if name in numbers}
            total = self.growth.add(op, call.act.value, (total,), given=attrs)
        self.growth.end(op)

    def _dense(self, op: Op) -> str:
        x, w = op.operands[:2]
        *batch, M, L = self.growth.types[x].shape
        x = self.growth.add(op, "reshape", (x,), shape=(*batch, M, 1, L))
        if batch:
            J = self.growth.types[w].shape[-2]
            w = self.growth.add(op, "reshape", (w,), shape=(*batch, 1, J, L))
        products = self.growth.add(op, "mul", (x, w))
        return self.growth.add(op, "reduce_sum", (products,), axis=len(batch) + 2)

    def _convolution(self, op: Op) -> str:
        K, C, R, S = self.growth.types[op.operands[1]].shape
        G, x, parts = op.int("groups", 1), self._padded(op), list[str]()
        N, _, P, Q = op.result.type.shape
        for tap in product(range(R), range(S)):
            at = self._tap_inputs(op, x, tap)
            at = self.growth.add(op, "reshape", (at,), shape=(N, G, 1, C, P, Q))
            w = self._slice(op, op.operands[1], (0, 0, *tap), (1,) * 4, (K, C, 1, 1))
            w = self.growth.add(op, "reshape", (w,), shape=(G, K // G, C, 1, 1))
            products = self.growth.add(op, "mul", (at, w))
            parts.append(self.growth.add(op, "reduce_sum", (products,), axis=3))
        total = parts[0]
        for part in parts[1:]:
            total = self.growth.add(op, "add", (total, part))
        return total

    def _tap_inputs(self, op: Op, x: str, tap: tuple[int, int]) -> str:
        """Return the elements of the padded input that a tap meets, one for each output."""
        window, (P, Q) = window_of(op, (1, 1)), op.result.type.shape[2:]
        starts = (tap[0] * window.dilation[0], tap[1] * window.dilation[1])
        N, C = self.growth.types[x].shape[:2]
        return self._slice(op, x, (0, 0, *starts), (1, 1, *window.stride), (N, C, P, Q))

    def _slice(
        self,
        op: Op,
        x: str,
        starts: tuple[int, ...],
        steps: tuple[int, ...],
        shape: tuple[int, ...],
    ) -> str:
        return self.growth.add(op, "slice", (x,), starts=starts, steps=steps, shape=shape)

    def _padded(self, op: Op) -> str:
        top, left, bottom, right = window_of(op, (1, 1)).pads
        if not any((top, left, bottom, right)):
            return op.operands[0]
        zero = self.growth.constant(f"{op.name}.zero", np.zeros(1, np.float32))
        pads = (0, 0, top, left, 0, 0, bottom, right)
        return self.growth.add(op, "pad", (op.operands[0], zero), pads=pads, mode="constant")
