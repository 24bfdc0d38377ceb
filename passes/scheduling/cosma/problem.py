"""What COSMA decides on: tensors, operators with their menus, and a budget.

A *menu* lists the ways to execute an operator: which of its tensors are resident, which are
streamed in tiles and at what off-chip traffic, and how much workspace that takes. The paper's
model is the menu with one entry: everything resident, nothing streamed, no workspace.

Deviation: the result of an operator of one element may be written in the place of an operand that
nobody reads later, so that both take the room of one.

Tensors and operators are numbered; the numbers index the tuples of :class:`PlanProblem`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from ....ir.errors import InfeasibleError, Shortage, VerifyError
from ....ir.graph import Graph, Op


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor that takes room in the scratchpad.

    Attributes:
        name: Its name in the graph.
        bytes: Its size [byte].
        on_host: Whether it is off chip at the start (a network input or a constant).
        is_output: Whether it has to be off chip at the end; its store is compulsory.
        is_constant: Whether it is a constant of the graph.
    """

    name: str
    bytes: int
    on_host: bool = False
    is_output: bool = False
    is_constant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to execute an operator.

    Attributes:
        streamed: (tensor, off-chip bytes) of what passes in tiles; all else is resident.
        workspace: Room for the tiles [byte].
        constant_bytes: Off-chip bytes of constants that pass in tiles and are no tensors of
            the problem [byte].
        delay: Cost beside off-chip bytes: what the cycles that the operator takes beyond its
            transfers are worth [byte].
    """

    streamed: tuple[tuple[int, int], ...] = ()
    workspace: int = 0
    constant_bytes: int = 0
    delay: int = 0


ALL_RESIDENT: tuple[Option, ...] = (Option(),)
"""The menu of the paper."""

Menu: TypeAlias = Callable[[Op, Mapping[str, int]], tuple[Option, ...]]
"""Gives an operator's menu; the mapping numbers the tensors of the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operator: what it reads and writes, and its menu.

    Attributes:
        name: Its name in the graph.
        reads: The tensors that it reads.
        writes: The tensors that it writes.
        menu: The ways to execute it.
        replaces: Tensors that it reads last, and of which one gives its place to the result where
            both are resident; they are as large as the result.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    menu: tuple[Option, ...] = ALL_RESIDENT
    replaces: tuple[int, ...] = ()

    @property
    def touches(self) -> tuple[int, ...]:
        """Everything it reads or writes."""
        return (*self.reads, *self.writes)

    def replaced(self, option: Option) -> int | None:
        """Return the tensor in whose place the result is written, if an option has such a one."""
        streamed = {tensor for tensor, _ in option.streamed}
        if streamed & set(self.writes):
            return None
        return next((tensor for tensor in self.replaces if tensor not in streamed), None)


