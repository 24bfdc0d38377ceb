"""Issue the operations of a group's stripes when they can start, on the engines that are free.

    evenly mixed   array   a2 b1 a2 b1 ..      b1 waits for what the vector unit makes of a1,
                                               and a2 waits behind it
    when ready     array   a2 a2 b1 b1 ..      a2 needs nothing of that, and goes first

Of each turn of the stripes, operations that lag as much keep their order. Accumulations that lag
differently take turns: the one is next that can start first, on the NPU that is done with it first.
Operations take as long as they do alone, wait for what they read, and for rows whose place they
take; where tiles lie, and who shares a port, is not looked at.

References:
    Graham: Bounds on Multiprocessing Timing Anomalies. SIAM Journal on Applied Mathematics 17(2),
    1969 (list scheduling).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ....ir.tiles.events import EventKind
from ....ir.tiles.graph import TileGraph, TileOp
from ...tiling.groups.group import OpPlace
from ..timing.work import Works
from .issue_order import Chain, Content, Turn, chains, contents, replaced, turn_of


class Preference(Enum):
    """Which accumulation is next, of several that can start at once."""

    EVEN = "even"
    """That of the lag of which most of the turn's work is left."""
    LATE = "late"
    """The one that lags most."""
    EARLY = "early"
    """The one that lags least."""


@dataclass(frozen=True)
class ReadyOrder:
    """Operations in the order in which they can start.

    Attributes:
        turns: All of them, each with its NPU.
        cycles: When the last one is expected to end.
    """

    turns: tuple[Turn, ...]
    cycles: int


class _Needs(NamedTuple):
    """What an operation waits for, and what waits for it.

    Attributes:
        reads: What it reads.
        replaced: Rows whose place it takes.
        writes: What it writes.
        rows: Rows that it reads, whose place others may take.
    """

    reads: tuple[Content, ...]
    replaced: tuple[Content, ...]
    writes: tuple[Content, ...]
    rows: tuple[Content, ...]


@dataclass(frozen=True)
class ReadyStripes:
    """The operations of a group's stripes, to be put in the order in which they can start.

    Attributes:
        graph: Tiles and operations.
        places: Turn and lag of every operation; turns follow each other.
        arch: The machine.
    """

    graph: TileGraph
    places: Sequence[OpPlace]
    arch: Architecture

    def order(self, preference: Preference) -> ReadyOrder:
        """Return the order.

        Args:
            preference: Which goes first of those that can start at once.
        """
        run = _Run(self, preference)
        for parts in self._parts:
            run.add(parts)
        return ReadyOrder(tuple(run.turns), max(run.free.values()))

    @cached_property
    def work(self) -> float:
        """What the busiest kind of engine works, dealt out evenly [cycle]."""
        found = Counter[Unit]()
        for number, op in enumerate(self.graph.ops):
            found[op.unit] += self.cycles(number, 0)
        return max(found.values()) / len(self.arch.npus)

    def cycles(self, number: int, npu: int) -> int:
        """Return how long an operation takes if nobody shares its ports [cycle].

        Args:
            number: The operation.
            npu: Who executes it.
        """
        work = self._works.to_do(EventKind.COMPUTE, number, npu, clear=False)
        return work.lead + self._works.length(work)

    @cached_property
    def _works(self) -> Works:
        return Works(self.graph, self.arch)

    @cached_property
    def _parts(self) -> tuple[Mapping[int, Sequence[Chain]], ...]:
        """Accumulations by turn, and by how many stripes they lag."""
        found: list[Mapping[int, Sequence[Chain]]] = []
        for _, turn in groupby(chains(self.graph), lambda chain: self.places[chain[0][0]].turn):
            parts: dict[int, list[Chain]] = defaultdict(list)
            for chain in turn:
                parts[self.places[chain[0][0]].lag].append(chain)
            found.append(parts)
        return tuple(found)

    @cached_property
    def needs(self) -> tuple[_Needs, ...]:
        """What each operation waits for, and what waits for it."""
        return tuple(map(self._needs_of, self.graph.ops))

    def _needs_of(self, op: TileOp) -> _Needs:
        def of(tiles: Iterable[int]) -> tuple[Content, ...]:
            return tuple(item for tile in tiles for item in contents(self.graph, op, tile))

        rolling = (tile for tile in op.reads if self.graph.tiles[tile].rolls)
        taken = tuple(replaced(self.graph, op))
        return _Needs(of(op.reads), taken, of((op.out,)), of(rolling))


