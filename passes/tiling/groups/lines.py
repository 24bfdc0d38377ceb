"""How long the lines of a group lie on chip, and when the rows are copied that stripes keep.

    stripe s     a makes lines of x      b reads them      copies the rows that s + 1 keeps
    stripe s+1   a makes new lines of x                    they are copied in front, b reads

Where space is short, what the next stripe keeps is copied away as soon as somebody has read the
lines. So lines end with the last chain that reads them, and hardly anything lies on chip of what
other chains have yet to make. Otherwise it is copied once, when new lines begin, and so are lines
that have concatenations in place.
"""

import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ....ir.graph import Graph
from ....ir.groups import ends
from ....ir.tiles.graph import Range
from .chains import Chain, chains, inputs_of
from .homes import Homes, home_of, homes_of
from .rows import SameGraph, activations, read_row_by_row, rows_of
from .stripes import Stretch, Stripe, stretches

_FIRST, _LAST = 3, 2
"""Stripes of a stretch that are looked at: one between two of it, and those at its ends."""

_LEFT_OUT = Stripe({}, {})
"""Stands for stripes that are not looked at."""


def kept_rows(now: Stripe, then: Stripe) -> Mapping[str, Range]:
    """Return the rows of lines of a stripe that are copied to those of the next one, by tensor.

    Args:
        now: The stripe.
        then: The next one.
    """
    found: dict[str, Range] = {}
    for name, rows in then.lines.items():
        if name in then.made:
            stop = then.made[name].start
        elif name in now.lines and now.lines[name].stop < rows.stop:
            stop = now.lines[name].stop
        else:
            continue
        if rows.start < stop:
            found[name] = Range(rows.start, stop)
    return found


def keepers(
    parts: Sequence[Chain], now: Stripe, then: Stripe | None, homes: Homes
) -> Mapping[str, int]:
    """Return after which chain of a stripe the rows are copied that the next one keeps, by tensor.

    That is the first chain that reads them, if none before it does so in the next stripe: however
    far chains lag, the copy then comes first. Other tensors are copied when new lines begin.

    Args:
        parts: The chains of a group.
        now: The stripe.
        then: The next one, if there is one.
        homes: What lies in place in concatenations.
    """
    return _keepers(_links(parts, homes), now, then, homes)


@dataclass(frozen=True, slots=True)
class _Link:
    """What lines see of a chain.

    Attributes:
        result: What it makes.
        home: Where that lies: itself, or the concatenation that it is part of.
        reads: All that its members read.
        homes: Where that lies.
    """

    result: str
    home: str
    reads: frozenset[str]
    homes: frozenset[str]


def _links(parts: Sequence[Chain], homes: Homes) -> tuple[_Link, ...]:
    found: list[_Link] = []
    for chain in parts:
        result, reads = chain[-1].name, inputs_of(chain)
        places = frozenset(home_of(homes, name).tensor for name in reads)
        found.append(_Link(result, home_of(homes, result).tensor, reads, places))
    return tuple(found)


def _keepers(
    links: Sequence[_Link], now: Stripe, then: Stripe | None, homes: Homes
) -> Mapping[str, int]:
    if then is None:
        return {}
    shared = {home.tensor for home in homes.values()} | homes.keys()
    first, next_first = _first_readers(links, now), _first_readers(links, then)
    return {
        name: first[name]
        for name in kept_rows(now, then)
        if name not in shared
        and name in first
        and name in next_first
        and first[name] <= next_first[name]
    }


def is_active(result: str, stripe: Stripe) -> bool:
    """Whether a chain makes anything in a stripe.

    Args:
        result: What it makes.
        stripe: The stripe.
    """
    return result in stripe.made


def _first_readers(links: Sequence[_Link], stripe: Stripe) -> Mapping[str, int]:
    """Return the first chain that reads each tensor in a stripe."""
    found: dict[str, int] = {}
    for number, link in enumerate(links):
        if is_active(link.result, stripe):
            for name in link.reads:
                found.setdefault(name, number)
    return found


def bytes_of_lines(
    graph: Graph,
    members: Sequence[str],
    rows: int,
    resident: Iterable[str] = (),
    *,
    is_early: bool = True,
) -> int:
    """Return what the lines of a group take at most, if no chain lags [byte].

    That counts rows of inputs that have come and are not in their lines yet. In the last stripes,
    where some members have nothing left to make, it may be a little more.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a stripe makes; 0: all.
        resident: Inputs that lie whole on chip, elsewhere.
        is_early: Whether rows that are kept are copied as soon as lines have been read.
    """
    return _lines(graph, members, rows, resident, is_early).most


def lines_fit(
    graph: Graph, members: Sequence[str], rows: int, space: float, resident: Iterable[str] = ()
) -> bool:
    """Whether the lines of a group take no more than some space, if no chain lags.

    Stripes are looked at until one needs more.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a stripe makes; 0: all.
        space: What they may take [byte].
        resident: Inputs that lie whole on chip, elsewhere.
    """
    return _lines(graph, members, rows, resident, is_early=True).fit(space)


