"""Fold all axes but the last one into rows, where that saves reshapes.

::

    %a = dense(%x, %v) : s8<6x8>                           %a = dense(%x, %v) : s8<6x8>
    %b = reshape(%a) {shape = [1, 6, 8]} : s8<1x6x8>       %c = add(%a, %a) : s8<6x8>
    %c = add(%b, %b) : s8<1x6x8>                    ->     %y = dense(%c, %w) : s8<6x8>
    %d = reshape(%c) {shape = [6, 8]} : s8<6x8>
    %y = dense(%d, %w) : s8<6x8>

Products have matrices, and what stands between them often has more axes. Operators of one element,
reductions along the last axis and slices of that compute the same on the matrix of all rows. Those
that hand tensors to each other are folded together, if their reshapes move fewer bytes then; what
is at their borders and would need more is left out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from ...ir.graph import Attr, Graph, Op, Value, sorted_attrs
from ...ir.module import Module, Stage
from ...ir.operators.families.elementwise import ONE_ELEMENT
from ...ir.operators.spec import Family
from ...ir.ops import spec_of
from ...ir.types import TensorType
from ..base import Context, Pass
from .growth import Growth
from .substitute import rewritten


@dataclass(frozen=True)
class FoldAxes(Pass):
    """Compute on matrices what reshapes make matrices of, or made of them."""

    name: ClassVar[str] = "fold-axes"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with fewer reshapes; results keep their names."""
        islands = _Islands(module.graph)
        folded = frozenset(op.name for ops in islands.worthwhile() for op in ops)
        if not folded:
            return module
        ctx.counters.add("operators folded", len(folded))
        found = _Rewriting(module.graph, folded).module(module)
        return rewritten(found, found.graph)


def _rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a tensor with all axes but the last one as one."""
    return math.prod(shape[:-1]), shape[-1]


def _tiled(op: Op) -> tuple[str, ...]:
    """Return the operands that lie along the axes of the result."""
    return tuple(name for name in op.operands[: spec_of(op).parameters] if name)


def _whole(graph: Graph, op: Op) -> Iterator[str]:
    """Yield the operands that have all rows of the result."""
    rank = len(op.result.type.shape)
    rows = op.result.type.shape[:-1]
    return (name for name in _tiled(op) if _before_last(graph.types[name].shape, rank) == rows)


def _before_last(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Return the extents of all axes but the last one, broadcast to more axes."""
    return (1,) * (rank - max(1, len(shape))) + shape[:-1]


def _is_foldable(graph: Graph, op: Op) -> bool:
    """Whether an operator computes the same on the matrix of all rows."""
    shape, family = op.result.type.shape, spec_of(op).family
    if len(shape) < 3 or any(_has_scales(graph.types[name]) for name in (*_tiled(op), op.name)):
        return False
    if family is Family.REDUCTION:
        return op.int("axis") == len(shape) - 1
    if op.kind == "slice":
        steps, source = op.ints("steps")[:-1], graph.types[op.operands[0]].shape
        return source[:-1] == shape[:-1] and all(step == 1 for step in steps)
    whole = frozenset(_whole(graph, op))
    others = (graph.types[name].shape for name in _tiled(op) if name not in whole)
    return family in ONE_ELEMENT and all(math.prod(other[:-1]) == 1 for other in others)


def _has_scales(type: TensorType) -> bool:
    """Whether a tensor has a scale for each index of an axis."""
    return type.quant is not None and type.quant.axis is not None


def _attrs(op: Op) -> dict[str, Attr]:
    """Return the attributes that an operator has on matrices instead of its own."""
    if spec_of(op).family is Family.REDUCTION:
        return {"axis": 1}
    if op.kind == "slice":
        starts, steps = op.ints("starts"), op.ints("steps")
        shape = _rows(op.result.type.shape)
        return {"starts": (0, starts[-1]), "steps": (1, steps[-1]), "shape": shape}
    return {}


