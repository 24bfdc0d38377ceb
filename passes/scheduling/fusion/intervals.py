"""Propose groups: consecutive steps of a plan whose tensors would be kept on chip between them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group
from ....ir.groups import group_op
from ....ir.operators.elementwise import ONE_ELEMENT
from ....ir.operators.spec import Family
from ....ir.ops import is_mac, spec_of
from ...tiling.residency import unit_of
from ...tiling.stripes import rows_of
from ..cosma.refine import CorrectedTraffic, residents
from ..cosma.traffic import Traffic
from ..map_groups import line_bytes
from .epilogues import can_join, is_group

MOST_STEPS = 10
"""Steps that one group joins."""

_LINES = (0.5, 0.8)
"""Parts of the scratchpad that a group's lines may take; the rest is for tiles."""


@dataclass
class Intervals:
    """The intervals of one plan; local to one choice.

    Attributes:
        graph: The network.
        arch: The machine.
        plan: The plan, perhaps with groups, which count as single steps.
        traffic: Tells what operators and groups move.
        refused: Groups that took too long.
    """

    graph: Graph
    arch: Architecture
    plan: GraphSchedule
    traffic: CorrectedTraffic
    refused: frozenset[Group] = frozenset()
    _costs: dict[Group, float] = field(default_factory=dict[Group, float])

    def groups(self) -> tuple[Group, ...]:
        """Return the disjoint groups that save most, by dynamic programming over the order."""
        order = self.plan.order
        best: list[tuple[float, tuple[Group, ...]]] = [(0.0, ())]
        for stop in range(1, len(order) + 1):
            known = self.plan.group(order[stop - 1])
            cost, chosen = best[stop - 1]
            options = [(cost + self._moved[stop - 1], chosen + (() if known is None else (known,)))]
            for start in range(stop - 2, max(-1, stop - 1 - MOST_STEPS), -1):
                if not self._can_join[start] or not self._can_join[stop - 1]:
                    break
                group = self._group(start, stop)
                if group is not None:
                    cost, chosen = best[start]
                    options.append((cost + self._cost(group, start, stop), (*chosen, group)))
            best.append(min(options, key=lambda item: item[0]))
        return best[-1][1]

    @cached_property
    def _can_join(self) -> tuple[bool, ...]:
        """Whether every operator of a step can be a member of a group."""
        return tuple(
            all(self._joins(self.graph.producer[name]) for name in self.plan.members(unit))
            for unit in self.plan.order
        )

    def _joins(self, op: Op) -> bool:
        if len(op.result.type.shape) not in (2, 4) or rows_of(op.result.type) < 2:
            return False
        if is_mac(op):
            return can_join(self.graph, op, self.arch)
        family = spec_of(op).family
        is_window = family is Family.POOL and op.kind != "global_avg_pool"
        return family in ONE_ELEMENT or is_window

    @cached_property
    def _moved(self) -> tuple[float, ...]:
        """What every step moves, whole tensors and tiles [byte]."""
        plan = self.plan
        moved = [0.0] * len(plan.order)
        for item in (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores, *plan.streams):
            moved[item.step] += item.bytes
        for step in range(len(plan.order)):
            found = self._planned_traffic(step)
            moved[step] += 0 if found is None else found.constants
        return tuple(moved)

    def _planned_traffic(self, step: int) -> Traffic | None:
        op = unit_of(self.graph, self.plan, self.plan.order[step])
        workspace = self.plan.workspace(step)
        size = 0 if workspace is None else workspace.bytes
        return self.traffic.measure(op, residents(op, self.plan, step), size, size)

    def _group(self, start: int, stop: int) -> Group | None:
        """Return the group of some steps with its largest stripes, ``None`` if it cannot be."""
        members = tuple(
            name for unit in self.plan.order[start:stop] for name in self.plan.members(unit)
        )
        if not is_group(self.graph, (Group(members=members),)):
            return None
        for part in _LINES:
            group = self._within(members, part * self.plan.budget)
            if group is not None and group not in self.refused:
                return group
        return None

    def _within(self, members: tuple[str, ...], limit: float) -> Group | None:
        """Return the group with the largest stripes whose lines take no more than a limit."""
        for rows in self._row_counts(members):
            group = Group(members=members, rows=rows)
            if line_bytes(self.graph, group) <= limit:
                return group
        return None

    def _row_counts(self, members: tuple[str, ...]) -> Iterator[int]:
        """Yield stripe heights, the largest first."""
        total = rows_of(self.graph.types[members[-1]])
        yield 0
        count = 2
        while count < 2 * total:
            yield -(-total // count)
            count *= 2

    def _cost(self, group: Group, start: int, stop: int) -> float:
        """Return what a group moves where its plan leaves the other tensors as they are [byte]."""
        if group not in self._costs:
            op = group_op(self.graph, group)
            names = (*op.inputs, op.name)
            here = frozenset(
                name
                for name in names
                if any(self.plan.resident(name, step) for step in range(start, stop))
            )
            found = self.traffic(op, here, self.plan.budget)
            whole = (*self.plan.loads, *self.plan.spills, *self.plan.retrieves, *self.plan.stores)
            others = sum(
                item.bytes
                for item in whole
                if start <= item.step < stop
                and item.tensor not in group.members[:-1]
                and (item.tensor in here or item.tensor not in names)
            )
            self._costs[group] = float("inf") if found is None else found.total + others
        return self._costs[group]
