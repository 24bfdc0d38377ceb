"""The network as its plan sees it: every group of operators as one operator."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

from .errors import VerifyError
from .graph import Graph, Op
from .graph_schedule import Group

GROUP = "group"
"""The kind of an operator that stands for several."""


def contracted(graph: Graph, groups: Sequence[Group]) -> Graph:
    """Return the graph with one operator in the place of the last member of each group.

    Args:
        graph: The network.
        groups: Disjoint groups.

    Raises:
        VerifyError: A group names what is no operator, somebody else reads what its members hand
            to each other, or they need the result of somebody who needs theirs.
    """
    if not groups:
        return graph
    inside = {member for group in groups for member in group.members}
    joined = {group.name: group_op(graph, group) for group in groups}
    ops = tuple(
        joined.get(op.name, op) for op in graph.ops if op.name in joined or op.name not in inside
    )
    found = replace(graph, ops=ops)
    found.verify_uses()
    return found


def group_op(graph: Graph, group: Group) -> Op:
    """Return the operator that stands for a group: it reads what comes from outside.

    Args:
        graph: The network.
        group: The group.

    Raises:
        VerifyError: A member is no operator, or its result is read outside.
    """
    members = group.members
    ops = [_operator(graph, name) for name in members]
    made = {value.name for op in ops for value in op.results}
    for op in ops[:-1]:
        readers = {reader.name for reader in graph.consumers[op.name]}
        if op.name in graph.outputs or not readers <= set(members):
            raise VerifyError(f"%{op.name} is read outside of group %{members[-1]}")
    read = dict.fromkeys(name for op in ops for name in op.inputs if name not in made)
    return Op(
        kind=GROUP,
        operands=tuple(read),
        results=ops[-1].results,
        attrs=(("members", members), ("rows", group.rows)),
        loc=ops[-1].loc,
    )


def group_of(op: Op) -> Group | None:
    """Return the group that an operator stands for, ``None`` where it stands for itself."""
    if op.kind != GROUP:
        return None
    members = op.attr("members")
    assert isinstance(members, tuple)
    return Group(members=tuple(str(name) for name in members), rows=op.int("rows"))


def _operator(graph: Graph, name: str) -> Op:
    op = graph.producer.get(name)
    if op is None or op.name != name:
        raise VerifyError(f"%{name}, a member of a group, is no operator of {graph.name}")
    return op


def identity_of(op: Op) -> Hashable:
    """Return what tells an operator, or the group that it stands for, from all others."""
    return op.name if op.kind != GROUP else op.attrs
