"""Which chains of a fused group may lag a stripe, so that engines wait less.

    in turn      array   a0 .. b0 .. a1 .. b1 ..        b waits for what the vector unit makes of a
                 vector     a0    b0    a1    b1

    b lags       array   a0 a1 b0 a2 b1 a3 b2 ..
                 vector     a0 a1 b0 a2 b1 a3 ..

Each lag takes space for more rows, and only scheduling tells what fits. Which sets of chains are
worth that is estimated: the operations of some stripes in their order, each as long as it took in a
schedule without lag, wait for their engine and for what they read, and for nothing else.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from ....ir.errors import InfeasibleError
from ....ir.isa.instructions import Space, Unit
from ....ir.tiles.events import EventKind
from ....ir.tiles.graph import TileGraph, TileOp
from ....ir.tiles.schedule import TileSchedule
from .demand import check_demand
from .issue_order import Dealing, Turn, issue_order

Lags = tuple[int, ...]
"""Numbers of the chains that lag a stripe more than the one before."""

_FEW, _MANY = 4, 8
"""Stripes that are looked at."""

_DEPTH = 4
"""Chains that lag at most."""

_WORTH = 0.98
"""Part of the time of another order that a better one takes at most."""


@dataclass(frozen=True)
class LagSearch:
    """Looks for the chains of a group that should lag.

    Attributes:
        in_turn: The schedule in which none does.
        ranges: First byte and size of what tiles may use of each space.
        npus: How many share the work.
        dealing: How accumulations are dealt out.
        may_lag: Which chains can.
        stripes: How many stripes the group has.
        ordered: Returns the operations where some chains lag, of so many stripes, the first ones.
    """

    in_turn: TileSchedule
    ranges: Mapping[Space, tuple[int, int]]
    npus: int
    dealing: Dealing
    may_lag: Lags
    stripes: int
    ordered: Callable[[Lags, int], TileGraph]
    _fitting: dict[Lags, bool] = field(
        init=False, repr=False, compare=False, default_factory=lambda: {(): True}
    )

    def options(self, most: int) -> tuple[Lags, ...]:
        """Return the lags that are expected to take less time than none, the best ones first.

        One chain after the other is added, always the one with which all takes least then; none
        where the busiest engine hardly waits.

        Args:
            most: How many to return at most.
        """
        if not self.may_lag:
            return ()
        expected: dict[Lags, float] = {(): self._expected(())}
        if self._least >= _WORTH * expected[()]:
            return ()
        best: Lags = ()
        for _ in range(_DEPTH):
            added = [tuple(sorted((*best, item))) for item in self.may_lag if item not in best]
            expected.update((item, self._expected(item)) for item in added if item not in expected)
            best = next(filter(self._fits, _sorted(expected)))
            if len(best) < max(map(len, expected)):
                break
        worth = {item: time for item, time in expected.items() if time < _WORTH * expected[()]}
        return tuple(islice(filter(self._fits, _sorted(worth)), most))

    def _fits(self, behind: Lags) -> bool:
        """Whether the tiles of each operation fit together; that takes longer than to estimate."""
        if behind not in self._fitting:
            graph = self.ordered(behind, _MANY)
            try:
                check_demand(graph, self._order(graph), self.ranges)
                self._fitting[behind] = True
            except InfeasibleError:
                self._fitting[behind] = False
        return self._fitting[behind]

    def _expected(self, behind: Lags) -> float:
        """Return what all stripes are expected to take, if they fit [cycle].

        Those that are not looked at are taken to go on as the last ones do that are.
        """
        return self._continued(lambda stripes: self._makespan(stripes, behind))

    @cached_property
    def _least(self) -> float:
        """What the busiest engine is expected to work in all stripes [cycle]."""
        return self._continued(self._work)

    def _continued(self, time: Callable[[int], float]) -> float:
        """Return a time of all stripes from that of the first ones [cycle]."""
        many = time(_MANY)
        if self.stripes <= _MANY:
            return many
        return many + (many - time(_FEW)) / (_MANY - _FEW) * (self.stripes - _MANY)

    def _work(self, stripes: int) -> float:
        """Return what the busiest engine works in some stripes, dealt out evenly [cycle]."""
        work: dict[Unit, int] = defaultdict(int)
        for op in self.ordered((), stripes).ops:
            work[op.unit] += self._durations[_key(op)]
        return max(work.values()) / self.npus

    def _makespan(self, stripes: int, behind: Lags) -> int:
        """Return what the operations of some stripes are expected to take [cycle]."""
        graph = self.ordered(behind, stripes)
        free: dict[tuple[Unit, int], int] = defaultdict(int)
        ready = [0] * len(graph.tiles)
        for turn in self._order(graph):
            for op in map(graph.ops.__getitem__, turn.ops):
                engine = op.unit, turn.npu
                sums = ready[op.out] if op.accumulates else 0
                start = max(free[engine], sums, *map(ready.__getitem__, op.reads))
                free[engine] = start + self._durations[_key(op)]
                ready[op.out] = max(ready[op.out], free[engine])
        return max(free.values())

    def _order(self, graph: TileGraph) -> tuple[Turn, ...]:
        return issue_order(graph, self.npus, self.dealing)

    @cached_property
    def _durations(self) -> Mapping[Hashable, int]:
        """How long each operation took [cycle]."""
        ops = self.in_turn.graph.ops
        events = (event for event in self.in_turn.events if event.kind is EventKind.COMPUTE)
        return {_key(ops[event.subject]): event.done - event.begin for event in events}


def _sorted(expected: Mapping[Lags, float]) -> list[Lags]:
    """Return lags, those first that are expected to take the least time."""
    return sorted(expected, key=lambda item: (expected[item], item))


def _key(op: TileOp) -> Hashable:
    return op.unit, op.works_for, op.box
