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

    Who reads another result of a group, and stood before that place, stands behind it.

    Args:
        graph: The network.
        groups: Disjoint groups.

    Raises:
        VerifyError: A group names what is no operator, or its members need the result of somebody
            who needs theirs.
    """
    if not groups:
        return graph
    inside = {member for group in groups for member in group.members}
    joined = {group.name: group_op(graph, group) for group in groups}
    ops = [
        joined.get(op.name, op) for op in graph.ops if op.name in joined or op.name not in inside
    ]
    found = replace(graph, ops=_defined_before_use(ops))
    found.verify_uses()
    return found


def _defined_before_use(ops: Sequence[Op]) -> tuple[Op, ...]:
    """Return operators in their order, but for those that wait for what they read."""
    missing = {value.name for op in ops for value in op.results}
    found: list[Op] = []
    waiting: list[Op] = []

    def add(op: Op) -> None:
        if not missing.isdisjoint(op.inputs):
            waiting.append(op)
            return
        found.append(op)
        missing.difference_update(value.name for value in op.results)
        again = waiting[:]
        waiting.clear()
        for item in again:
            add(item)

    for op in ops:
        add(op)
    return (*found, *waiting)


def group_op(graph: Graph, group: Group) -> Op:
    """Return the operator that stands for a group: it reads what comes from outside.

    Its results are the last one of the group, and then what else is read outside.

    Args:
        graph: The network.
        group: The group.

    Raises:
        VerifyError: A member is no operator.
    """
    members = group.members
    ops = [_operator(graph, name) for name in members]
    made = {value.name for op in ops for value in op.results}
    others = further_results(graph, members)
    read = dict.fromkeys(name for op in ops for name in op.inputs if name not in made)
    attrs: dict[str, Attr] = {"members": members, "rows": group.rows}
    for key, named in ((_PARAMETERS, parameters_of), (_WEIGHTS, weights_of)):
        names = dict.fromkeys(name for op in ops for name in named(op))
        computed = tuple(name for name in names if not graph.is_constant(name))
        attrs |= {key: computed} if computed else {}
    return Op(
        kind=GROUP,
        operands=tuple(read),
        results=(*ops[-1].results, *(op.result for op in ops if op.name in others)),
        attrs=sorted_attrs(attrs.items()),
        loc=ops[-1].loc,
    )


def further_results(graph: Graph, members: Sequence[str]) -> tuple[str, ...]:
    """Return the results of members, but of the last one, that are read outside of their group.

    Args:
        graph: The network.
        members: Of the group, in execution order.
    """
    inside = frozenset(members)
    return tuple(name for name in members[:-1] if _is_read_outside(graph, name, inside))


def handed_on(graph: Graph, members: Sequence[str]) -> frozenset[str]:
    """Return what nobody reads but members of a group.

    Args:
        graph: The network.
        members: Of the group, in execution order.
    """
    return frozenset(members[:-1]).difference(further_results(graph, members))


def ends(graph: Graph, members: Sequence[str]) -> frozenset[str]:
    """Return the results that no member of a group reads: the last one, and perhaps others.

    Args:
        graph: The network.
        members: Of the group, in execution order.
    """
    read = {name for member in members for name in graph.producer[member].inputs}
    return frozenset(members) - read


def _is_read_outside(graph: Graph, name: str, inside: frozenset[str]) -> bool:
    readers = graph.consumers[name]
    return name in graph.outputs or any(reader.name not in inside for reader in readers)


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
