"""Choose groups: consecutive steps of a plan whose tensors are kept on chip between them.

Which intervals of the order to fuse, each with which stripes, is decided by dynamic programming.
What a group moves and how long it takes is measured by tiling it, which is slow. So a group that
was not measured counts as what it can be at best, and the program is solved anew until everything
that it chooses has been measured, or choosing from those that were cannot be much worse. That is
nearly the best choice of all that was offered, as far as no estimate lies above the truth.
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group
from ....ir.groups import further_results
from ....ir.operators.access import MOST_LOOPS
from ....ir.operators.families.moves import joins_channels
from ....ir.ops import is_mac
from ...deadline import NEVER, Deadline
from ...tiling.groups.chains import chains
from ...tiling.groups.lines import lines_fit
from ...tiling.groups.stripes import hands_out, makes_rows, rows_of
from ...tiling.residency import unit_of
from ..cosma.refine import CorrectedTraffic, Measured, residents
from ..cosma.traffic.delay import Delay
from ..cosma.traffic.model import StreamedTraffic
from .alike import StepKinds
from .epilogues import can_join, is_group
from .expected import ExpectedCycles
from .experience import Experience, Span
from .group_costs import LINES, Cost, GroupCosts

MOST_CHAINS = 20
"""Operators that one group joins, those not counted that only finish tiles or join channels. With
16, ResNet-50's plan moves 1 % more on edge-1m; with 24 or 32, it moves as much and takes longer to
find."""

_MOST_MEMBERS = 64
"""Members of a group; more of them hardly save anything."""

_HEIGHTS = 4
"""Stripe heights that are offered of each interval, the largest ones."""

_COMPUTING, _MOVING = 0.88, 0.25
"""Parts of what steps take alone that a group is expected to take at least: of those that compute
for longer than they move tiles, and of the others."""

_WELL_MAPPED = 1.3
"""How many times what good nests can make of it a step counts as there at most: some operators
are mapped badly as a whole, and well in stripes."""

_LONGER = 1.1
"""How many times its transfers a step takes if it computes for longer."""

_HARDLY, _OTHER_HEIGHT = 0.9, 0.72
"""Parts of what a measured group takes that others are expected to take at least for the same
steps: larger ones, and those of the same steps with other stripes."""

_NEAR = 0.002
"""By which part the price may lie above the least one that is hoped for."""

_MOST_FURTHER = 1
"""Results of a group beside that of its last member. Attention has many groups with more, of which
none was ever chosen: with them ViT-tiny takes twice as long to plan."""

_SAVING = 0.95
"""Part of the bytes of its steps that a group of several stripes may move at most. Stripes are for
bytes: where tensors stay on chip anyway, they hardly ever take less time than whole operators."""

_MOST_MEASURED, _MOST_WITH_HEIGHTS, MOST_OPERATIONS = 80, 100, 150_000
"""Groups that are measured, the same with other heights of those that are chosen, and operations
of the tiles that are scheduled for it (10,000 to 60,000 for usual networks); then only these groups
are chosen from."""

_OTHER_ROWS, CLEARLY = 0.9, 0.97
"""Part of what a chosen group with other stripes is expected to take that it may take; and part of
the price of those that were chosen that others cost at most if they are taken instead."""

_MOST_OF_STEPS = 20_000
"""Tile operations of steps one by one beyond which they are not offered as a group: stripes would
have more, and take minutes to measure."""


_Placed: TypeAlias = tuple[Group, int, int]
"""A group, its first step, and the one behind its last."""


class _Terms(NamedTuple):
    """What can be chosen.

    Attributes:
        may_take_longer: Whether a group may take longer than its members one by one.
        share: Part of what is foreseen that counts of groups that were not measured; ``None``
            leaves these out.
    """

    may_take_longer: bool
    share: float | None


class _Offer(NamedTuple):
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
class Intervals:
    """The intervals of one plan without groups; local to one choice.

    Attributes:
        graph: The network.
        arch: The machine.
        base: The plan.
        traffic: Tells what operators and groups move.
        delay: Tells how long transfers take.
        expects: Tells what groups are expected to take.
        deadline: When what was measured by then has to do.
        most_operations: Of tiles that are scheduled for what is measured.
    """

    graph: Graph
    arch: Architecture
    base: Measured
    traffic: CorrectedTraffic
    delay: Delay
    expects: ExpectedCycles
    deadline: Deadline = NEVER
    most_operations: int = MOST_OPERATIONS
    _known: dict[Group, Cost | None] = field(default_factory=dict[Group, Cost | None])
    _expected: dict[Group, float] = field(default_factory=dict[Group, float])
    _experience: Experience = field(default_factory=Experience)
    _fastest: dict[Span, float] = field(default_factory=dict[Span, float])
    _heights: dict[tuple[int, ...], tuple[tuple[int, Cost], ...]] = field(
        default_factory=dict[tuple[int, ...], tuple[tuple[int, Cost], ...]]
    )
    _offers: dict[Span, tuple[_Offer, ...]] = field(default_factory=dict[Span, tuple[_Offer, ...]])
    _cheapest: dict[_Terms, dict[Span, tuple[float, Group] | None]] = field(
        default_factory=dict[_Terms, dict[Span, tuple[float, Group] | None]]
    )
    """Of what is known now: the least price of groups of the same steps, and whose it is."""

    def __post_init__(self) -> None:
        self._before = self.traffic.operations

    @property
    def plan(self) -> GraphSchedule:
        """The plan without groups."""
        return self.base.plan

    def groups(self, *, may_take_longer: bool = False) -> tuple[Group, ...]:
        """Return the disjoint groups that save most, of which none moves more.

        Args:
            may_take_longer: Whether a group may take longer than its members one by one, where
                that is worth the bytes.
        """
        while True:
            share = None if self._is_closed(_MOST_MEASURED) else self._experience.share
            least, chosen = self._best(_Terms(may_take_longer, share))
            unknown = [item for item in chosen if item[0] not in self._known]
            guessed = [group for group, _, _ in unknown if group not in self._expected]
            for group in guessed:
                self._expect(group)
            if guessed:
                continue
            if unknown:
                price, chosen = self._best(_Terms(may_take_longer, None))
                if not self._known or price > (1.0 + _NEAR) * least:
                    self._measure(unknown, _MOST_MEASURED)
                    continue
            self._ask_ahead(chosen)
            stuck = [group for group, _, _ in chosen if not self._costs.fits(group)]
            self._learn(dict.fromkeys(stuck))
            if not stuck and not any(self._other_height_is_better(*item) for item in chosen):
                return tuple(group for group, _, _ in chosen)

    def _other_height_is_better(self, group: Group, start: int, stop: int) -> bool:
        """Measure other heights of stripes than a chosen group has; whether one is clearly better.

        What heights differ by is mostly how rows can be unrolled, which nests of members tell least
        of. What is not clearly better is not chosen later, either: programs take some per cent more
        or less than what is measured here, and the one of many that seems best mostly more.

        Args:
            group: The group.
            start: Its first step.
            stop: The step behind its last.
        """
        is_better = False
        for item in self._other_heights(group, start, stop):
            self._measure([item], _MOST_WITH_HEIGHTS)
            found = self._known.get(item[0])
            if found is None:
                continue
            if self._price(found) < self._clearly_better(group):
                is_better = True
            else:
                self._learn({item[0]: None})
        return is_better

    def _learn(self, found: Mapping[Group, Cost | None]) -> None:
        """Note what groups cost, ``None`` where they cannot be chosen."""
        self._known.update(found)
        self._cheapest.clear()

    def _other_heights(self, group: Group, start: int, stop: int) -> tuple[_Placed, ...]:
        """Return a group with other heights that may be clearly better and were not measured.

        A group that was chosen to make all rows at once has none: what estimates promise of stripes
        there was never kept (they took 5 to 39 % more on flexer-arch5).

        Args:
            group: The group.
            start: Its first step.
            stop: The step behind its last.
        """
        if not group.rows or self._is_closed(_MOST_WITH_HEIGHTS):
            return ()
        found: list[_Placed] = []
        for rows, estimate in self._heights_of(start, stop):
            other = replace(group, rows=rows)
            if other in self._known:
                continue
            cycles = max(estimate.cycles, _OTHER_ROWS * self._expect(other))
            if self._price(replace(estimate, cycles=cycles)) < self._clearly_better(group):
                found.append((other, start, stop))
        return tuple(found)

    def _clearly_better(self, group: Group) -> float:
        """Return the price of what is clearly better than a group that was measured."""
        chosen = self._known[group]
        assert chosen is not None
        return CLEARLY * self._price(chosen)

    def _expect(self, group: Group) -> float:
        """Return what the nests of a group's members take, worked out once [cycle]."""
        if group not in self._expected:
            self._expected[group] = self.expects.of(group)
            start = self.plan.step_of[group.members[0]]
            for prices in self._cheapest.values():
                prices.pop((start, start + len(group.members)), None)
        return self._expected[group]

    def _ask_ahead(self, chosen: Sequence[_Placed]) -> None:
        """Tell what will be asked of groups that are chosen."""
        self._costs.fits_ahead(group for group, _, _ in chosen)
        others = (other for item in chosen for other in self._other_heights(*item))
        self._costs.measured_ahead(group for group, _, _ in others)

    def _measure(self, asked: Sequence[_Placed], most: int) -> None:
        """Tile groups while that is open.

        Args:
            asked: The groups.
            most: How many may be measured in all.
        """
        left = 0 if self._is_closed(most) else most - len(self._known)
        self._costs.measured_ahead(group for group, _, _ in asked[:left])
        for group, start, stop in asked:
            if self._is_closed(most):
                break
            expected = self._expected[group]
            costs = self._costs.measured(group, expected, self._price)
            found = min(costs, key=self._price, default=None)
            self._learn({group: found})
            if found is None:
                continue
            self._fastest[start, stop] = min(
                found.cycles, self._fastest.get((start, stop), found.cycles)
            )
            if self._computes(found):
                self._experience.note((start, stop), expected, found.cycles)

    def _is_closed(self, most: int) -> bool:
        """Whether no more groups are measured.

        Args:
            most: How many are.
        """
        scheduled = self.traffic.operations - self._before
        is_much = len(self._known) >= most or scheduled >= self.most_operations
        return is_much or self.deadline.is_over

    @cached_property
    def _costs(self) -> GroupCosts:
        return GroupCosts(self.graph, self.plan, self.traffic, self.delay)

    def _least(self, start: int, stop: int) -> float:
        """Return what a group takes at least: hardly less than one inside that was measured."""
        alone = self._least_alone
        least = alone[stop] - alone[start]
        for (first, last), cycles in self._fastest.items():
            if start <= first and last <= stop:
                around = alone[first] - alone[start] + alone[stop] - alone[last]
                part = _OTHER_HEIGHT if (start, stop) == (first, last) else _HARDLY
                least = max(least, part * cycles + around)
        return least

    @cached_property
    def _least_alone(self) -> tuple[float, ...]:
        """What the steps before each take at least as members of a group."""
        steps = zip(self._alone, self.base.prospects, strict=True)
        parts = (
            (_COMPUTING if self._computes(item) else _MOVING)
            * min(item.cycles, _WELL_MAPPED * prospect)
            for item, prospect in steps
        )
        return tuple(itertools.accumulate(parts, initial=0.0))

    def _computes(self, cost: Cost) -> bool:
        return cost.cycles > _LONGER * self.delay.cycles_of(int(cost.bytes))

    def _best(self, terms: _Terms) -> tuple[float, tuple[_Placed, ...]]:
        """Return the least price, and the groups with it: first step, and the one behind the last.

        Args:
            terms: What can be chosen.
        """
        prices = self._cheapest.setdefault(terms, {})
        best: list[tuple[float, int, Group | None]] = [(0.0, 0, None)]
        for stop, starts in enumerate(self._starts, start=1):
            least = (best[stop - 1][0] + self._price(self._alone[stop - 1]), stop - 1, None)
            for start in starts:
                if (start, stop) not in prices:
                    offered = self._offered(start, stop, terms)
                    prices[start, stop] = min(offered, key=lambda item: item[0], default=None)
                found = prices[start, stop]
                if found is not None and best[start][0] + found[0] < least[0]:
                    least = (best[start][0] + found[0], start, found[1])
            best.append(least)
        return best[-1][0], tuple(reversed(list(_chosen(best))))

    @cached_property
    def _starts(self) -> tuple[tuple[int, ...], ...]:
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

    def _price(self, cost: Cost) -> float:
        """Return bytes and cycles as parts of what the plan without groups costs."""
        whole = self._whole
        return cost.bytes / max(1.0, whole.bytes) + cost.cycles / max(1.0, whole.cycles)

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
        return tuple(item.bytes for item in self._alone), tuple(item.cycles for item in self._alone)

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
    def _alone(self) -> tuple[Cost, ...]:
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

    # -- what groups cost ------------------------------------------------------------------------

    def _offered(self, start: int, stop: int, terms: _Terms) -> Iterator[tuple[float, Group]]:
        """Yield the groups of some steps that can be chosen, with their prices."""
        offers, share = self._offers_of(start, stop), terms.share
        least = 0.0 if share is None or not offers else self._least(start, stop)
        for group, estimate, alone in offers:
            rough = None
            if share is not None:
                expected = self._expected.get(group, 0.0)
                foreseen = share * self._experience.foreseen((start, stop), expected)
                rough = Cost(estimate.bytes, max(least, estimate.cycles, foreseen))
            found = self._known.get(group, rough)
            if found is None or found.bytes > alone.bytes:
                continue
            if terms.may_take_longer or found.cycles <= alone.cycles:
                yield self._price(found), group

    def _offers_of(self, start: int, stop: int) -> tuple[_Offer, ...]:
        """Return the groups of some steps that may be worth measuring."""
        if stop - start < 2:
            return ()
        if (start, stop) not in self._offers:
            members, moved = self.plan.order[start:stop], self._together(start, stop).bytes
            groups = (
                (Group(members=members, rows=rows), cost)
                for rows, cost in self._heights_of(start, stop)
            )
            self._offers[start, stop] = tuple(
                _Offer(group, cost, Cost(moved, cycles_alone(self.base, group)))
                for group, cost in groups
            )
        return self._offers[start, stop]

    def _heights_of(self, start: int, stop: int) -> tuple[tuple[int, Cost], ...]:
        """Return the heights of stripes that may be worth measuring, worked out once for likes."""
        alike = self._kinds[start:stop]
        if alike not in self._heights:
            found = self._candidates(start, stop)
            self._heights[alike] = tuple((group.rows, cost) for group, cost in found)
        return self._heights[alike]

    @cached_property
    def _kinds(self) -> tuple[int, ...]:
        """Equal numbers for steps that are alike."""
        return StepKinds(self.graph, self.plan, [item.bytes for item in self._alone]).numbers

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
        kept = self._costs.kept(members)
        beside = self.plan.budget - self._costs.taken(members, kept)
        offered = [
            *with_largest_stripes(self.graph, members, self.plan.budget),
            *with_largest_stripes(self.graph, members, beside, kept)[:1],
        ]
        for group in dict.fromkeys(offered):
            cost = min(self._costs.estimated(group), key=self._price, default=None)
            if cost is not None and (not group.rows or cost.bytes <= most):
                yield group, cost


