"""Hand on what a strided filter of 1x1 reads, instead of what it makes, where that is less.

::

    %f = conv2d(%x, %w) {stride = [2, 2]}  ->  %r = max_pool(%x) {kernel = [1, 1], stride = [2, 2]}
        %x : s8<1x64x56x56>                      %f = conv2d(%r, %w)
        %f : s8<1x128x28x28>                         %r : s8<1x64x28x28>

Such filters are in the shortcuts of residual blocks, where channels become more and images smaller.
A filter is best in the group that makes what it reads, while that is on chip; but where its result
goes off chip and comes back for a later sum, this moves more than the elements that it has read.
With these as a tensor of their own the filter can be in the group of the sum.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group
from ....ir.module import Module
from ....ir.operators.views import window_of
from ...graph.growth import Growth
from .epilogues import is_group


def subsampled(graph: Graph, plan: GraphSchedule) -> Graph:
    """Return the network in which strided filters read what was subsampled before, where it pays.

    That is where the plan moves their results off chip and back, and what they read is smaller. The
    graph is returned as it is where there are none.

    Args:
        graph: The network.
        plan: Its plan.
    """
    found = {op.name for op in graph.ops if _reads_less(graph, op) and _leaves(graph, plan, op)}
    if not found:
        return graph
    return Growth.splitting(Module(graph=graph), found, _split).graph


def regrouped(graph: Graph, plan: GraphSchedule, other: Graph) -> Iterator[tuple[Group, ...]]:
    """Yield groups for a network with subsampled tensors: who made a result makes one of these.

    The filter begins the group of the operator that reads its result, or that operator and those
    that follow it finish the tiles of the filter.

    Args:
        graph: The network.
        plan: Its plan.
        other: The network with subsampled tensors, of :func:`subsampled`.
    """
    read = {
        op.name: op.operands[0]
        for op in other.ops
        if op.name in graph.producer and op.operands != graph.producer[op.name].operands
    }
    makers = [
        replace(group, members=tuple(read.get(name, name) for name in group.members))
        for group in plan.groups
    ]
    for joined in (_begun_by, _finished_by):
        groups = makers
        for name in read:
            groups = joined(other, groups, name)
        if all(is_group(other, group) for group in groups):
            yield tuple(groups)


def keeps_space(plan: GraphSchedule, other: GraphSchedule) -> bool:
    """Whether groups that work stripe by stripe have as much space in another plan.

    What is resident beside them may be worth less than it seems: chains that run ahead of others
    take space, and the nests that plans are measured with tell little of these.

    Args:
        plan: The plan before.
        other: The other one, in which each of these groups begins with the same operator.
    """

    def space(where: GraphSchedule, group: Group) -> int:
        found = where.workspace(where.step_of[group.members[0]])
        return 0 if found is None else found.bytes

    striped = [group for group in plan.groups if group.rows]
    return all(space(other, group) >= space(plan, group) for group in striped)


def _begun_by(graph: Graph, groups: Sequence[Group], name: str) -> list[Group]:
    """Return groups in which a filter begins the group of the first operator that reads it."""
    reader = graph.consumers[name][0].name
    found = [
        replace(group, members=(name, *group.members)) if reader in group.members else group
        for group in groups
    ]
    return found if found != list(groups) else [*groups, Group(members=(name, reader))]


def _finished_by(graph: Graph, groups: Sequence[Group], name: str) -> list[Group]:
    """Return groups in which what reads a filter, and what follows that, finishes its tiles."""
    reader = graph.consumers[name][0].name
    found: list[Group] = []
    tail: tuple[str, ...] = (reader,)
    for group in groups:
        if reader in group.members:
            place = group.members.index(reader)
            tail, group = group.members[place:], replace(group, members=group.members[:place])
        if len(group.members) > 1:
            found.append(group)
    return [*found, Group(members=(name, *tail))]


def _reads_less(graph: Graph, op: Op) -> bool:
    """Whether an operator is a filter of 1x1 that reads fewer bytes of its input than it makes.

    Args:
        graph: The network.
        op: The operator.
    """
    if op.kind != "conv2d" or graph.types[op.operands[1]].shape[2:] != (1, 1):
        return False
    window, image = window_of(op, (1, 1)), graph.types[op.operands[0]]
    if window.stride == (1, 1) or any(window.pads) or any(window.overhang):
        return False
    pixels = op.result.type.elements // op.result.type.shape[1]
    return image.shape[1] * pixels * image.dtype.bytes < op.result.type.bytes


def _leaves(graph: Graph, plan: GraphSchedule, op: Op) -> bool:
    """Whether a member of a group makes what goes off chip, for later steps alone.

    Args:
        graph: The network.
        plan: Its plan.
        op: The member.
    """
    step, readers = plan.step_of[op.name], graph.consumers[op.name]
    if plan.group(plan.order[step]) is None or op.name in graph.outputs or not readers:
        return False
    if any(plan.step_of[reader.name] == step for reader in readers):
        return False
    return plan.streamed(op.name, step) or any(item.tensor == op.name for item in plan.spills)


def _split(growth: Growth, op: Op) -> None:
    x, *parameters = op.operands
    attrs = dict(op.attrs)
    stride = attrs.pop("stride")
    read = growth.add(op, "max_pool", (x,), label="read", kernel=(1, 1), stride=stride)
    growth.add(op, op.kind, (read, *parameters), like=op.name, given=attrs)
    growth.end(op)
