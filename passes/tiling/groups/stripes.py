"""Which rows of its tensors a group makes, keeps and reads again, stripe by stripe.

A group makes its last result some rows at a time. Every member makes the rows that its readers need
next and lack yet, each row once: a filter's *halo* is kept from stripe to stripe::

    stripe        0        1        2               rows of x -> 3x3 -> y, two rows of y at a time
    rows of y     0 1      2 3      4 5
    made of x     0 1 2    3 4      5
    lines of x    0 1 2    1 2 3 4  3 4 5           lines: what lies on chip, kept rows first
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, tee

from ....ir.graph import Graph, Op
from ....ir.groups import further_results
from ....ir.tiles.graph import Range
from .homes import Homes, home_of, homes_of
from .rows import Lines, SameGraph, rows_of, rows_read_of, union

_WORTH_SKIPPING = 2
"""Rounds: to look at one more than are left out takes longer."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """One round of a group.

    Attributes:
        made: Rows that are made now, by the result of the member that makes them.
        lines: Rows that lie on chip during the round, by tensor: those that members read, and of
            those that they make also what later rounds need.
    """

    made: Lines
    lines: Lines

    def further(self, steps: Mapping[str, int], times: int) -> "Stripe":
        """Return the stripe with all rows further on.

        Args:
            steps: How many rows, by tensor.
            times: How many such steps.
        """
        made, lines = (
            {name: _shifted(rows, times * steps[name]) for name, rows in part.items()}
            for part in (self.made, self.lines)
        )
        return Stripe(made, lines)

    def steps_to(self, then: "Stripe") -> Mapping[str, int] | None:
        """Return how many rows further on a stripe is that is alike but for that, by tensor.

        Args:
            then: That stripe.

        Returns:
            ``None`` where they differ otherwise.
        """
        if self.made.keys() != then.made.keys() or self.lines.keys() != then.lines.keys():
            return None
        steps = {name: rows.start - self.lines[name].start for name, rows in then.lines.items()}
        return steps if self.further(steps, 1) == then else None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Stripes in a row, each like the one before but for the rows being further on.

    Attributes:
        first: The first one.
        count: How many there are.
        steps: How many rows further on each is than the one before, by tensor.
    """

    first: Stripe
    count: int = 1
    steps: Mapping[str, int] = field(default_factory=dict[str, int])

    def stripe(self, number: int) -> Stripe:
        """Return one of them.

        Args:
            number: Its number among them.
        """
        return self.first.further(self.steps, number) if number else self.first

    @property
    def stripes(self) -> Iterator[Stripe]:
        """All of them."""
        return map(self.stripe, range(self.count))


def _shifted(rows: Range, by: int) -> Range:
    return Range(rows.start + by, rows.stop + by, rows.step)


@dataclass(frozen=True, slots=True)
class _Member:
    """What stripes see of a member.

    Attributes:
        name: Of its result.
        rows: How many that has.
        reads: Tells the rows that it reads from those that it makes.
        places: What makes each tensor that it reads, or has it in place.
    """

    name: str
    rows: int
    reads: Callable[[Range], Lines]
    places: Mapping[str, str]

    def needs(self, made: Range) -> list[tuple[str, Range]]:
        """Return the rows that it reads, of what makes them or has them in place."""
        return [(self.places[name], rows) for name, rows in self.reads(made).items()]


def _member(seen: SameGraph, op: Op, homes: Homes) -> _Member:
    """Return what stripes see of a member.

    Args:
        seen: The network.
        op: The member.
        homes: What lies in place in concatenations: who else reads it reads those.
    """
    places = {name: name for name in op.inputs}
    if homes:
        own = home_of(homes, op.name).tensor
        found = {name: home_of(homes, name).tensor for name in places}
        places = {name: name if home == own else home for name, home in found.items()}
    return _Member(op.name, rows_of(op.result.type), rows_read_of(seen, op.name), places)


