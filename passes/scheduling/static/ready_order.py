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
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ....ir.tiles.events import EventKind
from ....ir.tiles.graph import TileGraph
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


class _Operation(NamedTuple):
    """What an operation takes, waits for, and others wait for.

    Contents, rows of tiles that roll among them, are numbered.

    Attributes:
        unit: Which kind of engine works.
        cycles: How long it takes, by NPU [cycle].
        reads: What it reads.
        replaced: Rows whose place it takes.
        writes: What it writes.
        rows: Rows that it reads, whose place others may take.
    """

    unit: Unit
    cycles: tuple[int, ...]
    reads: tuple[int, ...]
    replaced: tuple[int, ...]
    writes: tuple[int, ...]
    rows: tuple[int, ...]


class _Accumulation(NamedTuple):
    """Operations that one NPU works through.

    Attributes:
        first: The first one.
        turns: All of them, by the NPU that executes them.
        work: What they take [cycle].
    """

    first: _Operation
    turns: Sequence[Sequence[Turn]]
    work: int


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
    _orders: dict[Preference, ReadyOrder] = field(
        init=False, repr=False, compare=False, default_factory=dict[Preference, ReadyOrder]
    )

    def order(self, preference: Preference) -> ReadyOrder:
        """Return the order, found once.

        Args:
            preference: Which goes first of those that can start at once.
        """
        if preference not in self._orders:
            run = _Run(self, preference)
            for parts in self._parts:
                run.add(parts)
            cycles = max(map(max, run.free.values()))
            self._orders[preference] = ReadyOrder(tuple(run.turns), cycles)
        return self._orders[preference]

    @cached_property
    def work(self) -> float:
        """What the busiest kind of engine works, dealt out evenly [cycle]."""
        found = Counter[Unit]()
        for op in self.operations:
            found[op.unit] += op.cycles[0]
        return max(found.values()) / len(self.arch.npus)

    @cached_property
    def operations(self) -> tuple[_Operation, ...]:
        """What each operation takes, waits for, and others wait for."""
        works, known = Works(self.graph, self.arch), dict[Content, int]()
        numbers = range(len(self.graph.ops))
        return tuple(self._operation(number, works, known) for number in numbers)

    def _operation(self, number: int, works: Works, known: dict[Content, int]) -> _Operation:
        op = self.graph.ops[number]

        def numbered(found: Iterable[Content]) -> tuple[int, ...]:
            return tuple(known.setdefault(item, len(known)) for item in found)

        def touched(tiles: Iterable[int]) -> tuple[int, ...]:
            return numbered(item for tile in tiles for item in contents(self.graph, op, tile))

        return _Operation(
            unit=op.unit,
            cycles=tuple(_cycles(works, number, npu) for npu in range(len(self.arch.npus))),
            reads=touched(op.reads),
            replaced=numbered(replaced(self.graph, op)),
            writes=touched((op.out,)),
            rows=touched(tile for tile in op.reads if self.graph.tiles[tile].rolls),
        )

    @cached_property
    def _parts(self) -> tuple[Mapping[int, Sequence[_Accumulation]], ...]:
        """Accumulations by turn, and by how many stripes they lag."""
        found: list[Mapping[int, Sequence[_Accumulation]]] = []
        for _, turn in groupby(chains(self.graph), lambda chain: self.places[chain[0][0]].turn):
            parts: dict[int, list[_Accumulation]] = defaultdict(list)
            for chain in turn:
                parts[self.places[chain[0][0]].lag].append(self._accumulation(chain))
            found.append(parts)
        return tuple(found)

    def _accumulation(self, chain: Chain) -> _Accumulation:
        turns = [turn_of(self.graph, 0, turn) for turn in chain]
        ops = [self.operations[number] for turn in turns for number in turn.ops]
        others = range(1, len(self.arch.npus))
        by_npu = [turns, *([replace(turn, npu=npu) for turn in turns] for npu in others)]
        return _Accumulation(ops[0], by_npu, sum(op.cycles[0] for op in ops))


