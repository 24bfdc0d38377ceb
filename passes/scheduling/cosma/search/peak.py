"""The least peak footprint of any order, nothing spilled: ``M_P`` (eqs. (13)-(15)).

A bottleneck shortest path over executed sets: the queue is ordered by the highest footprint so
far. An operator that frees at least what it keeps, and fits under the footprint that has been
reached already, is executed at once: running it first never raises any later footprint.

Deviation: network inputs (and constants, where they count) occupy room from their first reader
to their last, because they start off chip.
"""

import heapq
from typing import NamedTuple

from ..problem import PlanProblem
from .moves import bits, mask_of


def least_peak(
    problem: PlanProblem, *, node_limit: int = 100_000
) -> tuple[int, tuple[int, ...], bool]:
    """Return the least peak footprint and an order that attains it.

    Args:
        problem: The problem; its budget and menus do not matter.
        node_limit: Executed sets to remember before the search gives up.

    Returns:
        The peak [byte], the order, and whether the peak is proven. Where it is not, the order
        is the problem's own, or one that takes what needs least at each step, whichever needs
        less.
    """
    walk = _Walk(problem)
    own = tuple(range(len(problem.operations)))
    least, order = min((peak_of(problem, item), item) for item in (own, walk.greedy_order()))
    came_from: dict[int, tuple[int, int]] = {}
    best = {0: problem.minimum}
    heap = [(problem.minimum, 0, _START)] if problem.minimum < least else []
    while heap:
        peak, _, state = heapq.heappop(heap)
        if peak > best[state.executed]:
            continue
        if state.executed == walk.all_executed:
            return peak, _order(came_from, state.executed), True
        if len(best) > node_limit:
            return least, order, False
        for op, footprint, after in walk.steps(state, peak):
            reached = max(peak, footprint)
            if reached < best.get(after.executed, least):
                best[after.executed] = reached
                came_from[after.executed] = (state.executed, op)
                heapq.heappush(heap, (reached, -after.executed.bit_count(), after))
    return least, order, True


def peak_of(problem: PlanProblem, order: tuple[int, ...]) -> int:
    """Return the peak footprint of an order, nothing spilled [byte]."""
    walk = _Walk(problem)
    state, peak = _START, 0
    for op in order:
        footprint, state = walk.step(state, op)
        peak = max(peak, footprint)
    return peak


class _State(NamedTuple):
    """What was executed, and what is live after it: masks, and the bytes of the live tensors."""

    executed: int
    live: int
    bytes: int


_START = _State(0, 0, 0)


class _Walk:
    """Steps from one executed set to the next."""

    def __init__(self, problem: PlanProblem) -> None:
        self.room = [tensor.bytes for tensor in problem.tensors]
        private = mask_of([index for index in range(len(self.room)) if problem.is_private(index)])
        self.touched = [mask_of(list(op.touches)) & ~private for op in problem.operations]
        self.held = [
            sum(self.room[t] for t in set(op.touches) if private >> t & 1)
            for op in problem.operations
        ]
        self.users = [mask_of(list(users)) for users in problem.consumers]
        self.before = [mask_of(list(items)) for items in problem.predecessors]
        self.all_executed = (1 << len(problem.operations)) - 1

    def steps(self, state: _State, peak: int) -> list[tuple[int, int, _State]]:
        """Return (operator, footprint, state after it) of each next step."""
        found: list[tuple[int, int, _State]] = []
        for op in bits(self.all_executed & ~state.executed):
            if self.before[op] & ~state.executed:
                continue
            footprint, after = self.step(state, op)
            if footprint <= peak and after.bytes <= state.bytes:
                return [(op, footprint, after)]
            found.append((op, footprint, after))
        return found

    def step(self, state: _State, op: int) -> tuple[int, _State]:
        """Return the footprint of an operator, and the state after it."""
        executed, live = state.executed | 1 << op, state.live | self.touched[op]
        during = state.bytes + sum(self.room[t] for t in bits(self.touched[op] & ~state.live))
        kept = during
        for tensor in bits(self.touched[op]):
            if not self.users[tensor] & ~executed:
                live &= ~(1 << tensor)
                kept -= self.room[tensor]
        return during + self.held[op], _State(executed, live, kept)

    def greedy_order(self) -> tuple[int, ...]:
        """Return the order in which each step leaves least behind, of those that need least."""
        order: list[int] = []
        state, peak = _START, 0
        while state.executed != self.all_executed:
            op, footprint, state = min(
                self.steps(state, peak),
                key=lambda item: (max(peak, item[1]), item[2].bytes, item[0]),
            )
            peak = max(peak, footprint)
            order.append(op)
        return tuple(order)


def _order(came_from: dict[int, tuple[int, int]], executed: int) -> tuple[int, ...]:
    order: list[int] = []
    while executed:
        executed, op = came_from[executed]
        order.append(op)
    return tuple(reversed(order))
