"""Which rows operators read of their operands, from those of their results that they make.

    rows of y     0 1      2 3      4 5               rows of x -> 3x3 -> y
    read of x     0 1 2    1 2 3 4  3 4 5

Operators of the vector unit that make some rows from some rows can be members of a group; a few
read row by row, just the rows that they make.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from ....ir.graph import Graph, Op
from ....ir.operators.families.moves import joins_channels
from ....ir.operators.image import rows_met
from ....ir.operators.views import window_of
from ....ir.ops import aligned_part, is_aligned, is_mac, operand_types
from ....ir.tiles.graph import Range
from ....ir.types import TensorType
from .chains import tiled_operands

Lines = Mapping[str, Range]
"""Rows, by tensor."""


@dataclass(frozen=True, eq=False)
class SameGraph:
    """A network, the same as another only if it is that one: to compare all parts takes long."""

    graph: Graph

    def __hash__(self) -> int:
        return id(self.graph)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameGraph) and self.graph is other.graph


def row_axis(type: TensorType) -> int:
    """Return the axis of a tensor that its rows are counted along."""
    return max(0, len(type.shape) - 2)


def rows_of(type: TensorType) -> int:
    """Return how many rows a tensor has."""
    return type.shape[row_axis(type)] if type.shape else 1


def rows_read(graph: Graph, op: Op) -> Callable[[Range], Lines]:
    """Return what tells the rows that an operator reads, from those that it makes.

    Args:
        graph: The network.
        op: A convolution, a product, a concatenation, or what :func:`makes_rows`.
    """
    if is_mac(op):
        source, filtered = op.operands[0], _filtered(graph, op)
        return lambda made: {source: filtered(made)}
    if joins_channels(op):
        joined = [name for name in op.operands if has_lines(graph, op, name)]
        return lambda made: dict.fromkeys(joined, made)
    part, axis = aligned_part(op, operand_types(op, graph.types)), row_axis(op.result.type)
    reads = [
        (op.operands[read.operand], read.axes[axis], read.view.shape[axis])
        for read in part.reads
        if has_lines(graph, op, op.operands[read.operand])
    ]

    def aligned(made: Range) -> Lines:
        found: dict[str, Range] = {}
        for name, rows, extent in reads:
            found[name] = union(found.get(name), rows.range(made, extent))
        return found

    return aligned


def makes_rows(graph: Graph, op: Op) -> bool:
    """Whether an operator of the vector unit makes some rows of its result from some of operands.

    Pools, operators of one element, reductions along columns or channels and reshapes do, but not
    what reduces all rows to one.

    Args:
        graph: The network.
        op: The operator.
    """
    types = operand_types(op, graph.types)
    if not is_aligned(op, types):
        return False
    rank, rows = len(op.result.type.shape), rows_of(op.result.type)
    alike = (type for type in types if type is not None and len(type.shape) == rank)
    return rows > 1 or all(rows_of(type) == 1 for type in alike)


def has_lines(graph: Graph, op: Op, name: str) -> bool:
    """Whether an operator reads rows of an operand: an activation with as many axes as its result.

    Vectors along columns, say, are fetched as the tiles need them, and so is what a reshape reads.
    Weights, if they are computed, are read all of them for every row.

    Args:
        graph: The network.
        op: The operator.
        name: The operand.
    """
    ranks = (len(graph.types[name].shape), len(op.result.type.shape))
    is_alike = ranks[0] == ranks[1] and op.kind != "reshape"
    return name in activations(op) and not graph.is_constant(name) and (is_mac(op) or is_alike)


def activations(op: Op) -> tuple[str, ...]:
    """Return the operands of an operator that are no weights, biases or tables.

    Args:
        op: The operator.
    """
    return tuple(filter(None, op.operands[:1] if is_mac(op) else tiled_operands(op)))


def reads_lines(graph: Graph, op: Op) -> tuple[str, ...]:
    """Return the operands that an operator reads in lines.

    Args:
        graph: The network.
        op: The operator.
    """
    return tuple(name for name in activations(op) if has_lines(graph, op, name))


def read_row_by_row(graph: Graph, ops: Sequence[Op], names: Iterable[str]) -> frozenset[str]:
    """Return which of some tensors all operators that read them read row by row.

    Args:
        graph: The network.
        ops: The operators.
        names: The tensors.
    """
    return frozenset(
        name
        for name in names
        if all(reads_row_by_row(graph, op, name) for op in ops if name in op.inputs)
    )


def reads_row_by_row(graph: Graph, op: Op, name: str) -> bool:
    """Whether an operator reads, of one of its operands, for every row just this row.

    Args:
        graph: The network.
        op: The operator.
        name: The operand.
    """
    rows = rows_of(graph.types[name])
    if rows != rows_of(op.result.type) or len(graph.types[name].shape) != len(op.result.type.shape):
        return False
    read, at = rows_read_of(SameGraph(graph), op.name), (Range(0, 1), Range(rows - 1, rows))
    return all(read(row).get(name) == row for row in at)


def _filtered(graph: Graph, op: Op) -> Callable[[Range], Range]:
    """Return what tells the rows of its input that an operator of the MAC array reads."""
    if op.kind == "dense":
        return lambda made: made
    extent = rows_of(graph.types[op.operands[0]])
    window, taps = window_of(op, (1, 1)), Range(0, graph.types[op.operands[1]].shape[2])

    def filtered(made: Range) -> Range:
        met = rows_met(window, 0, made, taps, extent)
        return Range(met.start, met.stop)

    return filtered


@lru_cache(maxsize=1024)
def rows_read_of(seen: SameGraph, name: str) -> Callable[[Range], Lines]:
    """Return what tells the rows that an operator reads; of all groups, many ask for the same.

    Args:
        seen: The network.
        name: Of the operator.
    """
    return cache(rows_read(seen.graph, seen.graph.producer[name]))


def union(first: Range | None, second: Range) -> Range:
    """Return the rows from the first one of two ranges to the last one.

    Args:
        first: Rows, if there are any.
        second: Other rows.
    """
    if first is None:
        return Range(second.start, second.stop)
    return Range(min(first.start, second.start), max(first.stop, second.stop))
