"""The network as a graph of operators in single assignment form."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from .errors import VerifyError
from .types import TensorType

Attr: TypeAlias = bool | int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A named tensor: a graph input, a constant or the result of an operator."""

    name: str
    type: TensorType


@dataclass(frozen=True, kw_only=True)
class Op:
    """One operator.

    Attributes:
        kind: Name of the operator in the table of ``ops.py``.
        operands: Names of the tensors it reads; ``""`` where an optional one is absent.
        results: The tensors it defines.
        attrs: Attributes as (name, value) pairs, sorted by name.
        loc: Where it comes from (the ONNX node), for messages; not part of equality.
    """

    kind: str
    operands: tuple[str, ...]
    results: tuple[Value, ...]
    attrs: tuple[tuple[str, Attr], ...] = ()
    loc: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Name of the operator: that of its first result."""
        return self.results[0].name

    @property
    def result(self) -> Value:
        """The first result."""
        return self.results[0]

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Operands that are present, in order, each once."""
        return tuple(dict.fromkeys(filter(None, self.operands)))

    @property
    def touched(self) -> tuple[str, ...]:
        """All that it reads, and then all that it makes, each once."""
        return (*self.inputs, *(value.name for value in self.results))

    def attr(self, name: str, default: Attr | None = None) -> Attr:
        """Return an attribute.

        Raises:
            VerifyError: The attribute is absent and no default is given.
        """
        for key, value in self.attrs:
            if key == name:
                return value
        if default is None:
            raise VerifyError(f"{self.kind} %{self.name} has no attribute {name!r}")
        return default

    def ints(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Return an attribute that is a tuple of integers."""
        value = self.attr(name, default)
        if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
            raise VerifyError(f"{self.kind} %{self.name}: {name!r} must be integers, is {value!r}")
        return tuple(int(item) for item in value)

    def int(self, name: str, default: "int | None" = None) -> "int":
        """Return an attribute that is an integer."""
        value = self.attr(name, default)
        if not isinstance(value, int):
            raise VerifyError(f"{self.kind} %{self.name}: {name!r} must be an integer")
        return value

    def float(self, name: str, default: "float | None" = None) -> "float":
        """Return an attribute that is a number."""
        value = self.attr(name, default)
        if not isinstance(value, float | int):
            raise VerifyError(f"{self.kind} %{self.name}: {name!r} must be a number")
        return float(value)

    def str(self, name: "str", default: "str | None" = None) -> "str":
        """Return an attribute that is text."""
        value = self.attr(name, default)
        if not isinstance(value, str):
            raise VerifyError(f"{self.kind} %{self.name}: {name!r} must be text, is {value!r}")
        return value


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Operators in an order that defines every tensor before it is read.

    Attributes:
        name: Name of the network.
        inputs: Tensors given at run time.
        constants: Tensors whose data lies beside the graph under the same name.
        ops: Operators, each defined before use.
        outputs: Names of the tensors that the network returns.
    """

    name: str
    inputs: tuple[Value, ...]
    constants: tuple[Value, ...]
    ops: tuple[Op, ...]
    outputs: tuple[str, ...]

    @cached_property
    def types(self) -> Mapping[str, TensorType]:
        """Type of every tensor, by name."""
        found = {value.name: value.type for value in (*self.inputs, *self.constants)}
        found.update((value.name, value.type) for op in self.ops for value in op.results)
        return found

    @cached_property
    def producer(self) -> Mapping[str, Op]:
        """The operator that defines a tensor; inputs and constants are absent."""
        return {value.name: op for op in self.ops for value in op.results}

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Op, ...]]:
        """The operators that read a tensor, in order; every tensor is a key."""
        found: dict[str, list[Op]] = {name: [] for name in self.types}
        for op in self.ops:
            for name in op.inputs:
                found[name].append(op)
        return {name: tuple(ops) for name, ops in found.items()}

    @cached_property
    def use_count(self) -> Mapping[str, int]:
        """Number of readers of a tensor; being an output of the network is a use."""
        return {name: len(ops) + self.outputs.count(name) for name, ops in self.consumers.items()}

    @cached_property
    def constant_names(self) -> frozenset[str]:
        """Names of the constants."""
        return frozenset(value.name for value in self.constants)

    def is_constant(self, name: str) -> bool:
        """Whether a tensor is a constant."""
        return name in self.constant_names

    def rewrite(self, rule: Callable[[Op, Mapping[str, Op]], Op | None]) -> "Graph":
        """Replace operators one at a time, in order.

        Args:
            rule: Gets an operator and the (already rewritten) producers; returns the
                replacement, or ``None`` to keep the operator.

        Returns:
            The rewritten graph, or this very object where nothing changed.
        """
        producers: dict[str, Op] = {}
        ops: list[Op] = []
        changed = False
        for op in self.ops:
            new = rule(op, producers) or op
            changed |= new is not op
            ops.append(new)
            producers.update((value.name, new) for value in new.results)
        if not changed:
            return self
        return Graph(
            name=self.name,
            inputs=self.inputs,
            constants=self.constants,
            ops=tuple(ops),
            outputs=self.outputs,
        )

    def verify(self) -> None:
        """Check single assignment, definition before use and types.

        Raises:
            VerifyError: Names the tensor or operator that is wrong.
        """
        for value in self._values:
            _verify_type(value)
        self.verify_uses()
        if not self.outputs:
            raise VerifyError(f"{self.name} has no output")

    @property
    def _values(self) -> Iterator[Value]:
        yield from self.inputs
        yield from self.constants
        for op in self.ops:
            yield from op.results

    def verify_uses(self) -> None:
        """Check single assignment and definition before use.

        Raises:
            VerifyError: Names the tensor or operator that is wrong.
        """
        defined: set[str] = set()
        for value in (*self.inputs, *self.constants):
            _define(value, defined)
        for op in self.ops:
            for name in op.inputs:
                if name not in defined:
                    raise VerifyError(f"%{name} is read by {_title(op)} before it is defined")
            for value in op.results:
                _define(value, defined)
        missing = [name for name in self.outputs if name not in defined]
        if missing:
            raise VerifyError(f"output %{missing[0]} of {self.name} is not defined")