@dataclass(frozen=True, kw_only=True)
class PlanProblem:
    """Order these operators and keep their tensors within the budget.

    Attributes:
        name: What it is, for messages.
        tensors: The tensors.
        operations: The operators, in an order that respects dependences.
        budget: Size of the scratchpad [byte].
        is_ordered: Whether the operators run in the order in which they stand, eq. (16).
    """

    name: str
    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    budget: int
    is_ordered: bool = False

    @cached_property
    def producer(self) -> tuple[int | None, ...]:
        """The operator that writes each tensor, ``None`` for what starts off chip."""
        found: list[int | None] = [None] * len(self.tensors)
        for index, operation in enumerate(self.operations):
            for tensor in operation.writes:
                found[tensor] = index
        return tuple(found)

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """The operators that read each tensor."""
        found: list[list[int]] = [[] for _ in self.tensors]
        for index, operation in enumerate(self.operations):
            for tensor in operation.reads:
                found[tensor].append(index)
        return tuple(tuple(items) for items in found)

    @cached_property
    def predecessors(self) -> tuple[frozenset[int], ...]:
        """The operators that each operator reads from; where there is one order, also the last."""
        found = [
            {source for tensor in item.reads if (source := self.producer[tensor]) is not None}
            for item in self.operations
        ]
        for index in range(1, len(found) if self.is_ordered else 0):
            found[index].add(index - 1)
        return tuple(map(frozenset, found))

    @cached_property
    def compulsory(self) -> int:
        """Bytes that every plan with everything resident moves [byte]."""
        read = (
            t.bytes
            for t, users in zip(self.tensors, self.consumers, strict=True)
            if t.on_host and users
        )
        stored = (t.bytes for t in self.tensors if t.is_output and not t.on_host)
        return sum(read) + sum(stored)

    @cached_property
    def minimum(self) -> int:
        """``M_R``: the least budget at which every operator runs fully resident [byte]."""
        return max(self.footprint(index, Option()) for index in range(len(self.operations)))

    def always_streamed(self, operation: int) -> frozenset[int]:
        """Return the tensors that an operator streams whatever it chooses of its menu."""
        menu = self.operations[operation].menu
        streamed = [frozenset(tensor for tensor, _ in option.streamed) for option in menu]
        return streamed[0].intersection(*streamed) if streamed else frozenset()

    def footprint(self, operation: int, option: Option) -> int:
        """Return the room that an operator takes by itself [byte]."""
        streamed = {tensor for tensor, _ in option.streamed}
        touched = set(self.operations[operation].touches) - streamed
        whole = sum(self.tensors[tensor].bytes for tensor in touched)
        return option.workspace + whole - self._saved(operation, option)

    def held(self, operation: int, option: Option) -> int:
        """Return the room of a step beside its shared tensors: private ones, workspace [byte].

        It is less where the result takes the place of a shared tensor, down to below zero.
        """
        streamed = {tensor for tensor, _ in option.streamed}
        resident = set(self.operations[operation].touches) - streamed
        own = sum(self.tensors[tensor].bytes for tensor in resident if self.is_private(tensor))
        return own + option.workspace - self._saved(operation, option)

    def _saved(self, operation: int, option: Option) -> int:
        """Return the room that a result saves in the place of an operand [byte]."""
        replaced = self.operations[operation].replaced(option)
        return 0 if replaced is None else self.tensors[replaced].bytes

    def step_cost(self, operation: int, option: Option) -> int:
        """Return the cost of a step beside fetches and spills of shared tensors.

        It is loads of private tensors, stores of outputs, what passes in tiles, and delay [byte].
        """
        streamed = {tensor for tensor, _ in option.streamed}
        item = self.operations[operation]
        loads = [t for t in dict.fromkeys(item.reads) if t not in streamed and self.is_private(t)]
        stores = [t for t in item.writes if t not in streamed and self.tensors[t].is_output]
        whole = sum(self.tensors[tensor].bytes for tensor in (*loads, *stores))
        passing = sum(cost for _, cost in option.streamed)
        return whole + passing + option.constant_bytes + option.delay

    def is_private(self, tensor: int) -> bool:
        """Whether a tensor matters to one operator only, and so never has to wait for another."""
        if self.tensors[tensor].on_host:
            return len(self.consumers[tensor]) <= 1
        return not self.consumers[tensor]

    def with_reserves(self, reserves: Sequence[int]) -> "PlanProblem":
        """Return the problem in which operators leave a part of the budget free.

        Their workspaces are larger by it. Where no option leaves so much, the one that takes least
        leaves what it can.

        Args:
            reserves: What each operator leaves free [byte].
        """
        operations = tuple(
            replace(operation, menu=tuple(self._reserved(index, reserves[index])))
            for index, operation in enumerate(self.operations)
        )
        return replace(self, operations=operations)

    def _reserved(self, index: int, reserve: int) -> Iterator[Option]:
        menu = self.operations[index].menu
        takes = [self.footprint(index, option) for option in menu]
        least = min(takes, default=0)
        for option, taken in zip(menu, takes, strict=True):
            left = min(reserve, max(0, self.budget - taken)) if taken == least else reserve
            yield replace(option, workspace=option.workspace + left)

    def restrict_menus(self) -> "PlanProblem":
        """Return the problem without the options that do not fit the budget by themselves.

        Raises:
            InfeasibleError: An operator has no option left.
        """
        operations = tuple(
            replace(operation, menu=self._fitting(index))
            for index, operation in enumerate(self.operations)
        )
        return replace(self, operations=operations)

    def _fitting(self, index: int) -> tuple[Option, ...]:
        operation = self.operations[index]
        fitting = tuple(
            option for option in operation.menu if self.footprint(index, option) <= self.budget
        )
        if fitting:
            return fitting
        if not operation.menu:
            raise InfeasibleError(
                f"%{operation.name} does not fit {self.budget} byte: not one tile of its operands",
                hint="give a larger budget",
            )
        least = min(operation.menu, key=lambda option: self.footprint(index, option))
        apart = {tensor for tensor, _ in least.streamed} | {operation.replaced(least)}
        terms = [
            (self.tensors[tensor].name, self.tensors[tensor].bytes)
            for tensor in dict.fromkeys(operation.touches)
            if tensor not in apart
        ]
        if least.workspace:
            terms.append(("workspace", least.workspace))
        raise InfeasibleError(
            f"%{operation.name} does not fit",
            shortage=Shortage(
                resource="scratchpad",
                demand=self.footprint(index, least),
                capacity=self.budget,
                terms=tuple(terms),
            ),
            hint="give a larger budget, or let its operands be streamed",
        )

    def verify(self) -> None:
        """Check sizes, definition before use, and menus.

        Raises:
            VerifyError: Names the tensor or operator.
        """
        defined = {index for index, tensor in enumerate(self.tensors) if tensor.on_host}
        for operation in self.operations:
            for tensor in operation.reads:
                if tensor not in defined:
                    raise VerifyError(
                        f"%{operation.name} reads %{self.tensors[tensor].name} too early"
                    )
            defined.update(operation.writes)
            for option in operation.menu:
                if {tensor for tensor, _ in option.streamed} - set(operation.touches):
                    raise VerifyError(f"%{operation.name} streams what it does not touch")
            self._verify_replaces(operation)
            if not operation.menu:
                raise VerifyError(f"%{operation.name} has an empty menu")

    def _verify_replaces(self, operation: Operation) -> None:
        sizes = {self.tensors[tensor].bytes for tensor in (*operation.replaces, *operation.writes)}
        if not set(operation.replaces) <= set(operation.reads):
            raise VerifyError(f"%{operation.name} replaces what it does not read")
        if operation.replaces and (len(operation.writes) > 1 or len(sizes) > 1):
            raise VerifyError(f"%{operation.name} replaces what is not as large as its one result")


