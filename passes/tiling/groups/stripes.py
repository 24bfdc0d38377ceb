"""Which rows of its tensors a group makes, keeps and reads again, stripe by stripe.

A group makes its last result some rows at a time. Every member makes the rows that its readers need
next and lack yet, each row once: a filter's *halo* is kept from stripe to stripe::

    stripe        0        1        2               rows of x -> 3x3 -> y, two rows of y at a time
    rows of y     0 1      2 3      4 5
    made of x     0 1 2    3 4      5
    lines of x    0 1 2    1 2 3 4  3 4 5           lines: what lies on chip, kept rows first
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, tee

from ....ir.graph import Graph, Op
from ....ir.groups import further_results
from ....ir.operators.families.moves import joins_channels
from ....ir.operators.image import rows_met
from ....ir.operators.views import window_of
from ....ir.ops import aligned_part, is_aligned, is_mac, operand_types
from ....ir.tiles.graph import Range
from ....ir.types import TensorType
from .chains import tiled_operands
from .homes import Homes, home_of, homes_of

Lines = Mapping[str, Range]
"""Rows, by tensor."""

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


def row_axis(type: TensorType) -> int:
    """Return the axis of a tensor that its rows are counted along."""
    return max(0, len(type.shape) - 2)


def rows_of(type: TensorType) -> int:
    """Return how many rows a tensor has."""
    return type.shape[row_axis(type)] if type.shape else 1


def rows_read(graph: Graph, op: Op) -> Callable[[Range], Lines]:
    """Return what tells the rows that an operator reads, from those that it makes.

    Args:
        graph: The network.
        op: A convolution, a product, a concatenation, or what :func:`makes_rows`.
    """
    if is_mac(op):
        source, filtered = op.operands[0], _filtered(graph, op)
        return lambda made: {source: filtered(made)}
    if joins_channels(op):
        joined = [name for name in op.operands if has_lines(graph, op, name)]
        return lambda made: dict.fromkeys(joined, made)
    part, axis = aligned_part(op, operand_types(op, graph.types)), row_axis(op.result.type)
    reads = [
        (op.operands[read.operand], read.axes[axis], read.view.shape[axis])
        for read in part.reads
        if has_lines(graph, op, op.operands[read.operand])
    ]

    def aligned(made: Range) -> Lines:
        found: dict[str, Range] = {}
        for name, rows, extent in reads:
            found[name] = _union(found.get(name), rows.range(made, extent))
        return found

    return aligned


def makes_rows(graph: Graph, op: Op) -> bool:
    """Whether an operator of the vector unit makes some rows of its result from some of operands.

    Pools, operators of one element, reductions along columns or channels and reshapes do, but not
    what reduces all rows to one.

    Args:
        graph: The network.
        op: The operator.
    """
    types = operand_types(op, graph.types)
    if not is_aligned(op, types):
        return False
    rank, rows = len(op.result.type.shape), rows_of(op.result.type)
    alike = (type for type in types if type is not None and len(type.shape) == rank)
    return rows > 1 or all(rows_of(type) == 1 for type in alike)


def has_lines(graph: Graph, op: Op, name: str) -> bool:
    """Whether an operator reads rows of an operand: an activation with as many axes as its result.

    Vectors along columns, say, are fetched as the tiles need them, and so is what a reshape reads.
    Weights, if they are computed, are read all of them for every row.

    Args:
        graph: The network.
        op: The operator.
        name: The operand.
    """
    ranks = (len(graph.types[name].shape), len(op.result.type.shape))
    is_alike = ranks[0] == ranks[1] and op.kind != "reshape"
    return name in activations(op) and not graph.is_constant(name) and (is_mac(op) or is_alike)


def activations(op: Op) -> tuple[str, ...]:
    """Return the operands of an operator that are no weights, biases or tables.

    Args:
        op: The operator.
    """
    return tuple(filter(None, op.operands[:1] if is_mac(op) else tiled_operands(op)))


def reads_lines(graph: Graph, op: Op) -> tuple[str, ...]:
    """Return the operands that an operator reads in lines.

    Args:
        graph: The network.
        op: The operator.
    """
    return tuple(name for name in activations(op) if has_lines(graph, op, name))


def read_row_by_row(graph: Graph, ops: Sequence[Op], names: Iterable[str]) -> frozenset[str]:
    """Return which of some tensors all operators that read them read row by row.

    Args:
        graph: The network.
        ops: The operators.
        names: The tensors.
    """
    return frozenset(
        name
        for name in names
        if all(reads_row_by_row(graph, op, name) for op in ops if name in op.inputs)
    )


def reads_row_by_row(graph: Graph, op: Op, name: str) -> bool:
    """Whether an operator reads, of one of its operands, for every row just this row.

    Args:
        graph: The network.
        op: The operator.
        name: The operand.
    """
    rows = rows_of(graph.types[name])
    if rows != rows_of(op.result.type) or len(graph.types[name].shape) != len(op.result.type.shape):
        return False
    read, at = _rows_read(SameGraph(graph), op.name), (Range(0, 1), Range(rows - 1, rows))
    return all(read(row).get(name) == row for row in at)


def _filtered(graph: Graph, op: Op) -> Callable[[Range], Range]:
    """Return what tells the rows of its input that an operator of the MAC array reads."""
    if op.kind == "dense":
        return lambda made: made
    extent = rows_of(graph.types[op.operands[0]])
    window, taps = window_of(op, (1, 1)), Range(0, graph.types[op.operands[1]].shape[2])

    def filtered(made: Range) -> Range:
        met = rows_met(window, 0, made, taps, extent)
        return Range(met.start, met.stop)

    return filtered


def _shifted(rows: Range, by: int) -> Range:
    return Range(rows.start + by, rows.stop + by, rows.step)


def _union(first: Range | None, second: Range) -> Range:
    if first is None:
        return Range(second.start, second.stop)
    return Range(min(first.start, second.start), max(first.stop, second.stop))


@dataclass(frozen=True, eq=False)
class SameGraph:
    """A network, the same as another only if it is that one: to compare all parts takes long."""

    graph: Graph

    def __hash__(self) -> int:
        return id(self.graph)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameGraph) and self.graph is other.graph


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
    return _Member(op.name, rows_of(op.result.type), _rows_read(seen, op.name), places)


@lru_cache(maxsize=1024)
def _rows_read(seen: SameGraph, name: str) -> Callable[[Range], Lines]:
    """Return what tells the rows that an operator reads; of all groups, many ask for the same."""
    return cache(rows_read(seen.graph, seen.graph.producer[name]))


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
                wanted[operand] = _union(wanted.get(operand), needed)
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
