"""What a group would cost in a plan that has none: bytes and cycles, estimated or by its tiles.

The plan leaves the group the space beside what it keeps on chip. What a group reads and makes may
be resident as the plan has it, or give its space to the group; then it leaves the chip and comes
back.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group
from ....ir.groups import group_op, handed_on
from ....ir.in_place import replaceable
from ..cosma.refine import CorrectedTraffic
from ..cosma.traffic.delay import Delay
from ..cosma.traffic.model import Asked, StreamedTraffic, TrafficModel
from ..map_groups import line_bytes

LINES = 0.92
"""Part of the scratchpad that a group's lines may take; the rest is for tiles."""

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Cost:
    """What steps or a group cost.

    Attributes:
        bytes: What is moved off chip [byte].
        cycles: What it takes [cycle].
    """

    bytes: float
    cycles: float


@dataclass(frozen=True)
class GroupCosts:
    """Costs of groups of consecutive steps.

    Attributes:
        graph: The network.
        plan: A plan without groups.
        traffic: Tells what groups move.
        delay: Tells how long transfers take.
    """

    graph: Graph
    plan: GraphSchedule
    traffic: CorrectedTraffic
    delay: Delay

    def estimated(self, group: Group) -> tuple[Cost, ...]:
        """Return the least costs of a group: as the plan keeps its tensors on chip, and without.

        Args:
            group: The group.
        """
        ways = dict.fromkeys((self._resident(group), _NOTHING))
        costs = (self._by(self.traffic, group, here) for here in ways)
        return tuple(cost for cost in costs if cost is not None)

    def measured(
        self, group: Group, expected: float, price: Callable[[Cost], float]
    ) -> tuple[Cost, ...]:
        """Return the costs of a group by its tiles, none where they do not fit.

        Args:
            group: The group.
            expected: Where it takes longer beside the tensors that the plan keeps on chip, it may
                have the space of its own, too, if that can pay [cycle].
            price: What a cost is worth.
        """
        here = self._resident(group)
        found = self._by(self._tiled, group, here)
        ways = [found]
        if here and (found is None or self._may_gain(group, expected, price, found)):
            ways.append(self._by(self._tiled, group, _NOTHING))
        return tuple(cost for cost in ways if cost is not None)

    def _may_gain(
        self, group: Group, expected: float, price: Callable[[Cost], float], found: Cost
    ) -> bool:
        """Whether a group could cost less with nothing resident, as far as estimates tell."""
        if found.cycles <= expected:
            return False
        rough = self._by(self.traffic, group, _NOTHING)
        return rough is not None and (
            price(Cost(rough.bytes, max(rough.cycles, expected))) < price(found)
        )

    def measured_ahead(self, groups: Iterable[Group]) -> None:
        """Tell which groups will be measured.

        Args:
            groups: The groups.
        """
        self.traffic.ahead([self._beside(item) for item in groups])

    def fits(self, group: Group) -> bool:
        """Whether the tiles of a group fit the scratchpad where nothing is resident.

        Args:
            group: The group.
        """
        return self._tiled(*self._alone(group)) is not None

    def fits_ahead(self, groups: Iterable[Group]) -> None:
        """Tell of which groups it will be asked whether they fit.

        Args:
            groups: The groups.
        """
        self.traffic.ahead([self._alone(item) for item in groups])

    def _op(self, group: Group) -> Op:
        """Return what stands for a group; who asks for its cost does so several times."""
        if group not in self._ops:
            self._ops[group] = group_op(self.graph, group)
        return self._ops[group]

    @cached_property
    def _ops(self) -> dict[Group, Op]:
        return {}

    def _alone(self, group: Group) -> Asked:
        return self._op(group), _NOTHING, self.plan.budget

    def kept(self, members: tuple[str, ...]) -> Mapping[str, int]:
        """Return the bytes of what the plan keeps on chip beside a group or hands to it.

        Args:
            members: Of the group, in the order of the plan.
        """
        kept = {
            item.tensor: item.bytes
            for step in self._steps(members)
            for item in self.plan.residences_at(step)
        }
        inside = handed_on(self.graph, members)
        return {name: size for name, size in kept.items() if name not in inside}

    def taken(self, members: tuple[str, ...], kept: Mapping[str, int]) -> int:
        """Return the space that is taken by what the plan keeps on chip [byte].

        Args:
            members: Of the group. Its result takes no space in the place of an operand.
            kept: Bytes of what is kept.
        """
        total, name = sum(kept.values()), members[-1]
        place = self.plan.resident(name, self.plan.step_of[name])
        if name not in kept or place is None:
            return total
        before = {item.tensor for item in self.plan.replaced_by(place)} & kept.keys()
        is_over = before and not before.isdisjoint(
            replaceable(self.graph, self._op(Group(members=members)))
        )
        return total - (kept[name] if is_over else 0)

    def _steps(self, members: tuple[str, ...]) -> range:
        first = self.plan.step_of[members[0]]
        return range(first, first + len(members))

    def _own(self, group: Group) -> frozenset[str]:
        """Return the tensors that a group reads or makes."""
        return frozenset(self._op(group).touched)

    def _resident(self, group: Group) -> frozenset[str]:
        """Return those of its tensors that the plan keeps on chip, as far as its lines fit, too.

        The plan keeps some of them one after the other. The largest ones are given up.
        """
        steps, own = self._steps(group.members), self._own(group)
        kept = {
            name: self.graph.types[name].bytes
            for name in sorted(own)
            if any(self.plan.resident(name, step) for step in steps)
        }
        while (
            kept and self._needed(group, kept) + self.taken(group.members, kept) > self.plan.budget
        ):
            del kept[max(kept, key=kept.__getitem__)]
        return frozenset(kept)

    def _tiled(self, op: Op, here: frozenset[str], space: int) -> StreamedTraffic | None:
        return self.traffic.measure(op, here, space, space)

    def _by(self, model: TrafficModel, group: Group, here: frozenset[str]) -> Cost | None:
        """Return what a model says that a group costs where some of its tensors are resident.

        The plan leaves all others as they are. What does not fit beside the group's lines has to
        leave the chip and come back. What the plan keeps of its own tensors and is given up here is
        moved once more by whoever else uses it.
        """
        given_up, kept = self._own(group) - here, self.kept(group.members)
        left = {name: size for name, size in kept.items() if name not in given_up}
        found = model(self._op(group), here, self._space(group, left))
        if found is None:
            return None
        again = sum(kept.values()) - sum(left.values())
        taken = self.taken(group.members, left)
        again += 2 * max(0, self._needed(group, left) + taken - self.plan.budget)
        whole = self._moved_whole(group, given_up) + again
        cycles = max(found.cycles, self.delay.cycles_of(found.total))
        return Cost(found.total + whole, cycles + self.delay.cycles_of(whole))

    def _beside(self, group: Group) -> Asked:
        """Return what is asked about a group where its tensors are as the plan has them."""
        space = self._space(group, self.kept(group.members))
        return self._op(group), self._resident(group), space

    def _moved_whole(self, group: Group, given_up: frozenset[str]) -> int:
        """Return what the plan moves beside a group, but for tensors that are given up [byte]."""
        others = handed_on(self.graph, group.members) | given_up
        return sum(
            item.bytes
            for step in self._steps(group.members)
            for item in self.plan.moved_whole(step)
            if item.tensor not in others
        )

    def _space(self, group: Group, kept: Mapping[str, int]) -> int:
        """Return what a group has of the scratchpad beside what is kept there [byte].

        What does not fit beside its lines leaves the chip.
        """
        budget = self.plan.budget
        beside = budget - self.taken(group.members, kept)
        return min(budget, max(beside, self._needed(group, kept)))

    def _needed(self, group: Group, kept: Iterable[str]) -> int:
        """Return what lines and tiles of a group need beside tensors that are kept [byte]."""
        return round(line_bytes(self.graph, group, kept) / LINES)