def problem_of(
    graph: Graph,
    budget: int,
    *,
    include_parameters: bool = False,
    menu: Menu | None = None,
    replaced: Mapping[str, tuple[str, ...]] | None = None,
) -> PlanProblem:
    """Return the problem of a graph.

    Args:
        graph: The network.
        budget: Size of the scratchpad [byte].
        include_parameters: Whether constants are tensors too, resident while their operators
            run. A constant that one operator reads is loaded for it and dropped after it.
        menu: Gives each operator's menu; ``None`` is the paper's, everything resident.
        replaced: By operator, the tensors of which one may give its place to the result.
    """
    tensors = _tensors(graph, include_parameters)
    number = {tensor.name: index for index, tensor in enumerate(tensors)}
    operations = tuple(
        Operation(
            name=op.name,
            reads=tuple(number[name] for name in op.inputs if name in number),
            writes=tuple(number[value.name] for value in op.results),
            menu=ALL_RESIDENT if menu is None else menu(op, number),
            replaces=tuple(number[name] for name in (replaced or {}).get(op.name, ())),
        )
        for op in graph.ops
    )
    return PlanProblem(name=graph.name, tensors=tensors, operations=operations, budget=budget)


def _tensors(graph: Graph, include_parameters: bool) -> tuple[Tensor, ...]:
    def make(names: Iterable[str], *, on_host: bool, is_constant: bool = False) -> list[Tensor]:
        return [
            Tensor(
                name=name,
                bytes=graph.types[name].bytes,
                on_host=on_host,
                is_output=name in outputs and not on_host,
                is_constant=is_constant,
            )
            for name in names
        ]

    outputs = frozenset(graph.outputs)
    read = [value.name for value in graph.inputs if graph.consumers[value.name]]
    constants = [value.name for value in graph.constants if graph.consumers[value.name]]
    results = [value.name for op in graph.ops for value in op.results]
    tensors = make(read, on_host=True)
    if include_parameters:
        tensors += make(constants, on_host=True, is_constant=True)
    return tuple(tensors + make(results, on_host=False))
