"""Choose fused groups, plan with them, and keep them where nothing becomes worse.

A plan without groups tells what its operators move. Groups are chosen where that is saved, once so
that some may take longer than their members one by one, and once so that none does. At last,
operators that are in none are joined with what only finishes their tiles. The plans with them are
measured like any other, and taken only if they move less and take no longer as a whole. Where
energy counts, groups and plans may take longer, as long as that is worth the bytes. What is
compared are the estimates of plans; the nests of the program are found later.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.graph import Graph
from ....ir.graph_schedule import Group
from ...deadline import NEVER, Deadline
from ..cosma.refine import CorrectedTraffic, Measured
from ..cosma.traffic.delay import NO_DELAY, Delay
from . import Fuse
from .epilogues import epilogues
from .expected import ExpectedCycles
from .intervals import MOST_OPERATIONS, Intervals
from .offers import Offers, cycles_alone
from .variants import Variants
from .weights_first import weights_first

Alone: TypeAlias = Callable[[tuple[str, ...] | None, bool], Measured | None]
"""Plans without groups, from the order to take (``None``: any) and whether results may lie in the
place of operands; ``None`` where there is no such plan."""

_HARDLY_MORE, _CLEARLY_MORE = 0.003, 0.006
"""Parts that a plan without results in place costs more if groups are hardly chosen otherwise
beside it, and if those that are chosen beside it were never better."""

_FEW_OPERATIONS, _BETTER = 5_000, 0.995
"""Tile operations that are scheduled to choose groups beside a second plan, and which part of the
other's price the plan with them costs at most if it is taken instead: programs differ by more than
what plans that are nearly as good promise."""

_MOST_ATTEMPTS = 16
"""Plans that are made to find out how many of the chosen groups fit together."""


@dataclass(frozen=True)
class PlanComparison:
    """Tells which plans are better.

    Attributes:
        plain: The plan without groups.
        delay: Tells what cycles count.
    """

    plain: Measured
    delay: Delay = NO_DELAY

    def price(self, found: Measured, beside: Measured | None = None) -> float:
        """Return bytes and cycles of a plan as parts of what another one costs.

        Args:
            found: The plan.
            beside: The other one; that without groups by default.
        """
        other = beside or self.plain
        return self.delay.price(found.cost, found.cycles, other.cost, other.cycles)

    def better_of(self, best: Measured, other: Measured | None) -> Measured:
        """Return another plan if it is better, and its groups take no longer all together.

        Args:
            best: The best one so far.
            other: The other one, if there is one.
        """
        if other is None or not self.is_better(best, other):
            return best
        is_slower = sum(lost for _, lost in self.losses(other)) > 0
        return best if is_slower and not self.delay.may_take_longer else other

    def is_better(self, best: Measured, other: Measured) -> bool:
        """Whether a plan costs less than without groups, takes no longer, and beats the best one.

        Of two such plans the one is better that saves a larger part of bytes than it takes more
        cycles, or the other way round. Where groups may take longer, so may plans.

        Args:
            best: The best one so far.
            other: The other one.
        """
        is_slower = other.cycles > self.plain.cycles and not self.delay.may_take_longer
        is_worse = other.cost >= self.plain.cost or is_slower
        return not is_worse and self.price(other, best) < self.price(best, best)

    def losses(self, fused: Measured) -> Iterator[tuple[Group, float]]:
        """Yield groups with the cycles that they take longer than their members one by one.

        Args:
            fused: A plan with groups.
        """
        for name, cycles in zip(fused.plan.order, fused.times, strict=True):
            group = fused.plan.group(name)
            if group is not None:
                yield group, cycles - cycles_alone(self.plain, group)


def fused_plan(
    graph: Graph,
    arch: Architecture,
    plain: Measured,
    planned: Callable[[tuple[Group, ...]], Measured | None],
    alone: Alone,
    traffic: CorrectedTraffic,
    delay: Delay,
    fuse: Fuse,
    deadline: Deadline = NEVER,
) -> Measured:
    """Return the best plan, with groups or without.

    Args:
        graph: The network.
        arch: The machine.
        plain: The plan without groups.
        planned: Plans with groups; ``None`` where one of them cannot be tiled.
        alone: Plans without groups.
        traffic: Tells what operators and groups move.
        delay: Tells how long transfers take.
        fuse: What may be fused.
        deadline: When groups are no longer measured, and plans no longer made.
    """
    best, compared = plain, PlanComparison(plain, delay)
    if deadline.is_over:
        return best
    if fuse is Fuse.GROUPS:
        expects = ExpectedCycles(graph, arch, plain.plan.budget)

        def beside(base: Measured, in_place: bool, most: int) -> Measured:
            order = weights_first(graph, base.plan.order)
            if order != base.plan.order:
                base = plan_if_any(alone, order, in_place) or base
            offers = Offers(graph, arch, base, traffic, delay)
            intervals = Intervals(offers, expects, deadline, most)
            ways = (True,) if delay.may_take_longer else (True, False)
            chosen = dict.fromkeys(intervals.groups(may_take_longer=item) for item in ways)
            plans = [_best_with(planned, compared, plain, groups) for groups in chosen]
            return min(plans, key=compared.price)

        best = beside(plain, True, MOST_OPERATIONS)
        apart = _apart(plain, alone)
        if apart is not None:
            other = beside(apart, False, _FEW_OPERATIONS)
            is_better = compared.price(other) < _BETTER * compared.price(best)
            best = other if is_better else best
        groups = Variants(graph, best, traffic, delay, deadline).better()
        if groups != best.plan.groups:
            best = compared.better_of(best, plan_if_any(planned, groups))
    taken = frozenset(name for group in best.plan.groups for name in group.members)
    joined = tuple(item for item in epilogues(graph, arch) if taken.isdisjoint(item.members))
    if joined and not deadline.is_over:
        best = _best_with(planned, compared, best, joined)
    return best


def _apart(plain: Measured, alone: Alone) -> Measured | None:
    """Return a plan in which no result lies in the place of an operand, if that could help.

    Tensors that are on chip in the place of others may be ones that groups could do without. So
    groups are chosen beside a plan without such, too, unless both cost nearly the same or that one
    clearly more.

    Args:
        plain: The plan with such results.
        alone: Makes others.
    """
    apart = plan_if_any(alone, None, False) if plain.plan.in_place else None
    more = 0.0 if apart is None else apart.cost / max(1, plain.cost) - 1.0
    return apart if _HARDLY_MORE < more < _CLEARLY_MORE else None


def _best_with(
    planned: Callable[[tuple[Group, ...]], Measured | None],
    compared: PlanComparison,
    best: Measured,
    groups: tuple[Group, ...],
) -> Measured:
    """Return the best plan with groups beside others, with those that are not slower, or without.

    Args:
        planned: Plans with groups; ``None`` where one of them cannot be tiled.
        compared: Tells which plans are better.
        best: The best plan so far; what it has is kept.
        groups: The groups, in the order of the plan.
    """

    def beside(added: tuple[Group, ...]) -> Measured | None:
        return planned((*best.plan.groups, *added))

    found, added = that_can_be_planned(beside, groups)
    if found is None:
        return best
    losses = [(group, lost) for group, lost in compared.losses(found) if group in added]
    kept = tuple(group for group, lost in losses if lost <= 0)
    better = compared.better_of(best, found)
    if compared.delay.may_take_longer or not kept or len(kept) == len(added):
        return better
    return compared.better_of(better, plan_if_any(beside, kept))


def that_can_be_planned(
    planned: Callable[[tuple[Group, ...]], Measured | None], groups: tuple[Group, ...]
) -> tuple[Measured | None, tuple[Group, ...]]:
    """Return a plan with groups and what it has: all, or those of which there is a plan.

    A group may be refused when its step is planned, or leave no plan that fits the scratchpad.
    Which ones these are is searched for by halving, from the beginning of the network on, where
    tensors are largest.

    Args:
        planned: Plans with groups; ``None`` where one of them cannot be tiled.
        groups: Groups in the order of the plan.
    """
    best: Measured | None = None
    kept, tried, later = tuple[Group, ...](), groups, tuple[Group, ...]()
    for _ in range(_MOST_ATTEMPTS):
        if not tried:
            break
        found = plan_if_any(planned, (*kept, *tried))
        if found is not None:
            best, kept = found, (*kept, *tried)
        if found is not None or len(tried) == 1:
            tried, later = later, ()
        else:
            half = len(tried) // 2
            tried, later = tried[:half], (*tried[half:], *later)
    return best, kept


def plan_if_any(make: Callable[..., Measured | None], *given: object) -> Measured | None:
    """Return a plan, ``None`` also where there is none that fits the scratchpad.

    Args:
        make: Plans.
        given: What it is given.
    """
    try:
        return make(*given)
    except InfeasibleError:
        return None