def _cycles(works: Works, number: int, npu: int) -> int:
    """Return how long an operation takes if nobody shares its ports [cycle].

    Args:
        works: What operations ask of the machine.
        number: The operation.
        npu: Who executes it.
    """
    work = works.to_do(EventKind.COMPUTE, number, npu, clear=False)
    return work.lead + works.length(work)


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
    free: Mapping[Unit, list[int]] = field(init=False)
    written: dict[int, int] = field(default_factory=lambda: defaultdict[int, int](int))
    read: dict[int, int] = field(default_factory=lambda: defaultdict[int, int](int))
    turns: list[Turn] = field(default_factory=list[Turn])

    def __post_init__(self) -> None:
        self.free = {op.unit: [0] * len(op.cycles) for op in self.stripes.operations}

    def add(self, parts: Mapping[int, Sequence[_Accumulation]]) -> None:
        """Issue what is done in one turn.

        Args:
            parts: Accumulations by how many stripes they lag.
        """
        left = {lag: _Part(part) for lag, part in parts.items()}
        while left:
            lag = min(
                (self._start(part.next.first), self._rank(lag, part), lag)
                for lag, part in left.items()
            )[-1]
            self._issue(left[lag].take())
            if left[lag].is_done:
                del left[lag]

    def _rank(self, lag: int, part: "_Part") -> float:
        """Return what decides between accumulations that can start at once: less is better."""
        if self.preference is Preference.EVEN:
            return -part.share_left
        return lag if self.preference is Preference.EARLY else -lag

    def _start(self, op: _Operation) -> int:
        """Return when an operation can start [cycle]."""
        return max(self._ready(op), min(self.free[op.unit]))

    def _ready(self, op: _Operation) -> int:
        """Return when what an operation reads is there, and what it writes over was read."""
        ready = 0
        for item in op.reads:
            ready = max(ready, self.written[item])
        for item in op.replaced:
            ready = max(ready, self.read[item])
        return ready

    def _taker(self, op: _Operation) -> int:
        """Return the NPU that would be done with an operation first."""
        ready, free = self._ready(op), self.free[op.unit]
        done = ((max(at, ready) + op.cycles[npu], at, npu) for npu, at in enumerate(free))
        return min(done)[-1]

    def _issue(self, accumulation: _Accumulation) -> None:
        npu, operations = self._taker(accumulation.first), self.stripes.operations
        turns = accumulation.turns[npu]
        for turn in turns:
            for number in turn.ops:
                self._execute(operations[number], npu)
        self.turns += turns

    def _execute(self, op: _Operation, npu: int) -> None:
        free = self.free[op.unit]
        end = free[npu] = max(free[npu], self._ready(op)) + op.cycles[npu]
        for item in op.writes:
            self.written[item] = max(self.written[item], end)
        for item in op.rows:
            self.read[item] = max(self.read[item], end)


@dataclass
class _Part:
    """What is done in one turn by chains that lag as much, in its order.

    Attributes:
        accumulations: The accumulations.
        place: How many have been issued.
        whole: What all of them take [cycle].
        left: What those take that have not been issued [cycle].
    """

    accumulations: Sequence[_Accumulation]
    place: int = 0
    whole: int = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.whole = self.left = sum(item.work for item in self.accumulations)

    @property
    def next(self) -> _Accumulation:
        """The accumulation that is next."""
        return self.accumulations[self.place]

    @property
    def is_done(self) -> bool:
        """Whether all have been issued."""
        return self.place == len(self.accumulations)

    @property
    def share_left(self) -> float:
        """Which share of the work is left."""
        return self.left / max(1, self.whole)

    def take(self) -> _Accumulation:
        """Return the accumulation that is next, and go on to the one behind it."""
        found = self.next
        self.left -= found.work
        self.place += 1
        return found
