"""Other stripes for the groups of a plan, where they are better beside what it keeps on chip.

Stripes are chosen beside what a plan without groups keeps on chip. The plan with groups may keep
other tensors there, which leaves some groups less space than they were chosen for::

    chosen in 647,168 bytes     stripes of 4 rows move 281,600 bytes of weights
    planned in 245,760 bytes    stripes of 4 rows move 964,608, all rows at once 284,672
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ....ir.graph import Graph
from ....ir.graph_schedule import Group
from ....ir.groups import group_op
from ..cosma.refine import CorrectedTraffic, Measured, residents
from ..cosma.traffic.delay import Delay
from ..cosma.traffic.model import Asked, StreamedTraffic
from .intervals import with_largest_stripes

_WORTH_TRYING = 0.005
"""Part of a plan's bytes that a group has to move beyond what it must before others are tried."""


@dataclass(frozen=True)
class Heights:
    """The stripes of the groups of one plan.

    Attributes:
        graph: The network.
        base: The plan.
        traffic: Tells what groups move.
        delay: Tells how long transfers take.
    """

    graph: Graph
    base: Measured
    traffic: CorrectedTraffic
    delay: Delay

    def better(self) -> tuple[Group, ...]:
        """Return the groups of the plan, each with the stripes that are best where it stands."""
        asked = {group: self._others(group) for group in self.base.plan.groups}
        ahead = [self._asked(group, rows) for group, some in asked.items() for rows in some]
        self.traffic.ahead(ahead)
        return tuple(self._best(group, some) for group, some in asked.items())

    def _best(self, group: Group, others: Sequence[int]) -> Group:
        """Return a group with the height that costs least, its own one of equals."""
        if not others:
            return group
        costs = {rows: self._cost(group, rows) for rows in (group.rows, *others)}
        return replace(group, rows=min(costs, key=costs.__getitem__))

    def _others(self, group: Group) -> tuple[int, ...]:
        """Return the heights that may be better: none where hardly anything moves in vain."""
        found = self._measured(group, group.rows)
        if found is None or self._in_vain(group, found) < _WORTH_TRYING * self.base.cost:
            return ()
        _, here, space = self._asked(group, group.rows)
        offered = with_largest_stripes(self.graph, group.members, space, here)
        return tuple(item.rows for item in offered if item.rows != group.rows)

    def _in_vain(self, group: Group, found: StreamedTraffic) -> int:
        """Return what a group moves beyond each of its tensors once [byte]."""
        _, here, _ = self._asked(group, group.rows)
        types = self.graph.types
        return found.total - sum(
            types[name].bytes for name in self._touched(group) if name not in here
        )

    def _touched(self, group: Group) -> Iterator[str]:
        yield from group_op(self.graph, group).inputs
        yield group.name

    def _cost(self, group: Group, rows: int) -> float:
        """Return bytes and cycles as parts of what the plan takes."""
        found = self._measured(group, rows)
        if found is None:
            return float("inf")
        cycles = max(found.cycles, self.delay.cycles_of(found.total))
        return found.total / max(1, self.base.cost) + cycles / max(1.0, self.base.cycles)

    def _measured(self, group: Group, rows: int) -> StreamedTraffic | None:
        op, here, space = self._asked(group, rows)
        return self.traffic.measure(op, here, space, space)

    def _asked(self, group: Group, rows: int) -> Asked:
        """Return what is asked about a group with other stripes at its place in the plan."""
        plan, op = self.base.plan, group_op(self.graph, replace(group, rows=rows))
        step = plan.step_of[group.name]
        workspace = plan.workspace(step)
        return op, residents(op, plan, step), 0 if workspace is None else workspace.bytes
