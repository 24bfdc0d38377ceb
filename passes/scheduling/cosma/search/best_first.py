"""Find the optimal order and residency by best-first search over executed sets.

The search is A* over the states of ``moves.py``. Its lower bound is what every plan still has to
pay: compulsory traffic, the return of what was evicted, and what operators that fill the
scratchpad will force out (``bounds.py``).

Two states that have executed the same operators are compared: where the cheaper one can be
turned into the other for no more than their difference, the other is dropped.

References:
    Hart, Nilsson, Raphael. A formal basis for the heuristic determination of minimum cost
    paths. IEEE Transactions on Systems Science and Cybernetics, 1968.
"""

import heapq
import math
from dataclasses import dataclass

from .....ir.graph_schedule import SolveStatus
from .bounds import WallBound
from .moves import Move, MoveTable, PlanState


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The outcome of a search.

    Attributes:
        status: ``optimal``, ``feasible`` (an incumbent and a bound) or ``limit``.
        moves: The plan, one move per operator; empty where none was found.
        cost: Off-chip bytes of the plan [byte].
        bound: Proven lower bound of any plan [byte].
        nodes: States that were expanded.
    """

    status: SolveStatus
    moves: tuple[Move, ...]
    cost: int
    bound: int
    nodes: int


def search(table: MoveTable, *, node_limit: int = 200_000, beam: int = 200) -> SearchResult:
    """Return the cheapest order and residency of a problem.

    Args:
        table: The moves of the problem.
        node_limit: States to expand before the search gives up on a proof; it gives up, too, when
            it has compared five times as many.
        beam: Width of the beam that finds an incumbent where the proof was given up; it is
            narrower for very many operators.
    """
    estimate = WallBound(table)
    result = _BestFirst(table, estimate).run(node_limit)
    if result.status is SolveStatus.OPTIMAL:
        return result
    width = min(beam, max(_NARROWEST, _BEAM_STATES // len(table.ways)))
    moves = beam_search(table, estimate, width=width)
    cost = sum(move.cost for move in moves)
    if not moves:
        return result
    status = SolveStatus.OPTIMAL if cost == result.bound else SolveStatus.FEASIBLE
    return SearchResult(
        status=status, moves=moves, cost=cost, bound=result.bound, nodes=result.nodes
    )


_COMPARISONS = 5
"""Comparisons of states for each state that may be expanded. A proof needs few; where very many
states have executed the same operators, comparing them would take nearly all of the time."""

_BEAM_STATES = 20_000
"""States of a beam in all layers together: it is narrower where there are more than a hundred
operators."""

_NARROWEST = 20


class _BestFirst:
    """A* with dominance; ties go to the state that has executed more."""

    def __init__(self, table: MoveTable, estimate: WallBound) -> None:
        self._table = table
        self._estimate = estimate
        self._came_from: dict[PlanState, tuple[PlanState, Move]] = {}
        self._paid: dict[int, dict[PlanState, int]] = {0: {table.start(): 0}}
        self._comparisons = 0

    def run(self, node_limit: int) -> SearchResult:
        """Expand states until the goal or the limit of states, or of comparisons, is reached."""
        start = self._table.start()
        first = self._estimate(start)
        heap = [(first, 0, 0, 0, start)]
        serial, nodes, bound = 0, 0, first
        while heap:
            estimate, _, _, cost, state = heapq.heappop(heap)
            if cost > self._paid[state.executed][state]:
                continue
            bound = max(bound, estimate)
            if state.executed == self._table.all_executed:
                return self._found(state, cost, nodes)
            if nodes >= node_limit or self._comparisons >= _COMPARISONS * node_limit:
                break
            nodes += 1
            for move in self._table.moves(state):
                reached = cost + move.cost
                if not self._admit(move.after, reached):
                    continue
                self._came_from[move.after] = (state, move)
                serial += 1
                after = reached + self._estimate(move.after)
                depth = -move.after.executed.bit_count()
                heapq.heappush(heap, (after, depth, serial, reached, move.after))
        return SearchResult(status=SolveStatus.LIMIT, moves=(), cost=0, bound=bound, nodes=nodes)

    def _admit(self, state: PlanState, cost: int) -> bool:
        """Record a state unless one with the same operators executed is as good."""
        rivals = self._paid.setdefault(state.executed, {})
        self._comparisons += len(rivals)
        for rival, paid in rivals.items():
            if paid <= cost and paid + self._table.conversion(rival, state) <= cost:
                return False
        rivals[state] = cost
        return True

    def _found(self, state: PlanState, cost: int, nodes: int) -> SearchResult:
        moves: list[Move] = []
        while state in self._came_from:
            state, move = self._came_from[state]
            moves.append(move)
        return SearchResult(
            status=SolveStatus.OPTIMAL,
            moves=tuple(reversed(moves)),
            cost=cost,
            bound=cost,
            nodes=nodes,
        )


def beam_search(table: MoveTable, estimate: WallBound, *, width: int) -> tuple[Move, ...]:
    """Return a good plan: level by level, keep the ``width`` cheapest states.

    Args:
        table: The moves.
        estimate: Bound of what is left.
        width: States that are kept.

    Returns:
        The moves, or nothing where every state of the beam ran into a wall.
    """
    layer = {table.start(): 0}
    history: list[dict[PlanState, tuple[PlanState, Move]]] = []
    for _ in table.problem.operations:
        following = _Layer(table, estimate, width)
        for state, cost in layer.items():
            following.expand(state, cost)
        kept = following.kept()
        layer = {state: following.costs[state] for state in kept}
        history.append({state: following.links[state] for state in kept})
    return _trace(layer, history)


class _Layer:
    """The states of a beam that have executed so many operators.

    Args:
        table: The moves.
        estimate: Bound of what is left.
        width: States that are kept.

    Attributes:
        costs: What has been paid for each state [byte].
        links: The state before each, and the move from it.
    """

    def __init__(self, table: MoveTable, estimate: WallBound, width: int) -> None:
        self._table = table
        self._estimate = estimate
        self._width = width
        self._left: dict[PlanState, int] = {}
        self._dearest_first: list[int] = []
        self.costs: dict[PlanState, int] = {}
        self.links: dict[PlanState, tuple[PlanState, Move]] = {}

    def expand(self, state: PlanState, cost: int) -> None:
        """Note what is reached from a state, but for what will not be kept.

        Args:
            state: Of the layer before.
            cost: What has been paid for it [byte].
        """
        for move in self._table.moves(state, self._most - cost):
            after, reached = move.after, cost + move.cost
            known = self.costs.get(after)
            if known is None:
                self._left[after] = self._estimate(after)
                self._note(reached + self._left[after])
            if known is None or reached < known:
                self.costs[after] = reached
                self.links[after] = state, move

    @property
    def _most(self) -> float:
        """What states cost at most that may be kept: there are enough that cost no more."""
        is_full = len(self._dearest_first) == self._width and self._estimate.is_of_moves
        return -self._dearest_first[0] if is_full else math.inf

    def _note(self, price: int) -> None:
        """Note what a state costs at least, as far as it is among the cheapest ones."""
        if len(self._dearest_first) < self._width:
            heapq.heappush(self._dearest_first, -price)
        else:
            heapq.heappushpop(self._dearest_first, -price)

    def kept(self) -> list[PlanState]:
        """Return the cheapest states, those first that leave most space of equals."""
        prices = {state: cost + self._left[state] for state, cost in self.costs.items()}
        most = max(heapq.nsmallest(self._width, prices.values()), default=0)
        order = {
            state: (price, self._table.room_of(state.resident), state)
            for state, price in prices.items()
            if price <= most
        }
        return sorted(order, key=order.__getitem__)[: self._width]


def _trace(
    layer: dict[PlanState, int], history: list[dict[PlanState, tuple[PlanState, Move]]]
) -> tuple[Move, ...]:
    if not layer:
        return ()
    state = min(layer, key=layer.__getitem__)
    moves: list[Move] = []
    for links in reversed(history):
        state, move = links[state]
        moves.append(move)
    return tuple(reversed(moves))
