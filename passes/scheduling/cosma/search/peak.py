"""The least peak footprint of any order, nothing spilled: ``M_P`` (eqs. (13)-(15)).

A bottleneck shortest path over executed sets: the queue is ordered by the highest footprint so
far. An operator that frees at least what it keeps, and fits under the footprint that has been
reached already, is executed at once: running it first never raises any later footprint.

Deviation: network inputs (and constants, where they count) occupy room from their first reader
to their last, because they start off chip.
"""

import heapq

from ..problem import PlanProblem
from .moves import bits, mask_of


def least_peak(
    problem: PlanProblem, *, node_limit: int = 2_000_000
) -> tuple[int, tuple[int, ...], bool]:
    """Return the least peak footprint and an order that attains it.

    Args:
        problem: The problem; its budget and menus do not matter.
        node_limit: Executed sets to visit before the search gives up.

    Returns:
        The peak [byte], the order, and whether the peak is proven. Where it is not, the order
        is the problem's own and the peak is that order's.
    """
    walk = _Walk(problem)
    came_from: dict[int, tuple[int, int]] = {}
    best = {0: problem.minimum}
    heap: list[tuple[int, int, int, int]] = [(problem.minimum, 0, 0, 0)]
    visited = 0
    while heap:
        peak, _, executed, live = heapq.heappop(heap)
        if peak > best.get(executed, peak):
            continue
        if executed == walk.all_executed:
            return peak, _order(came_from, executed), True
        visited += 1
        if visited > node_limit:
            break
        for op, footprint, after, kept in walk.steps(executed, live, peak):
            reached = max(peak, footprint)
            if reached < best.get(after, reached + 1):
                best[after] = reached
                came_from[after] = (executed, op)
                heapq.heappush(heap, (reached, -after.bit_count(), after, kept))
    order = tuple(range(len(problem.operations)))
    return peak_of(problem, order), order, False


def peak_of(problem: PlanProblem, order: tuple[int, ...]) -> int:
    """Return the peak footprint of an order, nothing spilled [byte]."""
    walk = _Walk(problem)
    executed = live = peak = 0
    for op in order:
        footprint, executed, live = walk.step(executed, live, op)
        peak = max(peak, footprint)
    return peak


class _Walk:
    """Executed sets and the tensors that are live after them, as masks."""

    def __init__(self, problem: PlanProblem) -> None:
        self.room = [tensor.bytes for tensor in problem.tensors]
        self.private = mask_of(
            [index for index in range(len(self.room)) if problem.is_private(index)]
        )
        self.touched = [mask_of(list(op.touches)) & ~self.private for op in problem.operations]
        self.held = [
            sum(self.room[t] for t in set(op.touches) if self.private >> t & 1)
            for op in problem.operations
        ]
        self.users = [mask_of(list(users)) for users in problem.consumers]
        self.before = [mask_of(list(items)) for items in problem.predecessors]
        self.all_executed = (1 << len(problem.operations)) - 1
        self.sums: dict[int, int] = {0: 0}

    def steps(self, executed: int, live: int, peak: int) -> list[tuple[int, int, int, int]]:
        """Return (operator, footprint, executed set, live set) of each next step."""
        found: list[tuple[int, int, int, int]] = []
        room = self.room_of(live)
        for op in bits(self.all_executed & ~executed):
            if self.before[op] & ~executed:
                continue
            footprint, after, kept = self.step(executed, live, op)
            if footprint <= peak and self.room_of(kept) <= room:
                return [(op, footprint, after, kept)]
            found.append((op, footprint, after, kept))
        return found

    def step(self, executed: int, live: int, op: int) -> tuple[int, int, int]:
        """Return the footprint of an operator, and the executed and live sets after it."""
        during = live | self.touched[op]
        after = executed | 1 << op
        kept = during
        for tensor in bits(self.touched[op]):
            if not self.users[tensor] & ~after:
                kept &= ~(1 << tensor)
        return self.room_of(during) + self.held[op], after, kept

    def room_of(self, mask: int) -> int:
        """Return the bytes of a set of tensors [byte]."""
        found = self.sums.get(mask)
        if found is None:
            found = self.sums[mask] = sum(self.room[tensor] for tensor in bits(mask))
        return found


def _order(came_from: dict[int, tuple[int, int]], executed: int) -> tuple[int, ...]:
    order: list[int] = []
    while executed:
        executed, op = came_from[executed]
        order.append(op)
    return tuple(reversed(order))
