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

from dataclasses import dataclass, field, replace
from itertools import product
from typing import ClassVar

import numpy as np

from ...ir.arch import Precision
from ...ir.graph import Attr, Op, Value
from ...ir.module import Module, Stage
from ...ir.op_views import activation_of, window_of
from ...ir.operators.functions import Activation
from ...ir.ops import is_mac, make_op
from ...ir.resources import Array
from ...ir.types import DType, TensorType
from ..base import Context, Pass, require_arch


@dataclass(frozen=True)
class SplitFloatProducts(Pass):
    """Replace float convolutions and products by operators of the vector unit."""

    name: ClassVar[str] = "split-float-products"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without float products, unless the array computes floats."""
        graph = module.graph
        wanted = [op for op in graph.ops if is_mac(op) and op.result.type.dtype is DType.F32]
        if require_arch(module).precision is Precision.FP32 or not wanted:
            return module
        ctx.counters.add("products split", len(wanted))
        growth = _Growth(dict(graph.types))
        for op in graph.ops:
            if op in wanted:
                growth.split(op)
            else:
                growth.ops.append(op)
        constants = (*graph.constants, *growth.constants)
        return replace(
            module,
            graph=replace(graph, constants=constants, ops=tuple(growth.ops)),
            constants=module.constants.with_arrays(growth.arrays),
        )


@dataclass
class _Growth:
    """A graph in the making; local to one run.

    Attributes:
        types: Type of every tensor.
        ops: Operators so far.
        constants: Constants that were added.
        arrays: Their data.
    """

    types: dict[str, TensorType]
    ops: list[Op] = field(default_factory=list[Op])
    constants: list[Value] = field(default_factory=list[Value])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])

    def split(self, op: Op) -> None:
        """Add the operators that an operator becomes; the last one has its name."""
        total = self._dense(op) if op.kind == "dense" else self._convolution(op)
        shape, bias = op.result.type.shape, op.operands[2] if len(op.operands) > 2 else ""
        total = self._add(op, "reshape", (total,), shape=shape)
        if bias:
            channels = (shape[1], *(1,) * (len(shape) - 2))
            bias = self._add(op, "reshape", (bias,), shape=channels)
            total = self._add(op, "add", (total, bias))
        call = activation_of(op)
        if call.act is not Activation.NONE:
            attrs = [pair for pair in op.attrs if pair[0] in ("lo", "hi", "alpha")]
            total = self._add(op, call.act.value, (total,), **dict(attrs))
        last = self.ops.pop()
        self.ops.append(replace(last, results=(Value(op.name, last.result.type),)))

    def _dense(self, op: Op) -> str:
        M, L = self.types[op.operands[0]].shape
        x = self._add(op, "reshape", op.operands[:1], shape=(M, 1, L))
        products = self._add(op, "mul", (x, op.operands[1]))
        return self._add(op, "reduce_sum", (products,), axis=2)

    def _convolution(self, op: Op) -> str:
        K, C, R, S = self.types[op.operands[1]].shape
        G, x, parts = op.int("groups", 1), self._padded(op), list[str]()
        N, _, P, Q = op.result.type.shape
        for tap in product(range(R), range(S)):
            at = self._tap_inputs(op, x, tap)
            at = self._add(op, "reshape", (at,), shape=(N, G, 1, C, P, Q))
            cut = {"starts": (0, 0, *tap), "steps": (1,) * 4, "shape": (K, C, 1, 1)}
            w = self._add(op, "slice", op.operands[1:2], **cut)
            w = self._add(op, "reshape", (w,), shape=(G, K // G, C, 1, 1))
            products = self._add(op, "mul", (at, w))
            parts.append(self._add(op, "reduce_sum", (products,), axis=3))
        total = parts[0]
        for part in parts[1:]:
            total = self._add(op, "add", (total, part))
        return total

    def _tap_inputs(self, op: Op, x: str, tap: tuple[int, int]) -> str:
        """Return the elements of the padded input that a tap meets, one for each output."""
        window, (P, Q) = window_of(op, (1, 1)), op.result.type.shape[2:]
        starts = (tap[0] * window.dilation[0], tap[1] * window.dilation[1])
        N, C = self.types[x].shape[:2]
        attrs = {"starts": (0, 0, *starts), "steps": (1, 1, *window.stride)}
        return self._add(op, "slice", (x,), **attrs, shape=(N, C, P, Q))

    def _padded(self, op: Op) -> str:
        top, left, bottom, right = window_of(op, (1, 1)).pads
        if not any((top, left, bottom, right)):
            return op.operands[0]
        zero = self._fresh(f"{op.name}.zero")
        self.types[zero] = TensorType(DType.F32, (1,))
        self.constants.append(Value(zero, self.types[zero]))
        self.arrays[zero] = np.zeros(1, np.float32)
        pads = (0, 0, top, left, 0, 0, bottom, right)
        return self._add(op, "pad", (op.operands[0], zero), pads=pads, mode="constant")

    def _add(self, source: Op, kind: str, operands: tuple[str, ...], **attrs: Attr) -> str:
        """Add an operator that comes from another one and return its result."""
        name = self._fresh(f"{source.name}.{kind}")
        op = make_op(kind, operands, self.types, name, attrs=attrs, loc=source.loc)
        self.ops.append(op)
        self.types[op.name] = op.result.type
        return op.name

    def _fresh(self, name: str) -> str:
        """Return a name that no tensor has, like ``name``."""
        number, wanted = 0, name
        while wanted in self.types:
            number += 1
            wanted = f"{name}_{number}"
        return wanted
