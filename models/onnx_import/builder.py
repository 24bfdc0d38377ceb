"""The graph under construction: which ONNX tensor is which value, and how to add operators."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...ir.codec.names import Namer
from ...ir.errors import ModelError, VerifyError
from ...ir.graph import Attr, Graph, Op, Value
from ...ir.operators.elementary import Array, dequantized
from ...ir.ops import make_op
from ...ir.resources import dtype_of
from ...ir.types import DType, Quantization, TensorType
from .node import Node

LARGEST_TENSOR = 2**36
"""Elements of one tensor; beyond, a damaged attribute is more likely than a network."""

MOST_UNROLLED = 2**16
"""Nodes of branches, loops and recurrent operators, run by run, that a model may have."""


class Builder:
    """Collects operators and constants while the importer walks over the nodes.

    An ONNX tensor is either *known* (a constant array that may still be folded) or a *value* of the
    graph. A known tensor becomes a constant of the graph when an operator reads it.

    Args:
        opsets: Version of each domain that the model imports.
    """

    def __init__(self, opsets: Mapping[str, int] | None = None) -> None:
        self.opsets = dict(opsets or {})
        self.namer = Namer()
        self.types: dict[str, TensorType] = {}
        self.arrays: dict[str, Array] = {}
        self._inputs: dict[str, str] = {}
        self._ops: dict[str, Op] = {}
        self._known: dict[str, Array] = {}
        self._values: dict[str, str] = {}
        self._constants: dict[tuple[str, Quantization | None, tuple[int, ...]], str] = {}
        self._unrolled = 0

    # ONNX names ---------------------------------------------------------------------------------

    def known(self, name: str) -> Array | None:
        """Return the array of an ONNX tensor that is constant, ``None`` for others."""
        return self._known.get(name)

    def numbers(self, name: str) -> Array | None:
        """Return the array of an ONNX tensor that is constant or a constant dequantised."""
        if name in self._known:
            return self._known[name]
        op = self._ops.get(self._values[name])
        if op is None or op.kind != "dequantize" or op.operands[0] not in self.arrays:
            return None
        return dequantized(self.arrays[op.operands[0]], self.types[op.operands[0]])

    @property
    def values(self) -> Mapping[str, str]:
        """The graph's name for each ONNX tensor that is no constant."""
        return self._values

    def set_known(self, name: str, array: Array) -> None:
        """Declare an ONNX tensor constant."""
        self._known[name] = array

    def is_defined(self, name: str) -> bool:
        """Whether an ONNX tensor exists by now."""
        return name in self._known or name in self._values

    def bind(self, name: str, value: str) -> None:
        """Let an ONNX tensor be a value of the graph."""
        self._values[name] = value

    def sources(self, name: str) -> tuple[str, ...]:
        """Return the ONNX names of the network's inputs that a tensor is computed from."""
        waiting, seen = [self._values[name]], dict[str, None]()
        while waiting:
            value = waiting.pop()
            if value not in seen:
                seen[value] = None
                op = self._ops.get(value)
                waiting += op.inputs if op is not None else ()
        return tuple(name for name, value in self._inputs.items() if value in seen)

    def alias(self, name: str, source: str) -> None:
        """Let an ONNX tensor be another one."""
        if source in self._known:
            self._known[name] = self._known[source]
        else:
            self._values[name] = self._values[source]

    def value(self, name: str) -> str:
        """Return the graph's name for an ONNX tensor; a constant is added to the graph."""
        if name in self._values:
            return self._values[name]
        return self.constant(name, self._known[name])

    def type_of(self, name: str) -> TensorType:
        """Return the type of an ONNX tensor."""
        if name in self._known:
            array = self._known[name]
            return TensorType(_dtype(name, array), array.shape)
        return self.types[self._values[name]]

    # Adding to the graph ------------------------------------------------------------------------

    def add_input(self, name: str, found: TensorType) -> str:
        """Add an input of the network."""
        value = self.namer.fresh(name)
        self._inputs[name] = value
        self.types[value] = found
        self.bind(name, value)
        return value

    def constant(self, name: str, array: Array, quant: Quantization | None = None) -> str:
        """Add a constant, once per name, shape and quantisation.

        Args:
            name: Of the constant.
            array: Its value.
            quant: Its quantisation.

        Raises:
            ModelError: The type is unsupported, or the quantisation does not suit the array.
        """
        key = (name, quant, array.shape)
        if key in self._constants and self.arrays[self._constants[key]] is array:
            return self._constants[key]
        found = TensorType(_dtype(name, array), array.shape, quant)
        try:
            found.verify()
        except VerifyError as error:
            raise ModelError(f"constant {name!r}: {error}") from error
        value = self.namer.fresh(name)
        self.types[value], self.arrays[value] = found, array
        self._constants[key] = value
        return value

    def emit(
        self,
        kind: str,
        operands: Sequence[str],
        name: str,
        node: Node,
        *,
        attrs: Mapping[str, Attr] | None = None,
        dtype: DType | None = None,
        quant: Quantization | None = None,
    ) -> str:
        """Add an operator and return the name of its result.

        Args:
            kind: Kind of the operator.
            operands: Values of the graph, ``""`` where an optional one is absent.
            name: Wanted name of the result.
            node: The ONNX node that it comes from.
            attrs: Attributes.
            dtype: Element type of the result, ``None``: type of the first operand.
            quant: Quantisation of the result.

        Raises:
            ModelError: The operator breaks a rule of its kind.
        """
        try:
            op = make_op(
                kind,
                tuple(operands),
                self.types,
                self.namer.fresh(name),
                attrs=attrs,
                dtype=dtype,
                quant=quant,
                loc=node.loc,
            )
        except VerifyError as error:
            raise ModelError(str(error)) from error
        if op.result.type.elements > LARGEST_TENSOR:
            raise node.refusal(f"makes a tensor of shape {op.result.type.shape}, which is absurd")
        self._ops[op.name] = op
        self.types[op.name] = op.result.type
        return op.name

    def transpose(self, value: str, perm: tuple[int, ...], name: str, node: Node) -> str:
        """Return a value with its axes permuted; a constant is permuted at once.

        Args:
            value: Name of the operand.
            perm: Which axis of the operand stands where.
            name: Of the result.
            node: Where it comes from.
        """
        if value not in self.arrays:
            return self.emit("transpose", (value,), name, node, attrs={"perm": perm})
        array = np.ascontiguousarray(self.arrays[value].transpose(perm))
        quant = self.types[value].quant
        return self.constant(f"{value}.t", array, None if quant is None else quant.permuted(perm))

    def count_unrolled(self, node: Node, nodes: int) -> None:
        """Count a run of what a node repeats; one without nodes counts as one.

        Args:
            node: A branch, a loop or a recurrent operator.
            nodes: Nodes of one run.

        Raises:
            ModelError: All runs so far have more nodes than a model may have.
        """
        self._unrolled += max(1, nodes)
        if self._unrolled > MOST_UNROLLED:
            raise ModelError(
                f"{node.loc} is unrolled, which brings the model to more than {MOST_UNROLLED} "
                f"nodes of loops",
                hint="export the network with fewer iterations, or without loops inside of loops",
            )

    @property
    def op_count(self) -> int:
        """Operators so far."""
        return len(self._ops)

    def adopt_quantisation(self, value: str, quant: Quantization) -> bool:
        """Give a quantisation to an 8-bit input of the network that has none; tell if it was so."""
        found = self.types[value]
        if value not in self._inputs.values() or found.quant is not None:
            return False
        self.types[value] = TensorType(found.dtype, found.shape, quant)
        return True

    def graph(self, name: str, outputs: Sequence[str]) -> Graph:
        """Return the graph that was built; ``outputs`` are ONNX names.

        An output that is an input or a constant becomes a copy of it.
        """
        named = tuple(self._computed(output) for output in outputs)
        return Graph(
            name=Namer().fresh(name or "network"),
            inputs=tuple(Value(value, self.types[value]) for value in self._inputs.values()),
            constants=tuple(Value(value, self.types[value]) for value in self.arrays),
            ops=tuple(self._ops.values()),
            outputs=named,
        )

    def _computed(self, output: str) -> str:
        """Return the result of an operator that an output is."""
        value = self.value(output)
        if value not in self._ops:
            attrs = {"shape": self.types[value].shape}
            name = self.namer.fresh(output)
            self._ops[name] = make_op("reshape", (value,), self.types, name, attrs=attrs)
            self.types[name] = self._ops[name].result.type
            self.bind(output, name)
            return name
        return value


def _dtype(name: str, array: Array) -> DType:
    try:
        return dtype_of(array.dtype)
    except VerifyError as error:
        raise ModelError(
            f"constant {name!r} has element type {array.dtype}; supported: float32 and integers"
        ) from error