def _chosen(
    best: Sequence[tuple[float, int, Group | None]],
) -> Iterator[_Placed]:
    """Yield the groups that the program chose, the last one first."""
    stop = len(best) - 1
    while stop:
        _, start, group = best[stop]
        if group is not None:
            yield group, start, stop
        stop = start


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
    graph: Graph, members: tuple[str, ...], budget: int, resident: Iterable[str] = ()
) -> tuple[Group, ...]:
    """Return groups of the same members: the ones with the largest stripes whose lines fit.

    Stripes that would have to keep rows of what others read are left out.

    Lines of lower stripes take no more, so that the highest ones that fit are found by halving; a
    single chain that makes all rows at once has no lines.

    Args:
        graph: The network.
        members: Names of the operators, which can stand in a plan as a group.
        budget: What lines and tiles may take of the scratchpad [byte].
        resident: Tensors that lie in the rest of it.
    """
    total = rows_of(graph.types[members[-1]])
    heights = (-(-total >> halvings) for halvings in range(1, (total - 1).bit_length() + 1))

    def fits(group: Group) -> bool:
        return lines_fit(graph, group.members, group.rows, LINES * budget, resident)

    whole, *lower = (Group(members=members, rows=rows) for rows in (0, *heights))
    first = bisect.bisect_left(lower, True, key=fits)
    fitting = ([whole] if fits(whole) else []) + lower[first:]
    stored = (group for group in fitting if hands_out(graph, members, group.rows))
    return tuple(itertools.islice(stored, _HEIGHTS))


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
