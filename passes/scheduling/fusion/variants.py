"""Other stripes and orders for the groups of a plan, where they are better at their place in it.

Stripes are chosen beside what a plan without groups keeps on chip. The plan with groups may keep
other tensors there, which leaves some groups less space than they were chosen for::

    chosen in 647,168 bytes     stripes of 4 rows move 281,600 bytes of weights
    planned in 245,760 bytes    stripes of 4 rows move 964,608, all rows at once 284,672

Members follow each other as in the plan without groups, where branches that move the same bytes
stand in any order. In a group, who comes first decides how long the vector unit and the array wait
for each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ....ir.graph import Graph
from ....ir.graph_schedule import Group
from ....ir.groups import group_op
from ....ir.ops import workload
from ...deadline import NEVER, Deadline
from ...tiling.groups.chains import Chain, chains, inputs_of
from ..cosma.refine import CorrectedTraffic, Measured, residents
from ..cosma.traffic.delay import Delay
from ..cosma.traffic.model import Asked, StreamedTraffic
from .intervals import CLEARLY
from .offers import with_largest_stripes

_WORTH_TRYING = 0.005
"""Part of a plan's bytes that a group has to move beyond what it must before others are tried."""


@dataclass(frozen=True)
class Variants:
    """What the groups of one plan could be instead.

    Attributes:
        graph: The network.
        base: The plan.
        traffic: Tells what groups move.
        delay: Tells how long transfers take.
        deadline: When nothing else is measured.
    """

    graph: Graph
    base: Measured
    traffic: CorrectedTraffic
    delay: Delay
    deadline: Deadline = NEVER

    def better(self) -> tuple[Group, ...]:
        """Return the groups of the plan, each as it is best where it stands."""
        offered = [self._offered(group) for group in self.base.plan.groups]
        self.traffic.ahead([self._asked(item) for _, *others in offered for item in others])
        return tuple(map(self._best, offered))

    def _offered(self, group: Group) -> tuple[Group, ...]:
        """Return a group and what it could be instead."""
        if self.deadline.is_over:
            return (group,)
        return (group, *self._heights(group), *self._orders(group))

    def _best(self, offered: Sequence[Group]) -> Group:
        """Return the one that costs least, if it is clearly better than the first one."""
        own, *others = offered
        if not others or self.deadline.is_over:
            return own
        best = min(others, key=self._cost)
        return best if self._cost(best) < CLEARLY * self._cost(own) else own

    def _heights(self, group: Group) -> Iterator[Group]:
        """Yield other stripes that fit, but none where hardly anything moves in vain."""
        found = self._measured(group)
        if found is None or self._in_vain(group, found) < _WORTH_TRYING * self.base.cost:
            return
        _, here, space = self._asked(group)
        for item in with_largest_stripes(self.graph, group.members, space, here):
            if item.rows != group.rows:
                yield item

    def _orders(self, group: Group) -> Iterator[Group]:
        for members in orders(self.graph, group.members):
            if members != group.members:
                yield replace(group, members=members)

    def _in_vain(self, group: Group, found: StreamedTraffic) -> int:
        """Return what a group moves beyond each of its tensors once [byte]."""
        op, here, _ = self._asked(group)
        touched = set(op.touched) - here
        return found.total - sum(self.graph.types[name].bytes for name in touched)

    def _cost(self, group: Group) -> float:
        """Return bytes and cycles as parts of what the plan takes."""
        found = self._measured(group)
        if found is None:
            return float("inf")
        cycles = max(found.cycles, self.delay.cycles_of(found.total))
        return self.delay.price(found.total, cycles, self.base.cost, self.base.cycles)

    def _measured(self, group: Group) -> StreamedTraffic | None:
        op, here, space = self._asked(group)
        return self.traffic.measure(op, here, space, space)

    def _asked(self, group: Group) -> Asked:
        """Return what is asked about a group at its place in the plan."""
        plan, op = self.base.plan, group_op(self.graph, group)
        step = plan.step_of[group.name]
        workspace = plan.workspace(step)
        return op, residents(op, plan, step), 0 if workspace is None else workspace.bytes


def orders(graph: Graph, members: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return members so that of chains that are ready the one of most work comes first, and last.

    The last chain remains the last one: its rows are what stripes are counted in.

    Args:
        graph: The network.
        members: Of a group, in execution order.
    """
    *parts, last = chains(graph, members)
    work = {part: _macs(graph, part) for part in parts}
    ways = (
        _sorted(parts, most_first=True, work=work),
        _sorted(parts, most_first=False, work=work),
    )
    return tuple(
        dict.fromkeys(tuple(op.name for part in (*way, last) for op in part) for way in ways)
    )


def _sorted(parts: Iterable[Chain], *, most_first: bool, work: dict[Chain, int]) -> Iterator[Chain]:
    """Yield chains so that each has what it reads, the first one of equal work first."""
    left = list(parts)
    while left:
        missing = {op.name for part in left for op in part}
        ready = [
            part for part in left if not (inputs_of(part) - {op.name for op in part}) & missing
        ]
        chosen = min(ready, key=lambda part: -work[part] if most_first else work[part])
        left.remove(chosen)
        yield chosen


def _macs(graph: Graph, part: Chain) -> int:
    load = workload(part[0], graph.types)
    return 0 if load is None else load.macs
