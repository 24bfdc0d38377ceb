"""The groups of consecutive steps of a plan that may be worth measuring.

Of each stretch of steps these are the ones with the highest stripes whose lines fit, as far as they
could move less than the steps one by one. What they cost at least is estimated here.
"""

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group
from ....ir.groups import further_results
from ....ir.operators.access import MOST_LOOPS
from ....ir.operators.families.moves import joins_channels
from ....ir.ops import is_mac
from ...tiling.groups.chains import chains
from ...tiling.groups.lines import lines_fit
from ...tiling.groups.rows import makes_rows, rows_of
from ...tiling.groups.stripes import hands_out
from ...tiling.residency import unit_of
from ..cosma.refine import CorrectedTraffic, Measured, residents
from ..cosma.traffic.delay import Delay
from ..cosma.traffic.model import StreamedTraffic
from .alike import StepKinds
from .epilogues import can_join, is_group
from .experience import Span
from .group_costs import LINES, Cost, GroupCosts

MOST_CHAINS = 20
"""Operators that one group joins, those not counted that only finish tiles or join channels. With
16, ResNet-50's plan moves 1 % more on edge-1m; with 24 or 32, it moves as much and takes longer to
find."""

_MOST_MEMBERS = 64
"""Members of a group; more of them hardly save anything."""

_HEIGHTS = 4
"""Stripe heights that are offered of each interval, the largest ones."""

_MOST_FURTHER = 1
"""Results of a group beside that of its last member. Attention has many groups with more, of which
none was ever chosen: with them ViT-tiny takes twice as long to plan."""

_SAVING = 0.95
"""Part of the bytes of its steps that a group of several stripes may move at most. Stripes are for
bytes: where tensors stay on chip anyway, they hardly ever take less time than whole operators."""

_MOST_OF_STEPS = 20_000
"""Tile operations of steps one by one beyond which they are not offered as a group: stripes would
have more, and take minutes to measure."""


class Offer(NamedTuple):
    """A group that may be worth measuring.

    Attributes:
        group: The group.
        estimate: What it costs at least.
        alone: What its members cost one by one.
    """

    group: Group
    estimate: Cost
    alone: Cost


