"""The network as its plan sees it: every group of operators as one operator."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

from .errors import VerifyError
from .graph import Attr, Graph, Op, sorted_attrs
from .graph_schedule import Group
from .ops import parameters_of, weights_of

GROUP = "group"
"""The kind of an operator that stands for several."""

_PARAMETERS, _WEIGHTS = "parameters", "weights"
"""Its attributes that name what members read beside the lines, and that is computed."""


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
    attrs: dict[str, Attr] = {"members": members, "rows": group.rows}
    for key, named in ((_PARAMETERS, parameters_of), (_WEIGHTS, weights_of)):
        names = dict.fromkeys(name for op in ops for name in named(op))
        computed = tuple(name for name in names if not graph.is_constant(name))
        attrs |= {key: computed} if computed else {}
    return Op(
        kind=GROUP,
        operands=tuple(read),
        results=ops[-1].results,
        attrs=sorted_attrs(attrs.items()),
        loc=ops[-1].loc,
    )


def group_of(op: Op) -> Group | None:
    """Return the group that an operator stands for, ``None`` where it stands for itself."""
    if op.kind != GROUP:
        return None
    members = op.attr("members")
    assert isinstance(members, tuple)
    return Group(members=tuple(str(name) for name in members), rows=op.int("rows"))


def weights_of_group(op: Op) -> tuple[str, ...]:
    """Return the computed tensors that members of a group read as weights.

    Args:
        op: What stands for the group.
    """
    return _names(op, _WEIGHTS)


def parameters_of_group(op: Op) -> tuple[str, ...]:
    """Return the computed biases and tables that members of a group read.

    Args:
        op: What stands for the group.
    """
    return _names(op, _PARAMETERS)


def _names(op: Op, key: str) -> tuple[str, ...]:
    names = op.attr(key, ())
    assert isinstance(names, tuple)
    return tuple(map(str, names))


def _operator(graph: Graph, name: str) -> Op:
    op = graph.producer.get(name)
    if op is None or op.name != name:
        raise VerifyError(f"%{name}, a member of a group, is no operator of {graph.name}")
    return op


def identity_of(op: Op) -> Hashable:
    """Return what tells an operator, or the group that it stands for, from all others."""
    return op.name if op.kind != GROUP else op.attrs
