"""Operators that can finish the tiles of the operator of the MAC array before them.

    conv -> add(other) -> lookup      ->      group [conv, add, lookup]

Residual additions, scales, activations, tables, conversions and pools whose windows do not overlap
then work on tiles that are on chip anyway.
"""

from collections.abc import Iterable, Sequence

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import Group
from ....ir.ops import is_mac, parameters_of, weights_of
from ....ir.workload import Operand
from ...tiling.groups.chains import follows
from ...tiling.groups.rows import has_lines


def epilogues(graph: Graph, arch: Architecture) -> tuple[Group, ...]:
    """Return a group for each operator of the MAC array that others can follow.

    Args:
        graph: The network.
        arch: The machine.
    """
    found: list[Group] = []
    taken: set[str] = set()
    for op in graph.ops:
        members = _followed(graph, op, taken) if can_join(graph, op, arch) else ()
        if len(members) > 1 and is_group(graph, Group(members=members)):
            found.append(Group(members=members))
            taken.update(members)
    return tuple(found)


def _followed(graph: Graph, op: Op, taken: set[str]) -> tuple[str, ...]:
    """Return an operator and those that follow it, one after the other."""
    chain = [op]
    readers = graph.consumers[op.name]
    while len(readers) == 1 and readers[0].name not in taken and follows(graph, chain, readers[0]):
        chain.append(readers[0])
        readers = graph.consumers[readers[0].name]
    return tuple(member.name for member in chain)


def can_join(graph: Graph, op: Op, arch: Architecture) -> bool:
    """Whether an operator of the MAC array can be a member of a group.

    Of images its channels must be all of one group, or one of each. Its bias must be a constant,
    and what it multiplies weights with none: constants come tile by tile and have no lines.

    Args:
        graph: The network.
        op: The operator.
        arch: The machine.
    """
    if not is_mac(op) or not all(map(graph.is_constant, parameters_of(op))):
        return False
    if graph.is_constant(op.operands[0]):
        return False
    groups = op.int("groups", 1) if op.kind == "conv2d" else 1
    ends = graph.types[op.operands[0]], op.result.type
    is_split = groups == 1 or all(item.shape[1] == groups for item in ends)
    return is_split and Operand.I in arch.scratchpad_level.holds


def is_group(graph: Graph, group: Group) -> bool:
    """Whether a group can stand in a plan, as can all groups of the same order beside it.

    Members follow each other in some order of the network: so all that they read is made before
    them, whichever other groups there are. What they hand to each other they read row by row.

    Args:
        graph: The network.
        group: Members in execution order, each of which shares a tensor with others.
    """
    ops = [graph.producer[name] for name in group.members]
    has_one = all(len(op.results) == 1 for op in ops)
    return has_one and _hang_together(graph, ops) and hand_on_rows(graph, group.members)


def _hang_together(graph: Graph, ops: Iterable[Op]) -> bool:
    """Whether operators are joined by what they read and make, constants left out."""
    parts: list[set[str]] = []
    for op in ops:
        part = {op.name, *(name for name in op.inputs if not graph.is_constant(name))}
        apart = [other for other in parts if part.isdisjoint(other)]
        parts = [*apart, part.union(*(other for other in parts if other not in apart))]
    return len(parts) == 1


def hand_on_rows(graph: Graph, members: Sequence[str]) -> bool:
    """Whether operators read what they make for each other row by row, not along other axes.

    Weights are read whole for every row, so they must be made before.

    Args:
        graph: The network.
        members: Their names.
    """
    made = frozenset(members)
    ops = map(graph.producer.__getitem__, members)
    handed_on = ((op, name) for op in ops for name in op.inputs if name in made)
    return all(has_lines(graph, op, name) and name not in weights_of(op) for op, name in handed_on)
