"""Choose groups: consecutive steps of a plan whose tensors are kept on chip between them.

Which intervals of the order to fuse, each with which stripes, is decided by dynamic programming.
What a group moves and how long it takes is measured by tiling it, which is slow. So a group that
was not measured counts as what it can be at best, and the program is solved anew until everything
that it chooses has been measured, or choosing from those that were cannot be much worse. That is
nearly the best choice of all that was offered, as far as no estimate lies above the truth.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ....ir.graph_schedule import Group
from ...deadline import NEVER, Deadline
from .expected import ExpectedCycles
from .experience import Experience, Span
from .group_costs import Cost
from .offers import Offers

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

_MOST_MEASURED, _MOST_WITH_HEIGHTS, MOST_OPERATIONS = 80, 100, 150_000
"""Groups that are measured, the same with other heights of those that are chosen, and operations
of the tiles that are scheduled for it (10,000 to 60,000 for usual networks); then only these groups
are chosen from."""

_OTHER_ROWS, CLEARLY = 0.9, 0.97
"""Part of what a chosen group with other stripes is expected to take that it may take; and part of
the price of those that were chosen that others cost at most if they are taken instead."""

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


@dataclass
class Intervals:
    """The intervals of one plan without groups; local to one choice.

    Attributes:
        offers: The groups that may be worth measuring.
        expects: Tells what groups are expected to take.
        deadline: When what was measured by then has to do.
        most_operations: Of tiles that are scheduled for what is measured.
    """

    offers: Offers
    expects: ExpectedCycles
    deadline: Deadline = NEVER
    most_operations: int = MOST_OPERATIONS
    _known: dict[Group, Cost | None] = field(default_factory=dict[Group, Cost | None])
    _expected: dict[Group, float] = field(default_factory=dict[Group, float])
    _experience: Experience = field(default_factory=Experience)
    _fastest: dict[Span, float] = field(default_factory=dict[Span, float])
    _cheapest: dict[_Terms, dict[Span, tuple[float, Group] | None]] = field(
        default_factory=dict[_Terms, dict[Span, tuple[float, Group] | None]]
    )
    """Of what is known now: the least price of groups of the same steps, and whose it is."""

    def __post_init__(self) -> None:
        self._before = self.offers.traffic.operations

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
            stuck = [group for group, _, _ in chosen if not self.offers.costs.fits(group)]
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
            if self.offers.price(found) < self._clearly_better(group):
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
        for rows, estimate in self.offers.heights(start, stop):
            other = replace(group, rows=rows)
            if other in self._known:
                continue
            cycles = max(estimate.cycles, _OTHER_ROWS * self._expect(other))
            if self.offers.price(replace(estimate, cycles=cycles)) < self._clearly_better(group):
                found.append((other, start, stop))
        return tuple(found)

    def _clearly_better(self, group: Group) -> float:
        """Return the price of what is clearly better than a group that was measured."""
        chosen = self._known[group]
        assert chosen is not None
        return CLEARLY * self.offers.price(chosen)

    def _expect(self, group: Group) -> float:
        """Return what the nests of a group's members take, worked out once [cycle]."""
        if group not in self._expected:
            self._expected[group] = self.expects.of(group)
            start = self.offers.plan.step_of[group.members[0]]
            for prices in self._cheapest.values():
                prices.pop((start, start + len(group.members)), None)
        return self._expected[group]

    def _ask_ahead(self, chosen: Sequence[_Placed]) -> None:
        """Tell what will be asked of groups that are chosen."""
        self.offers.costs.fits_ahead(group for group, _, _ in chosen)
        others = (other for item in chosen for other in self._other_heights(*item))
        self.offers.costs.measured_ahead(group for group, _, _ in others)

    def _measure(self, asked: Sequence[_Placed], most: int) -> None:
        """Tile groups while that is open.

        Args:
            asked: The groups.
            most: How many may be measured in all.
        """
        left = 0 if self._is_closed(most) else most - len(self._known)
        self.offers.costs.measured_ahead(group for group, _, _ in asked[:left])
        for group, start, stop in asked:
            if self._is_closed(most):
                break
            expected = self._expected[group]
            costs = self.offers.costs.measured(group, expected, self.offers.price)
            found = min(costs, key=self.offers.price, default=None)
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
        scheduled = self.offers.traffic.operations - self._before
        is_much = len(self._known) >= most or scheduled >= self.most_operations
        return is_much or self.deadline.is_over

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
        steps = zip(self.offers.alone, self.offers.base.prospects, strict=True)
        parts = (
            (_COMPUTING if self._computes(item) else _MOVING)
            * min(item.cycles, _WELL_MAPPED * prospect)
            for item, prospect in steps
        )
        return tuple(itertools.accumulate(parts, initial=0.0))

    def _computes(self, cost: Cost) -> bool:
        return cost.cycles > _LONGER * self.offers.delay.cycles_of(int(cost.bytes))

    def _best(self, terms: _Terms) -> tuple[float, tuple[_Placed, ...]]:
        """Return the least price, and the groups with it: first step, and the one behind the last.

        Args:
            terms: What can be chosen.
        """
        prices = self._cheapest.setdefault(terms, {})
        best: list[tuple[float, int, Group | None]] = [(0.0, 0, None)]
        for stop, starts in enumerate(self.offers.starts, start=1):
            alone = self.offers.price(self.offers.alone[stop - 1])
            least = (best[stop - 1][0] + alone, stop - 1, None)
            for start in starts:
                if (start, stop) not in prices:
                    offered = self._offered(start, stop, terms)
                    prices[start, stop] = min(offered, key=lambda item: item[0], default=None)
                found = prices[start, stop]
                if found is not None and best[start][0] + found[0] < least[0]:
                    least = (best[start][0] + found[0], start, found[1])
            best.append(least)
        return best[-1][0], tuple(reversed(list(_chosen(best))))

    def _offered(self, start: int, stop: int, terms: _Terms) -> Iterator[tuple[float, Group]]:
        """Yield the groups of some steps that can be chosen, with their prices."""
        offers, share = self.offers.of(start, stop), terms.share
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
                yield self.offers.price(found), group


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