@dataclass
class Offers:
    """The groups of one plan without any; remembers what was worked out.

    Attributes:
        graph: The network.
        arch: The machine.
        base: The plan.
        traffic: Tells what operators and groups move.
        delay: Tells how long transfers take.
    """

    graph: Graph
    arch: Architecture
    base: Measured
    traffic: CorrectedTraffic
    delay: Delay
    _known: dict[Span, tuple[Offer, ...]] = field(default_factory=dict[Span, tuple[Offer, ...]])
    _highest: dict[int, int] = field(default_factory=dict[int, int])
    """The highest stripes that fit of the last steps looked at, by the step behind them."""
    _heights: dict[tuple[int, ...], tuple[tuple[int, Cost], ...]] = field(
        default_factory=dict[tuple[int, ...], tuple[tuple[int, Cost], ...]]
    )

    @property
    def plan(self) -> GraphSchedule:
        """The plan without groups."""
        return self.base.plan

    @cached_property
    def costs(self) -> GroupCosts:
        """Tells what groups cost."""
        return GroupCosts(self.graph, self.plan, self.traffic, self.delay)

    def of(self, start: int, stop: int) -> tuple[Offer, ...]:
        """Return the groups of some steps that may be worth measuring."""
        if stop - start < 2:
            return ()
        if (start, stop) not in self._known:
            members, moved = self.plan.order[start:stop], self._together(start, stop).bytes
            groups = (
                (Group(members=members, rows=rows), cost)
                for rows, cost in self.heights(start, stop)
            )
            self._known[start, stop] = tuple(
                Offer(group, cost, Cost(moved, cycles_alone(self.base, group)))
                for group, cost in groups
            )
        return self._known[start, stop]

    def heights(self, start: int, stop: int) -> tuple[tuple[int, Cost], ...]:
        """Return the heights of stripes that may be worth measuring, worked out once for likes."""
        alike = self._kinds[start:stop]
        if alike not in self._heights:
            found = self._candidates(start, stop)
            self._heights[alike] = tuple((group.rows, cost) for group, cost in found)
        return self._heights[alike]

    @cached_property
    def _kinds(self) -> tuple[int, ...]:
        """Equal numbers for steps that are alike."""
        return StepKinds(self.graph, self.plan, [item.bytes for item in self.alone]).numbers

    def _remains_last(self, name: str) -> bool:
        """Whether a result may leave a group as its last one alone.

        Only that can lie in the place of an operand. And what a concatenation reads would make many
        more groups of branches: with them DenseNet-121 takes 710 s of CPU to plan.
        """
        return name in self._in_place or any(map(joins_channels, self.graph.consumers[name]))

    @cached_property
    def _in_place(self) -> frozenset[str]:
        """Results in the place of operands."""
        return frozenset(item.tensor for item in self.plan.in_place)

    def _candidates(self, start: int, stop: int) -> Iterator[tuple[Group, Cost]]:
        """Yield the groups of some steps that may be worth measuring, with their least cost."""
        members = self.plan.order[start:stop]
        is_cut_small = self._operations[stop] - self._operations[start] > _MOST_OF_STEPS
        if is_cut_small or not is_group(self.graph, Group(members=members)):
            return
        further = further_results(self.graph, members)
        if len(further) > _MOST_FURTHER or any(map(self._remains_last, further)):
            return
        most = _SAVING * self._together(start, stop).bytes
        kept = self.costs.kept(members)
        beside = self.plan.budget - self.costs.taken(members, kept)
        near = self._highest.get(stop, 0)
        largest = with_largest_stripes(self.graph, members, self.plan.budget, near=near)
        near = self._highest[stop] = next((group.rows for group in largest if group.rows), near)
        beside_kept = with_largest_stripes(self.graph, members, beside, kept, near)[:1]
        for group in dict.fromkeys((*largest, *beside_kept)):
            cost = min(self.costs.estimated(group), key=self.price, default=None)
            if cost is not None and (not group.rows or cost.bytes <= most):
                yield group, cost

    # -- which steps ---------------------------------------------------------------------------

    @cached_property
    def starts(self) -> tuple[tuple[int, ...], ...]:
        """The first steps of groups that end with each step, the last ones first."""
        return tuple(tuple(self._starts_of(stop)) for stop in range(1, len(self.plan.order) + 1))

    def _starts_of(self, stop: int) -> Iterator[int]:
        """Yield the first steps of groups, the last ones first.

        Args:
            stop: The step behind their last.
        """
        for start in range(stop - 1, max(0, stop - _MOST_MEMBERS) - 1, -1):
            if not self._can_join[start] or self._chains(start, stop) > MOST_CHAINS:
                return
            yield start

    @cached_property
    def _can_join(self) -> tuple[bool, ...]:
        """Whether the operator of each step can be a member of a group."""
        steps = map(self.graph.producer.__getitem__, self.plan.order)
        return tuple(can_be_member(self.graph, op, self.arch) for op in steps)

    def _chains(self, start: int, stop: int) -> int:
        """Return how many chains some steps would be, those not counted that join channels."""
        return 1 + self._heads[stop] - self._heads[start + 1]

    @cached_property
    def _heads(self) -> tuple[int, ...]:
        """How many of the steps before each begin a chain wherever the group begins."""
        ops = tuple(map(self.graph.producer.__getitem__, self.plan.order))
        heads = {chain[0].name for chain in chains(self.graph, self.plan.order)}
        begins = (op.name in heads and not joins_channels(op) for op in ops)
        return tuple(itertools.accumulate(begins, initial=0))

    # -- what steps cost alone -------------------------------------------------------------------

    @cached_property
    def alone(self) -> tuple[Cost, ...]:
        """What every step costs, whole tensors and tiles."""
        plan = self.plan
        moved = [0.0] * len(plan.order)
        for item in (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores, *plan.streams):
            moved[item.step] += item.bytes
        for step in range(len(plan.order)):
            found = self._planned_traffic(step)
            moved[step] += 0 if found is None else found.constants
        return tuple(map(Cost, moved, self.base.times))

    @cached_property
    def _operations(self) -> tuple[int, ...]:
        """Tile operations of the steps before each."""
        found = map(self._planned_traffic, range(len(self.plan.order)))
        each = (0 if item is None else item.operations for item in found)
        return tuple(itertools.accumulate(each, initial=0))

    def _planned_traffic(self, step: int) -> StreamedTraffic | None:
        op = unit_of(self.graph, self.plan, self.plan.order[step])
        workspace = self.plan.workspace(step)
        size = 0 if workspace is None else workspace.bytes
        return self.traffic.measure(op, residents(op, self.plan, step), size, size)

    def price(self, cost: Cost) -> float:
        """Return bytes and cycles as parts of what the plan without groups costs."""
        whole = self._whole
        return self.delay.price(cost.bytes, cost.cycles, whole.bytes, whole.cycles)

    @cached_property
    def _whole(self) -> Cost:
        return self._together(0, len(self.plan.order))

    def _together(self, start: int, stop: int) -> Cost:
        """Return what steps cost one by one."""
        moved, took = self._apart
        return Cost(sum(moved[start:stop]), sum(took[start:stop]))

    @cached_property
    def _apart(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Bytes and cycles of every step."""
        return tuple(item.bytes for item in self.alone), tuple(item.cycles for item in self.alone)


def can_be_member(graph: Graph, op: Op, arch: Architecture) -> bool:
    """Whether an operator can be a member of a group that works stripe by stripe.

    Args:
        graph: The network.
        op: The operator.
        arch: The machine.
    """
    if not 2 <= len(op.result.type.shape) <= MOST_LOOPS:
        return False
    if is_mac(op):
        return can_join(graph, op, arch)
    if joins_channels(op):
        return not any(map(graph.is_constant, op.operands))
    return makes_rows(graph, op)


def with_largest_stripes(
    graph: Graph,
    members: tuple[str, ...],
    budget: int,
    resident: Iterable[str] = (),
    near: int = 0,
) -> tuple[Group, ...]:
    """Return groups of the same members: the ones with the largest stripes whose lines fit.

    Stripes that would have to keep rows of what others read are left out.

    Lines of lower stripes take no more, so that the highest ones that fit are looked for from where
    they may be, and then by halving; a single chain that makes all rows at once has no lines.

    Args:
        graph: The network.
        members: Names of the operators, which can stand in a plan as a group.
        budget: What lines and tiles may take of the scratchpad [byte].
        resident: Tensors that lie in the rest of it.
        near: A height that may be the highest one that fits.
    """
    total = rows_of(graph.types[members[-1]])
    halved = [-(-total >> halvings) for halvings in range(1, (total - 1).bit_length() + 1)]

    def fits(rows: int) -> bool:
        return lines_fit(graph, members, rows, LINES * budget, resident)

    first = _first_that(fits, halved, near)
    is_one = len(chains(graph, members)) == 1
    whole = [0] if (is_one or not first) and fits(0) else []
    stored = (rows for rows in (*whole, *halved[first:]) if hands_out(graph, members, rows))
    return tuple(Group(members=members, rows=rows) for rows in itertools.islice(stored, _HEIGHTS))


def _first_that(fits: Callable[[int], bool], heights: Sequence[int], near: int) -> int:
    """Return the number of the first height that fits, as all behind it do.

    Args:
        fits: Tells whether one does.
        heights: The heights, falling.
        near: A height that may be this one.
    """
    at = next((at for at, rows in enumerate(heights) if rows <= near), 0)
    if not near or at == len(heights):
        return bisect.bisect_left(heights, True, key=fits)
    if not fits(heights[at]):
        return bisect.bisect_left(heights, True, lo=at + 1, key=fits)
    if not at or not fits(heights[at - 1]):
        return at
    return bisect.bisect_left(heights, True, hi=at - 1, key=fits)


def cycles_alone(base: Measured, group: Group) -> float:
    """Return what the members of a group take one by one [cycle].

    Stripes leave a mapper less to choose from than whole operators, so they are compared with the
    mean of what these take in the plan and what good nests can make of them.

    Args:
        base: A plan without the group.
        group: The group.
    """
    places = list(map(base.plan.step_of.__getitem__, group.members))
    measured = sum(map(base.times.__getitem__, places))
    prospects = sum(map(base.prospects.__getitem__, places))
    return (measured + prospects) / 2 if group.rows else measured