@dataclass
class _Islands:
    """Operators that can be folded, those together that hand tensors to each other."""

    graph: Graph

    def worthwhile(self) -> Iterator[tuple[Op, ...]]:
        """Yield the islands with which reshapes move less, without what is better left out."""
        for island in self._apart(self._ops):
            for part in self._apart(self._shrunk(island)):
                if self._saved({op.name for op in part}) > 0:
                    yield part

    @cached_property
    def _ops(self) -> tuple[Op, ...]:
        return tuple(op for op in self.graph.ops if _is_foldable(self.graph, op))

    def _apart(self, ops: Sequence[Op]) -> tuple[tuple[Op, ...], ...]:
        """Return operators in islands, none of which shares a tensor with another one."""
        above: dict[str, str] = {}

        def root(name: str) -> str:
            while above.get(name, name) != name:
                name = above[name]
            return name

        for op in ops:
            for name in _whole(self.graph, op):
                if not self.graph.is_constant(name):
                    above[root(name)] = root(op.name)
        islands: dict[str, list[Op]] = {}
        for op in ops:
            islands.setdefault(root(op.name), []).append(op)
        return tuple(map(tuple, islands.values()))

    def _shrunk(self, island: Sequence[Op]) -> tuple[Op, ...]:
        """Return an island without operators at its borders that cost more than they save."""
        inside = {op.name for op in island}
        is_smaller = True
        while is_smaller:
            before = len(inside)
            for op in (*island, *reversed(island)):
                near = {*_tiled(op), op.name}
                if op.name in inside and self._saved(inside - {op.name}, near) > self._saved(
                    inside, near
                ):
                    inside.discard(op.name)
            is_smaller = len(inside) < before
        return tuple(op for op in island if op.name in inside)

    def _saved(self, inside: set[str], near: set[str] | None = None) -> int:
        """Return how many bytes less are reshaped if some operators are folded.

        Args:
            inside: Their results.
            near: The tensors that count; all by default.
        """
        if near is None:
            near = {name for made in inside for name in (made, *_tiled(self.graph.producer[made]))}
        return sum(self._saved_at(name, inside) for name in near)

    def _saved_at(self, name: str, inside: set[str]) -> int:
        if name in inside:
            return self._saved_behind(self.graph.producer[name], inside)
        is_read = any(item.name in inside for item in self.graph.consumers[name])
        return self._saved_before(name, inside) if is_read else 0

    def _saved_before(self, name: str, inside: set[str]) -> int:
        """Return what is saved by an operand that is made elsewhere; constants cost nothing."""
        type, producer = self.graph.types[name], self.graph.producer.get(name)
        if self.graph.is_constant(name) or len(type.shape) < 3:
            return 0
        if producer is None or producer.kind != "reshape":
            return -type.bytes
        is_matrix = self.graph.types[producer.operands[0]].shape == _rows(type.shape)
        goes = name not in self.graph.outputs and all(
            reader.name in inside for reader in self.graph.consumers[name]
        )
        return type.bytes * (is_matrix + goes - 1)

    def _saved_behind(self, op: Op, inside: set[str]) -> int:
        """Return what is saved by a result, which may be read elsewhere.

        Reshapes of it to a matrix go, but for outputs of the network: these are copied.
        """
        type = op.result.type
        readers = [item for item in self.graph.consumers[op.name] if item.name not in inside]
        reshapes = [item for item in readers if item.kind == "reshape"]
        gone = sum(
            item.result.type.shape == _rows(type.shape) and item.name not in self.graph.outputs
            for item in reshapes
        )
        is_unfolded = op.name in self.graph.outputs or len(reshapes) < len(readers)
        return type.bytes * (gone - is_unfolded)


@dataclass
class _Rewriting:
    """The graph in the making; local to one run.

    Attributes:
        graph: Before.
        folded: Results of the operators that are folded.
    """

    graph: Graph
    folded: frozenset[str]
    _matrices: dict[str, str] = field(default_factory=dict[str, str])
    _unfolded: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._growth = Growth.of(self.graph)

    def module(self, module: Module) -> Module:
        """Return the module with the new graph."""
        for op in self.graph.ops:
            if op.name in self.folded:
                self._fold(op)
            else:
                is_reshape = op.kind == "reshape"
                read = tuple(self._matrix_or_whole(op, name, is_reshape) for name in op.operands)
                self._growth.ops.append(replace(op, operands=read))
        return self._growth.module(module)

    def _fold(self, op: Op) -> None:
        """Add an operator on matrices; an output of the network gets its shape back."""
        tiled = len(_tiled(op))
        read = tuple(self._matrix(op, name) for name in op.operands[:tiled])
        is_output = op.name in self.graph.outputs
        name = self._growth.namer.fresh(f"{op.name}.rows") if is_output else op.name
        type = replace(op.result.type, shape=_rows(op.result.type.shape))
        self._growth.types[name] = type
        self._growth.ops.append(
            replace(
                op,
                operands=(*read, *op.operands[tiled:]),
                results=(Value(name, type),),
                attrs=sorted_attrs((dict(op.attrs) | _attrs(op)).items()),
            )
        )
        self._matrices[op.name] = name
        if is_output:
            self._reshaped(op, name, op.result.type.shape, "")
            self._growth.end(op)
            self._unfolded[op.name] = op.name

    def _matrix(self, reader: Op, name: str) -> str:
        """Return a tensor as a matrix, or as what broadcasts to one."""
        shape = self.graph.types[name].shape
        if name not in self._matrices:
            producer = self.graph.producer.get(name)
            source = name
            if producer is not None and producer.kind == "reshape" and len(shape) > 2:
                source = self._matrix_or_whole(producer, producer.operands[0], True)
            is_matrix = len(shape) < 3 or self._growth.types[source].shape == _rows(shape)
            self._matrices[name] = (
                source if is_matrix else self._reshaped(reader, source, _rows(shape), "rows")
            )
        return self._matrices[name]

    def _matrix_or_whole(self, reader: Op, name: str, is_reshape: bool) -> str:
        """Return what an operator reads that is not folded; a reshape may read a matrix."""
        if name not in self.folded:
            return name
        if is_reshape:
            return self._matrices[name]
        if name not in self._unfolded:
            shape = self.graph.types[name].shape
            self._unfolded[name] = self._reshaped(reader, self._matrices[name], shape, "whole")
        return self._unfolded[name]

    def _reshaped(self, source: Op, name: str, shape: tuple[int, ...], label: str) -> str:
        return self._growth.add(source, "reshape", (name,), label=label, shape=shape)