@dataclass
class _Lines:
    """What the lines of a group take, by its stripes in turn.

    Attributes:
        left: What they take in stripes that were not looked at [byte].
        largest: The most of those that were [byte].
    """

    left: Iterator[int]
    largest: int = 0

    def fit(self, space: float) -> bool:
        """Whether they take no more than some space.

        Args:
            space: The space [byte].
        """
        try:
            while self.largest <= space:
                size = next(self.left, None)
                if size is None:
                    return True
                self.largest = max(self.largest, size)
        except (Exception, KeyboardInterrupt):
            _rounds.cache_clear()  # the stripes that were looked at would seem to be all
            _known_lines.cache_clear()
            raise
        return False

    @property
    def most(self) -> int:
        """What they take at most [byte]."""
        self.fit(math.inf)
        return self.largest


def _lines(
    graph: Graph, members: Sequence[str], rows: int, resident: Iterable[str], is_early: bool
) -> _Lines:
    read = {name for member in members for name in graph.producer[member].inputs}
    beside = frozenset(read.intersection(resident))
    return _known_lines(SameGraph(graph), tuple(members), rows, beside, is_early)


@lru_cache(maxsize=256)
def _known_lines(
    seen: SameGraph, members: tuple[str, ...], rows: int, resident: frozenset[str], is_early: bool
) -> _Lines:
    """Return the lines of a group; who chooses groups asks about the same ones several times."""
    group = _outline(seen, members)
    if len(group.links) == 1 and not rows:
        return _Lines(iter(()))
    without = resident & group.row_bytes.keys()
    rounds = copy(_rounds(seen, members, rows, is_early))
    return _Lines(item.most_bytes(without) for item in rounds)


@dataclass(frozen=True)
class _Outline:
    """What lines see of a group, whatever its stripes are.

    Attributes:
        links: Its chains.
        homes: What lies in place in concatenations.
        row_bytes: Of a row of each tensor that has lines.
        by_row: Those of them that come row by row, and are copied nowhere.
    """

    links: Sequence[_Link]
    homes: Homes
    row_bytes: Mapping[str, int]
    by_row: Collection[str]


@lru_cache(maxsize=16)
def _outline(seen: SameGraph, members: tuple[str, ...]) -> _Outline:
    graph = seen.graph
    parts, homes = chains(graph, members), homes_of(graph, members)
    row_bytes = _row_bytes(graph, parts, homes.keys() | ends(graph, members))
    ops = [graph.producer[name] for name in members]
    by_row = read_row_by_row(graph, ops, row_bytes.keys() - set(members))
    return _Outline(_links(parts, homes), homes, row_bytes, by_row)


@lru_cache(maxsize=16)
def _rounds(
    seen: SameGraph, members: tuple[str, ...], rows: int, is_early: bool
) -> Iterator["_Round"]:
    """Return the stripes of a group that differ, to be copied: soon others ask for them, too."""
    return itertools.tee(_distinct_rounds(seen, members, rows, is_early), 1)[0]


def _distinct_rounds(
    network: SameGraph, members: tuple[str, ...], rows: int, is_early: bool
) -> Iterator["_Round"]:
    group = _outline(network, members)
    seen: set[Hashable] = set()
    known: dict[str, Range] = {}
    around = itertools.chain((None,), _telling(stretches(network.graph, members, rows)), (None,))
    pairs = ((pair, _places(*pair)) for pair in itertools.pairwise(around))
    for ((before, now), earlier), ((_, then), later) in itertools.pairwise(pairs):
        assert now is not None
        if any(item is _LEFT_OUT for item in (before, now, then)):
            continue
        left = {name: rows.size for name, rows in known.items() if name not in now.lines}
        known |= now.lines
        key = (earlier, later, *sorted(left.items()))
        if key not in seen:
            seen.add(key)
            yield _Round(group, is_early, left, before, now, then)


def _telling(found: Iterable[Stretch]) -> Iterator[Stripe]:
    """Yield stripes, but for those in the middle of long stretches: others before are like them."""
    for item in found:
        if item.count <= _FIRST + _LAST:
            yield from item.stripes
        else:
            yield from map(item.stripe, range(_FIRST))
            yield _LEFT_OUT
            yield from map(item.stripe, range(item.count - _LAST, item.count))


def _places(now: Stripe | None, then: Stripe | None) -> Hashable:
    """Return what tells two stripes in a row from others, wherever they are in their tensors."""
    found: list[Hashable] = [now is None]
    origins: dict[str, int] = {}
    for stripe in filter(None, (now, then)):
        for part in (stripe.made, stripe.lines):
            for name, rows in part.items():
                origin = origins.setdefault(name, rows.start)
                found.append((name, rows.start - origin, rows.stop - origin))
            found.append(None)
    return tuple(found)