@dataclass
class _Rounds:
    """Works out one round after the other; local to one call.

    Attributes:
        members: In reversed order.
        made: Rows made so far, by member.
        results: What is read outside, with the rows of each.
        rows: Rows of all tensors that have lines.
    """

    members: Sequence[_Member]
    made: dict[str, int]
    results: Mapping[str, int]
    rows: Callable[[str], int]

    def stretches(self, height: int) -> Iterator[Stretch]:
        """Yield all rounds.

        Args:
            height: Rows of the last result that a round makes.
        """
        total, last = self.members[0].rows, min(height, self.members[0].rows)
        before = self.next(last)
        yield Stretch(before)
        while last < total:
            last = min(last + height, total)
            now = self.next(last)
            steps = before.steps_to(now) or {}
            more = self._skipped(now, steps, last, height) if steps else 0
            found = Stretch(now, 1 + more, steps)
            yield found
            last, before = last + more * height, found.stripe(more)

    def _skipped(self, now: Stripe, steps: Mapping[str, int], last: int, height: int) -> int:
        """Return how many rounds are like the last two; all of them are made, and none looked at.

        Rows that are read grow with those that are made, each as an integer part of a multiple,
        until some tensor ends. So if the last one of them is what it should be, all others are.

        Args:
            now: The last round.
            steps: How many rows it is further on than the one before, by tensor.
            last: How many rows of the last result are made.
            height: Rows of it that a round makes.
        """
        left = (
            (self.rows(name) - 1 - rows.stop) // steps[name]
            for name, rows in now.lines.items()
            if steps[name]
        )
        most = min(left, default=0)
        if most < _WORTH_SKIPPING:
            return 0
        so_far = dict(self.made)
        for name in now.made:
            self.made[name] += (most - 1) * steps[name]
        if self.next(last + most * height) == now.further(steps, most):
            return most
        self.made.update(so_far)
        return 0

    def next(self, last: int) -> Stripe:
        """Return the round that makes the rows of the last result below ``last``.

        Of other results it makes at least the same part of all rows.
        """
        total = self.members[0].rows
        wanted = {
            name: Range(self.made[name], -(-rows * last // total))
            for name, rows in self.results.items()
            if -(-rows * last // total) > self.made[name]
        }
        lowest: dict[str, int] = {}
        made: dict[str, Range] = {}
        lines: dict[str, Range] = {}
        for member in self.members:
            name = member.name
            before, rows = self.made[name], wanted.get(name)
            if rows is None or rows.stop <= before:
                self._pause(member, before, lowest)
                continue
            kept = min(rows.start, lowest.get(name, rows.start))
            made[name] = Range(max(before, kept), rows.stop)
            lines[name] = Range(kept, rows.stop)
            self.made[name] = rows.stop
            for operand, needed in member.needs(made[name]):
                wanted[operand] = union(wanted.get(operand), needed)
        lines.update((name, rows) for name, rows in wanted.items() if name not in self.made)
        return Stripe(made, lines)

    def _pause(self, member: _Member, before: int, lowest: dict[str, int]) -> None:
        """Note what a member that makes nothing now needs for its next row."""
        if before < member.rows:
            for name, rows in member.needs(Range(before, before + 1)):
                lowest[name] = min(lowest.get(name, rows.start), rows.start)


def stripes(graph: Graph, members: Sequence[str], rows: int) -> tuple[Stripe, ...]:
    """Return the rounds of a group.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a round makes; 0: all.
    """
    return tuple(chain.from_iterable(item.stripes for item in stretches(graph, members, rows)))


def stripe_count(graph: Graph, members: Sequence[str], rows: int) -> int:
    """Return how many rounds a group has.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a round makes; 0: all.
    """
    return -(-rows_of(graph.types[members[-1]]) // rows) if rows else 1


def stretches(graph: Graph, members: Sequence[str], rows: int) -> Iterator[Stretch]:
    """Return the rounds of a group, each stretch of them worked out when it is asked for.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a round makes; 0: all.
    """
    return copy(_stretches(SameGraph(graph), tuple(members), rows))


@lru_cache(maxsize=64)
def _stretches(seen: SameGraph, members: tuple[str, ...], rows: int) -> Iterator[Stretch]:
    """Return the rounds of a group, to be copied: who asks what lines take asks what moves, too."""
    return tee(_each_stretch(seen, members, rows), 1)[0]


def _each_stretch(seen: SameGraph, members: tuple[str, ...], rows: int) -> Iterator[Stretch]:
    run = _rounds(seen, members)
    try:
        yield from run.stretches(rows or run.members[0].rows)
    except (Exception, KeyboardInterrupt):
        _stretches.cache_clear()  # the rounds that are known would seem to be all
        raise


def _rounds(seen: SameGraph, members: tuple[str, ...]) -> _Rounds:
    """Return what works out the rounds of a group."""
    found, results = _last_first(seen, members)
    types = seen.graph.types
    return _Rounds(found, dict.fromkeys(members, 0), results, lambda name: rows_of(types[name]))


@lru_cache(maxsize=16)
def _last_first(
    seen: SameGraph, members: tuple[str, ...]
) -> tuple[Sequence[_Member], Mapping[str, int]]:
    """Return what stripes see of members, the last one first, and the rows of what others read."""
    graph, homes = seen.graph, homes_of(seen.graph, members)
    results = (members[-1], *further_results(graph, members))
    found = [_member(seen, graph.producer[name], homes) for name in reversed(members)]
    return found, {name: rows_of(graph.types[name]) for name in results}


def hands_out(
    graph: Graph, members: Sequence[str], rows: int, resident: Collection[str] = ()
) -> bool:
    """Whether stripes can store all that others read of a group's members.

    They store lines, which have to be just the rows that are made in a stripe: none is kept.

    Args:
        graph: The network.
        members: Names of the group's operators, in execution order.
        rows: Rows of the last result that a stripe makes; 0: all.
        resident: What lies whole on chip.
    """
    stored = set(further_results(graph, members)).difference(resident)
    return not stored or all(
        item.first.made[name] == item.first.lines[name]
        for item in stretches(graph, members, rows)
        for name in stored & item.first.made.keys()
    )


_EXTRA = 1.1
"""How many pieces there may be for each round that makes something."""


def usual_rows(
    graph: Graph, members: Sequence[str], rows: int, *, may_cut: bool = True
) -> Mapping[str, int]:
    """Return how many rows each member makes at a time.

    The first round also makes the rows that later ones keep, and the last one may make fewer. Where
    there are many rounds, it is what most of them make, and others are cut into pieces of so
    many rows; among few rounds a piece more would cost too much, and it is the most that one makes.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a round makes; 0: all.
        may_cut: Whether rounds may be cut into pieces at all.
    """
    made: dict[str, Counter[int]] = {}
    for item in stretches(graph, members, rows):
        for name, part in item.first.made.items():
            made.setdefault(name, Counter())[part.size] += item.count
    return {name: _usual(sizes) if may_cut else max(sizes) for name, sizes in made.items()}


def _usual(sizes: Counter[int]) -> int:
    """Return the height of which most rows are made, or the largest one of few.

    Args:
        sizes: How many rounds make so many rows.
    """
    usual = max(sizes, key=lambda size: (size * sizes[size], size))
    pieces = sum(-(-size // usual) * count for size, count in sizes.items())
    return usual if pieces <= _EXTRA * sizes.total() else max(sizes)
