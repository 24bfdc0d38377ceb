"""Typed view of one ONNX node: its inputs, outputs and attributes."""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from ...ir.errors import ModelError


@dataclass(frozen=True)
class Node:
    """A node of the ONNX graph.

    Attributes:
        proto: The node itself.
        opset: Version of its domain that the model imports.
    """

    proto: NodeProto
    opset: int

    @property
    def domain(self) -> str:
        """Domain of the operator; ``""`` is ONNX's own."""
        return "" if self.proto.domain == "ai.onnx" else self.proto.domain

    @property
    def kind(self) -> str:
        """Name of the ONNX operator."""
        return self.proto.op_type

    @property
    def loc(self) -> str:
        """Where an operator comes from, for messages."""
        name = self.proto.name or (self.proto.output[0] if self.proto.output else "")
        return f"{self.kind} node {name!r}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, ``""`` where an optional one is absent."""
        return tuple(self.proto.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs that are used, in order; absent trailing ones are dropped."""
        return tuple(self.proto.output)

    @cached_property
    def _attributes(self) -> dict[str, AttributeProto]:
        return {attribute.name: attribute for attribute in self.proto.attribute}

    def input(self, index: int) -> str:
        """Return the name of an input.

        Raises:
            ModelError: The node has no such input.
        """
        if not self.has_input(index):
            raise self.refusal(f"lacks input {index}")
        return self.inputs[index]

    def has_input(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def refusal(self, text: str) -> ModelError:
        """Return the error that names this node."""
        return ModelError(f"{self.loc} {text}")

    def _get(self, name: str, kind: "AttributeProto.AttributeType") -> AttributeProto | None:
        found = self._attributes.get(name)
        if found is None:
            return None
        if found.type != kind:
            expected = AttributeProto.AttributeType.Name(kind)
            raise self.refusal(f"has attribute {name!r} of a type other than {expected}")
        return found

    def has(self, name: str) -> bool:
        """Whether the node carries an attribute."""
        return name in self._attributes

    def int(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        found = self._get(name, AttributeProto.INT)
        return default if found is None else found.i

    def float(self, name: str, default: float) -> float:
        """Return a float attribute (a float32 value)."""
        found = self._get(name, AttributeProto.FLOAT)
        return default if found is None else found.f

    def str(self, name: str, default: str) -> str:
        """Return a text attribute."""
        found = self._get(name, AttributeProto.STRING)
        return default if found is None else found.s.decode("utf-8", "replace")

    def ints(self, name: "str", default: "tuple[int, ...] | None" = None) -> "tuple[int, ...]":
        """Return an attribute with several integers.

        Raises:
            ModelError: It is absent and there is no default.
        """
        found = self._get(name, AttributeProto.INTS)
        if found is not None:
            return tuple(cast("list[int]", found.ints))
        if default is None:
            raise self.refusal(f"lacks attribute {name!r}")
        return default

    def floats(self, name: "str") -> "tuple[float, ...]":
        """Return an attribute with several numbers, none if it is absent."""
        found = self._get(name, AttributeProto.FLOATS)
        return () if found is None else tuple(cast("list[float]", found.floats))

    def texts(self, name: "str") -> "tuple[str, ...]":
        """Return an attribute with several texts, none if it is absent."""
        found = self._get(name, AttributeProto.STRINGS)
        if found is None:
            return ()
        return tuple(text.decode("utf-8", "replace") for text in cast("list[bytes]", found.strings))

    def graph(self, name: "str") -> GraphProto:
        """Return an attribute that is a graph.

        Raises:
            ModelError: It is absent.
        """
        found = self._get(name, AttributeProto.GRAPH)
        if found is None:
            raise self.refusal(f"lacks attribute {name!r}")
        return found.g

    def tensor(self, name: "str") -> TensorProto | None:
        """Return a tensor attribute, ``None`` if it is absent."""
        found = self._get(name, AttributeProto.TENSOR)
        return None if found is None else found.t

    def require(self, name: "str", default: "int", *allowed: "int") -> None:
        """Refuse the node unless an integer attribute has an allowed value."""
        value = self.int(name, default)
        if value not in allowed:
            shown = " or ".join(str(item) for item in allowed)
            raise self.refusal(f"has {name} = {value}; supported: {shown}")
