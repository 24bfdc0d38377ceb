"""Which operands the result of an operator, or of a group, may take the place of."""

from collections.abc import Iterator, Mapping

from .graph import Graph, Op
from .groups import group_of
from .operators.families.elementwise import ONE_ELEMENT
from .ops import OPS
from .types import TensorType


def replaceable(graph: Graph, op: Op) -> tuple[str, ...]:
    """Return the operands that the result may be written over, if nobody needs them any more.

    Whatever makes an element of the result has then read that element of the operand, which nothing
    else of a group reads. Both have the same shape, and elements of the same size.

    Args:
        graph: The network.
        op: One of its operators, or one that stands for a group.
    """
    group = group_of(op)
    names = (op.name,) if group is None else group.members
    members = {name: graph.producer[name] for name in names}
    if len(op.results) > 1:
        return ()
    found = _read_as_it_is_made(graph, op, members)
    return tuple(
        name
        for name in dict.fromkeys(found)
        if sum(name in item.inputs for item in members.values()) == 1
    )


def _read_as_it_is_made(graph: Graph, op: Op, members: Mapping[str, Op]) -> Iterator[str]:
    """Yield what comes from outside and is read element by element as the result is made."""
    made, last = op.result.type, members[op.name]
    while last.kind in OPS and OPS[last.kind].family in ONE_ELEMENT:
        alike = [
            name
            for name in filter(None, last.operands[: OPS[last.kind].parameters])
            if _is_laid_out_like(graph.types[name], made)
        ]
        yield from (name for name in alike if name not in members and not graph.is_constant(name))
        inside = [name for name in alike if name in members]
        if len(inside) != 1:
            return
        last = members[inside[0]]


def _is_laid_out_like(type: TensorType, other: TensorType) -> bool:
    """Whether the same elements of two tensors lie at the same distance from their first bytes."""
    return type.shape == other.shape and type.dtype.bytes == other.dtype.bytes