@dataclass
class _Run:
    """One order in the making.

    Attributes:
        stripes: The operations.
        preference: Which goes first of those that can start at once.
        free: When the engines of each kind are free, by NPU [cycle].
        written: When what operations hand on is there [cycle].
        read: When rows of tiles that roll have been read [cycle].
        turns: What has been issued.
    """

    stripes: ReadyStripes
    preference: Preference
    free: dict[tuple[Unit, int], int] = field(default_factory=dict[tuple[Unit, int], int])
    written: dict[Content, int] = field(default_factory=dict[Content, int])
    read: dict[Content, int] = field(default_factory=dict[Content, int])
    turns: list[Turn] = field(default_factory=list[Turn])

    @property
    def _npus(self) -> range:
        return range(len(self.stripes.arch.npus))

    def add(self, parts: Mapping[int, Sequence[Chain]]) -> None:
        """Issue what is done in one turn.

        Args:
            parts: Accumulations by how many stripes they lag.
        """
        left = {lag: _Part(part, [*map(self._work, part)]) for lag, part in parts.items()}
        while left:
            lag = min(
                (self._start(part.next), self._rank(lag, part), lag) for lag, part in left.items()
            )[-1]
            self._issue(left[lag].take())
            if left[lag].is_done:
                del left[lag]

    def _rank(self, lag: int, part: "_Part") -> float:
        """Return what decides between accumulations that can start at once: less is better."""
        if self.preference is Preference.EVEN:
            return -part.share_left
        return lag if self.preference is Preference.EARLY else -lag

    def _work(self, chain: Chain) -> int:
        return sum(self.stripes.cycles(number, 0) for turn in chain for number in turn)

    def _start(self, chain: Chain) -> int:
        """Return when the first operation of an accumulation can start [cycle]."""
        number = chain[0][0]
        unit = self.stripes.graph.ops[number].unit
        return max(self._ready(number), min(self._free(unit, npu) for npu in self._npus))

    def _free(self, unit: Unit, npu: int) -> int:
        return self.free.get((unit, npu), 0)

    def _ready(self, number: int) -> int:
        """Return when what an operation reads is there, and what it writes over was read."""
        needs, written, read = self.stripes.needs[number], self.written, self.read
        ready = max([written.get(item, 0) for item in needs.reads], default=0)
        return max([ready, *(read.get(item, 0) for item in needs.replaced)])

    def _taker(self, number: int) -> int:
        """Return the NPU that would be done with an operation first."""
        unit, ready = self.stripes.graph.ops[number].unit, self._ready(number)

        def done(npu: int) -> tuple[int, int, int]:
            free = self._free(unit, npu)
            return max(free, ready) + self.stripes.cycles(number, npu), free, npu

        return min(map(done, self._npus))[-1]

    def _issue(self, chain: Chain) -> None:
        npu = self._taker(chain[0][0])
        for turn in chain:
            for number in turn:
                self._execute(number, npu)
            self.turns.append(turn_of(self.stripes.graph, npu, turn))

    def _execute(self, number: int, npu: int) -> None:
        unit, needs = self.stripes.graph.ops[number].unit, self.stripes.needs[number]
        start = max(self._free(unit, npu), self._ready(number))
        end = self.free[unit, npu] = start + self.stripes.cycles(number, npu)
        for item in needs.writes:
            self.written[item] = max(self.written.get(item, 0), end)
        for item in needs.rows:
            self.read[item] = max(self.read.get(item, 0), end)


@dataclass
class _Part:
    """What is done in one turn by chains that lag as much, in its order.

    Attributes:
        chains: The accumulations.
        work: What each of them takes [cycle].
        place: How many have been issued.
        whole: What all of them take [cycle].
        left: What those take that have not been issued [cycle].
    """

    chains: Sequence[Chain]
    work: Sequence[int]
    place: int = 0
    whole: int = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.whole = self.left = sum(self.work)

    @property
    def next(self) -> Chain:
        """The accumulation that is next."""
        return self.chains[self.place]

    @property
    def is_done(self) -> bool:
        """Whether all have been issued."""
        return self.place == len(self.chains)

    @property
    def share_left(self) -> float:
        """Which share of the work is left."""
        return self.left / max(1, self.whole)

    def take(self) -> Chain:
        """Return the accumulation that is next, and go on to the one behind it."""
        chain = self.next
        self.left -= self.work[self.place]
        self.place += 1
        return chain