def _row_bytes(graph: Graph, parts: Sequence[Chain], without: Collection[str]) -> Mapping[str, int]:
    """Return the bytes of a row of each tensor that has lines, but for some."""
    made = {chain[-1].name for chain in parts}
    inside = {op.name for chain in parts for op in chain}
    heads = (chain[0] for chain in parts)
    read = {name for op in heads for name in activations(op) if not graph.is_constant(name)}
    types = {name: graph.types[name] for name in (made | (read - inside)).difference(without)}
    return {name: type.bytes // rows_of(type) for name, type in types.items()}


_Life = tuple[int, int, int]
"""First step, last step and number of rows."""


@dataclass(frozen=True)
class _Round:
    """Which rows lie on chip when in a stripe.

    A chain takes two steps: rows are copied in front of lines in the first one; in the second one
    results are made, and then rows copied that the next stripe keeps.

    Attributes:
        group: The group.
        is_early: Whether rows that are kept are copied as soon as lines have been read.
        left: Rows of lines of earlier stripes, of what is no longer made.
        before: The stripe before.
        now: The stripe.
        then: The next one.
    """

    group: _Outline
    is_early: bool
    left: Mapping[str, int]
    before: Stripe | None
    now: Stripe
    then: Stripe | None

    def most_bytes(self, without: Collection[str] = ()) -> int:
        """Return what lies on chip at most [byte].

        Args:
            without: Tensors that do not count.
        """
        changes = list(self._changes)
        for name in without:
            self._change(changes, name, -1)
        return max(itertools.accumulate(changes))

    @cached_property
    def _changes(self) -> Sequence[int]:
        """What comes in each step, less what has left, of all tensors [byte]."""
        found = [0] * (2 * len(self.group.links) + 1)
        for name in self.group.row_bytes:
            self._change(found, name, 1)
        return found

    def _change(self, changes: list[int], name: str, times: int) -> None:
        """Add what comes of a tensor in each step, less what leaves, so many times."""
        size = times * self.group.row_bytes[name]
        for first, last, rows in self._lives_of(name):
            changes[first] += rows * size
            changes[last + 1] -= rows * size

    def _lives_of(self, name: str) -> Iterator[_Life]:
        """Yield the lives of a tensor's rows."""
        if name in self.now.lines:
            always = (0, 2 * len(self.group.links) - 1, self._arrived(name))
            is_by_row = name in self.group.by_row
            yield from (always,) if is_by_row else self._lives_of_lines(name)
        elif name in self.left and name in self._readers:
            yield 0, self._readers[name][1], self.left[name]

    def _arrived(self, name: str) -> int:
        """Return how many rows there are of what comes row by row: they leave as they came."""
        rows = self.now.lines[name]
        before = self.before.lines.get(name) if self.before is not None else None
        if before is None or before.stop <= rows.start:
            return rows.size
        return rows.stop - before.start

    def _lives_of_lines(self, name: str) -> Iterator[_Life]:
        """Yield the lives of lines, of rows that are kept before and after, and of new ones."""
        end, rows = 2 * len(self.group.links) - 1, self.now.lines[name]
        first, last = self._readers.get(name, (0, end))
        begin = made = self._writers.get(name, 0)
        if name in self._was_kept:
            copied = first if name in self._was_early or not made else made - 1
            begin = min(copied, made) if made else copied
            yield 0, copied, self._kept_tile(name).size
            if not made:
                yield 0, copied, rows.stop - self._was_kept[name].stop
        remains = name in self._read_next and name not in self._next_early
        yield begin, end if remains else last, rows.size
        if name in self._next_early:
            yield first + 1, end, self._is_kept[name].size

    def _kept_tile(self, name: str) -> Range:
        """Return the rows of the tile that kept rows are copied from."""
        if self.before is None or name in self._was_early:
            return self._was_kept[name]
        return self.before.lines.get(name, self._was_kept[name])

    @cached_property
    def _was_kept(self) -> Mapping[str, Range]:
        return {} if self.before is None else kept_rows(self.before, self.now)

    @cached_property
    def _is_kept(self) -> Mapping[str, Range]:
        return {} if self.then is None else kept_rows(self.now, self.then)

    @cached_property
    def _read_next(self) -> Collection[str]:
        """What the next stripe reads of these lines, or of the rows that are copied from them."""
        if self.then is None:
            return ()
        left = _first_readers(self.group.links, self.then).keys() - self.then.lines.keys()
        return self._is_kept.keys() | left

    @cached_property
    def _was_early(self) -> Mapping[str, int]:
        if self.before is None or not self.is_early:
            return {}
        return _keepers(self.group.links, self.before, self.now, self.group.homes)

    @cached_property
    def _next_early(self) -> Mapping[str, int]:
        group = self.group
        return _keepers(group.links, self.now, self.then, group.homes) if self.is_early else {}

    @cached_property
    def _readers(self) -> Mapping[str, tuple[int, int]]:
        """The first and the last step in which each tensor is read."""
        found: dict[str, tuple[int, int]] = {}
        for number, link in enumerate(self.group.links):
            if is_active(link.result, self.now):
                for name in link.homes:
                    found[name] = found.get(name, (2 * number, 0))[0], 2 * number + 1
        return found

    @cached_property
    def _writers(self) -> Mapping[str, int]:
        """The first step in which each tensor is written."""
        found: dict[str, int] = {}
        for number, link in enumerate(self.group.links):
            if is_active(link.result, self.now):
                found.setdefault(link.home, 2 * number + 1)
        return found
