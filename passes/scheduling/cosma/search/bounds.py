"""A lower bound from operators that fill the scratchpad.

Where an operator leaves less room than a tensor takes, that tensor is off chip while the
operator runs. A chain of such *walls* (operators in one dependence chain) cuts every plan into
stages in time, and transfers are counted per stage:

* a tensor that exists before a wall and is read after it is spilled once;
* what an operator between two walls reads is fetched between them, if it was absent at the
  first. Where its producer may run on either side of the wall, the plan fetches it or what its
  producer reads, whichever is less.

Each transfer belongs to one stage, so the stages add up.
"""

from collections.abc import Callable

from .moves import MoveTable, PlanState, bits


class WallBound:
    """Bounds the cost that is still to come from a state.

    Args:
        table: The moves of the problem. Walls serve only problems without streaming; for others
            the bound is the table's own.
    """

    def __init__(self, table: MoveTable) -> None:
        self._table = table
        self._ancestors, self._descendants = closures(table.before)
        self._walls = _chain(self._weights(), self._ancestors) if all(table.plain) else []
        self._needs = [self._stage_needs(index) for index in range(len(self._walls))]
        later = [cost for cost, _ in self._needs]
        self._later = [sum(later[index:]) for index in range(len(later) + 1)]
        self._forced = [self._forcing_walls(tensor) for tensor in range(len(table.room))]
        self._per_executed: dict[int, tuple[int, int, int]] = {}

    @property
    def is_of_moves(self) -> bool:
        """Whether it is the bound by which the table leaves out moves."""
        return not self._walls

    def __call__(self, state: PlanState) -> int:
        """Return a lower bound of what is still to be paid from a state on [byte]."""
        table = self._table
        if not self._walls:
            return table.at_least(state)
        found = self._per_executed.get(state.executed)
        if found is None:
            found = self._per_executed[state.executed] = self._summary(state.executed)
        fixed, returning, leaving = found
        return (
            fixed
            + table.price_of(returning & ~state.resident)
            + table.price_of(leaving & state.resident & ~state.copied)
        )

    def _summary(self, executed: int) -> tuple[int, int, int]:
        """Return what depends on the executed operators alone.

        Returns:
            The cost that no residency changes, the live tensors that are fetched if absent,
            and those that are spilled if resident without a host copy.
        """
        table = self._table
        live = table.live(executed)
        passed = sum(executed >> wall & 1 for wall in self._walls)
        fixed = table.remaining(executed) + self._later[min(passed, len(self._walls))]
        ahead = [wall for wall in self._walls if not executed >> wall & 1]
        for tensor, (_, surely) in enumerate(self._forced):
            producer = table.problem.producer[tensor]
            if producer is not None and not executed >> producer & 1 and surely & ~executed:
                fixed += table.price[tensor]
        leaving = 0
        for tensor in bits(live):
            if self._forced[tensor][0] & ~executed:
                leaving |= 1 << tensor
        return fixed, live & self._returning(executed, live, ahead), leaving

    def _returning(self, executed: int, live: int, ahead: list[int]) -> int:
        """Return the live tensors whose next fetch no later stage counts."""
        if not ahead:
            return live
        table = self._table
        wall = ahead[0]
        before_wall = self._ancestors[wall] | 1 << wall
        counted_later = 0
        for index, other in enumerate(self._walls):
            if not executed >> other & 1:
                counted_later |= self._needs[index][1]
        found = 0
        for tensor in bits(live):
            due = table.users[tensor] & ~executed & before_wall
            if due or not counted_later >> tensor & 1:
                found |= 1 << tensor
        return found

    def _absent(self, wall: int) -> Callable[[int], bool]:
        """Return whether a tensor is off chip while an operator runs."""
        table = self._table
        touched = table.reads[wall] | table.writes[wall]
        slack = table.budget - table.room_of(touched) - table.ways[wall][0].held

        def absent(tensor: int) -> bool:
            return not touched >> tensor & 1 and table.room[tensor] > slack

        return absent

    def _weights(self) -> list[int]:
        """What each operator would force to leave [byte]."""
        weights: list[int] = []
        for op in range(len(self._table.before)):
            absent = self._absent(op)
            weights.append(
                sum(
                    self._table.price[tensor]
                    for tensor in range(len(self._table.room))
                    if self._crosses(tensor, op) and absent(tensor)
                )
            )
        return weights

    def _crosses(self, tensor: int, wall: int) -> bool:
        """Whether a tensor exists before an operator and is read after it, in any order."""
        table = self._table
        if table.private >> tensor & 1 or not table.users[tensor] & self._descendants[wall]:
            return False
        producer = table.problem.producer[tensor]
        return producer is not None and bool(self._ancestors[wall] >> producer & 1)

    def _forcing_walls(self, tensor: int) -> tuple[int, int]:
        """Return the walls that a tensor cannot stay for: once it exists, and in any order."""
        table = self._table
        if (table.private | table.outputs | table.initial_host) >> tensor & 1:
            return 0, 0
        once = always = 0
        for wall in self._walls:
            if table.users[tensor] & self._descendants[wall] and self._absent(wall)(tensor):
                once |= 1 << wall
                if self._crosses(tensor, wall):
                    always |= 1 << wall
        return once, always

    def _stage_needs(self, index: int) -> tuple[int, int]:
        """Return what is fetched at least between a wall and the next, and what it may be.

        Returns:
            The cost [byte], and the tensors among which the fetched ones are.
        """
        table = self._table
        wall = self._walls[index]
        stage = self._descendants[wall]
        if index + 1 < len(self._walls):
            following = self._walls[index + 1]
            stage &= self._ancestors[following] | 1 << following
        absent = self._absent(wall)
        read = 0
        for op in bits(stage):
            read |= table.reads[op]
        sure = 0
        others: list[int] = []
        for tensor in bits(read):
            producer = table.problem.producer[tensor]
            if producer is None or self._ancestors[wall] >> producer & 1:
                sure |= 1 << tensor if absent(tensor) else 0
            else:
                others.append(tensor)
        least, involved = 0, sure
        for tensor in others:
            cost, mask = self._need(tensor, wall, sure, absent)
            least, involved = max(least, cost), involved | mask
        return table.price_of(sure) + least, involved

    def _need(
        self, tensor: int, wall: int, sure: int, absent: Callable[[int], bool]
    ) -> tuple[int, int]:
        """Return what having a tensor after a wall costs at least, and what may be fetched."""
        table = self._table
        producer = table.problem.producer[tensor]
        if sure >> tensor & 1:
            return 0, 0
        if producer is None or (self._ancestors[wall] | 1 << wall) >> producer & 1:
            return (table.price[tensor], 1 << tensor) if absent(tensor) else (0, 0)
        if self._descendants[wall] >> producer & 1:
            return 0, 0
        fetched = table.price[tensor] if absent(tensor) else 0
        remade, involved = 0, 1 << tensor
        for source in bits(table.reads[producer]):
            cost, mask = self._need(source, wall, sure, absent)
            remade, involved = max(remade, cost), involved | mask
        return min(fetched, remade), involved


def closures(before: list[int]) -> tuple[list[int], list[int]]:
    """Return the ancestors and descendants of every operator, as masks."""
    ancestors: list[int] = []
    for direct in before:
        mask = direct
        for op in bits(direct):
            mask |= ancestors[op]
        ancestors.append(mask)
    descendants = [0] * len(before)
    for op in range(len(before) - 1, -1, -1):
        behind = descendants[op] | 1 << op
        for other in bits(before[op]):
            descendants[other] |= behind
    return ancestors, descendants


def _chain(weights: list[int], ancestors: list[int]) -> list[int]:
    """Return the dependence chain of the highest total weight, in order."""
    best: list[tuple[int, int | None]] = []
    for op, weight in enumerate(weights):
        if not weight:
            best.append((0, None))
            continue
        total, source = max(
            ((best[other][0], other) for other in bits(ancestors[op]) if weights[other]),
            default=(0, None),
        )
        best.append((total + weight, source))
    if not any(weights):
        return []
    op: int | None = max(range(len(best)), key=lambda index: best[index][0])
    chain: list[int] = []
    while op is not None:
        chain.append(op)
        op = best[op][1]
    return chain[::-1]