def _define(value: Value, defined: set[str]) -> None:
    if not value.name:
        raise VerifyError("a tensor has an empty name")
    if value.name in defined:
        raise VerifyError(f"%{value.name} is defined twice")
    defined.add(value.name)


def _verify_type(value: Value) -> None:
    try:
        value.type.verify()
    except VerifyError as error:
        raise VerifyError(f"%{value.name}: {error}") from None


def _title(op: Op) -> str:
    return f"{op.kind} %{op.name}" + (f" (from {op.loc})" if op.loc else "")


def eliminate_dead(graph: Graph) -> Graph:
    """Drop operators and constants that no output depends on; inputs remain.

    Returns:
        The smaller graph, or the same object where nothing is dead.
    """
    alive: set[str] = set(graph.outputs)
    ops: list[Op] = []
    for op in reversed(graph.ops):
        if any(value.name in alive for value in op.results):
            ops.append(op)
            alive.update(op.inputs)
    constants = tuple(value for value in graph.constants if value.name in alive)
    if len(ops) == len(graph.ops) and len(constants) == len(graph.constants):
        return graph
    return Graph(
        name=graph.name,
        inputs=graph.inputs,
        constants=constants,
        ops=tuple(reversed(ops)),
        outputs=graph.outputs,
    )


def sorted_attrs(attrs: Iterable[tuple[str, Attr]]) -> tuple[tuple[str, Attr], ...]:
    """Return attributes in the order that ``Op`` keeps them."""
    return tuple(sorted(attrs, key=lambda item: item[0]))
