"""The state space of order and residency: bit masks, moves and their cost.

A state is what has been executed, what is resident, and which resident tensors also have a
host copy. A tensor that is live and not resident always has one. Capacity is an aggregate: the
sum of what is resident; addresses come later (``packing/``), so the optimum here is a lower
bound for every plan with addresses.

Tensors that matter to one operator only (``Problem.is_private``) never wait, so they add to the
room and cost of their operator and are no part of a state.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..problem import Option, PlanProblem


class PlanState(NamedTuple):
    """What has happened so far, as bit masks.

    Attributes:
        executed: Operators that have run.
        resident: Live tensors in the scratchpad.
        copied: Resident tensors that also have a host copy.
    """

    executed: int
    resident: int
    copied: int


class Move(NamedTuple):
    """One step: an operator, how it is executed, and what leaves before it.

    Attributes:
        operation: Index of the operator.
        option: Index into its menu.
        evicted: Tensors that leave, as a bit mask.
        cost: Off-chip bytes of the step [byte].
        after: The state that follows.
    """

    operation: int
    option: int
    evicted: int
    cost: int
    after: PlanState


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """An option of an operator in masks: what it needs, what it makes, what it costs."""

    index: int
    needs: int
    streams: int
    makes: int
    emits: int
    made_bytes: int
    held: int
    cost: int
    fetched: tuple[tuple[int, int], ...]


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(indices: "Iterator[int] | tuple[int, ...] | list[int] | set[int]") -> int:
    """Return the mask with these bits set."""
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask


def _successors(predecessors: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return by operator those that need its results themselves."""
    found: list[list[int]] = [[] for _ in predecessors]
    for op, before in enumerate(predecessors):
        for item in before:
            found[item].append(op)
    return found


class _MaskSums(dict[int, int]):
    """The sum of values over the bits of a mask, worked out when it is first asked for.

    Args:
        values: By bit.
    """

    def __init__(self, values: Sequence[int]) -> None:
        super().__init__()
        self._values = values

    def __missing__(self, mask: int) -> int:
        found = self[mask] = sum(self._values[i] for i in bits(mask))
        return found


class MoveTable:
    """The moves of a problem, with masks and sums prepared.

    Args:
        problem: The problem; options that do not fit the budget are ignored.
        free: Tensors whose transfers cost nothing, as a mask. With some tensors free, the
            optimum of a part of the operators is a lower bound of what the other tensors cost
            in any plan of the whole.
    """

    def __init__(self, problem: PlanProblem, free: int = 0) -> None:
        self.problem = problem
        self.budget = problem.budget
        tensors = problem.tensors
        self.room = [tensor.bytes for tensor in tensors]
        self.price = [0 if free >> i & 1 else t.bytes for i, t in enumerate(tensors)]
        self.private = mask_of([i for i in range(len(tensors)) if problem.is_private(i)])
        self.users = [mask_of(list(users)) for users in problem.consumers]
        self.initial_host = mask_of([i for i, t in enumerate(tensors) if t.on_host])
        self.outputs = mask_of([i for i, t in enumerate(tensors) if t.is_output])
        self.before = [mask_of(list(items)) for items in problem.predecessors]
        self._after = _successors(problem.predecessors)
        self._masks: dict[tuple[int, ...], int] = {}
        self.reads = [self._mask(list(op.reads)) for op in problem.operations]
        self.writes = [self._mask(list(op.writes)) for op in problem.operations]
        self.ways = [self._ways(index) for index in range(len(problem.operations))]
        self.all_executed = (1 << len(problem.operations)) - 1
        self.plain = [len(ways) == 1 and not ways[0].streams | ways[0].emits for ways in self.ways]
        self._always_streams = [_common(way.streams for way in ways) for ways in self.ways]
        self._least = [self._least_cost(op) for op in range(len(self.ways))]
        self._fetching = self._fetching_users()
        self.return_price = self._return_prices()
        self._cheapest_use = [self._cheapest_uses(op) for op in range(len(self.ways))]
        self._at_once = [self._way_at_once(op) for op in range(len(self.ways))]
        self._room_sums = _MaskSums(self.room)
        self._price_sums = _MaskSums(self.price)
        self._return_sums = _MaskSums(self.return_price)
        self._due: dict[int, int] = {}
        self._ready: dict[int, list[int]] = {}
        self._live = {0: self.initial_host & ~self.private}
        self._remaining = {0: sum(self._least)}

    def start(self) -> PlanState:
        """Return the state before the first step."""
        return PlanState(0, 0, 0)

    def live(self, executed: int) -> int:
        """Return the tensors that exist and are still to be read; ``executed`` was reached."""
        return self._live[executed]

    def remaining(self, executed: int) -> int:
        """Return the least that operators still to run cost by themselves [byte]."""
        return self._remaining[executed]

    def at_least(self, state: PlanState) -> int:
        """Return a lower bound of what is still to be paid from a state on [byte]."""
        absent = self._returning(state.executed) & ~state.resident
        return self._remaining[state.executed] + self._return_sums[absent]

    def _returning(self, executed: int) -> int:
        """Return the live tensors that somebody may still read as residents."""
        found = self._due.get(executed)
        if found is None:
            live = bits(self._live[executed])
            due = [tensor for tensor in live if self._fetching[tensor] & ~executed]
            found = self._due[executed] = mask_of(due)
        return found

    def ready(self, executed: int) -> list[int]:
        """Return the operators that may run next."""
        found = self._ready.get(executed)
        if found is None:
            missing = self.all_executed & ~executed
            found = [op for op in bits(missing) if not self.before[op] & ~executed]
            self._ready[executed] = found
        return found

    def _ready_after(self, executed: int, op: int) -> list[int]:
        """Return the operators that may run next once one of those that may has run."""
        missing = ~(executed | 1 << op)
        freed = [after for after in self._after[op] if not self.before[after] & missing]
        return sorted([*(item for item in self.ready(executed) if item != op), *freed])

    def room_of(self, mask: int) -> int:
        """Return the bytes of a set of tensors [byte]."""
        return self._room_sums[mask]

    def price_of(self, mask: int) -> int:
        """Return what one transfer of each tensor of a set costs [byte]."""
        return self._price_sums[mask]

    def moves(self, state: PlanState, most: float = math.inf) -> list[Move]:
        """Return the steps that are worth taking from a state.

        Where some operator can only do good at once (see ``_eager``), it is the only one.

        Args:
            state: The state.
            most: What steps and all that is to be paid after them cost at most, of those that
                anybody wants; others may be left out [byte].
        """
        ready = self.ready(state.executed)
        for op in ready:
            if (move := self._eager(state, op)) is not None:
                return [move]
        evictions = _Evictions(self, state)
        found: list[Move] = []
        for op in ready:
            found += self._steps(state, op, evictions, most)
        return found

    def conversion(self, source: PlanState, target: PlanState) -> int:
        """Return what it costs at most to go on from ``source`` as if it were ``target``.

        Both have executed the same operators: tensors too many are evicted, tensors that are
        missing are retrieved, and host copies that are missing are made when they are needed.
        """
        surplus = source.resident & ~target.resident & ~source.copied
        absent = target.resident & ~source.resident
        uncopied = source.resident & target.resident & target.copied & ~source.copied
        return self.price_of(surplus | absent | uncopied)  # no tensor is in two of them

    def _executing(self, state: PlanState, op: int) -> int:
        """Return what has been executed after an operator, once that is known of it."""
        executed = state.executed | 1 << op
        if executed not in self._live:
            live = self._live[state.executed] | self.writes[op]
            for tensor in bits(self.reads[op]):
                if not self.users[tensor] & ~executed:
                    live &= ~(1 << tensor)
            self._live[executed] = live
            self._ready.setdefault(executed, self._ready_after(state.executed, op))
            self._remaining[executed] = self._remaining[state.executed] - self._least[op]
        return executed

    def _steps(
        self, state: PlanState, op: int, evictions: "_Evictions", most: float
    ) -> Iterator[Move]:
        """Yield the steps that execute an operator, one per way and minimal eviction.

        Args:
            state: Where it is executed.
            op: The operator.
            evictions: Tells what may leave.
            most: As for :meth:`moves`.
        """
        executed = self._executing(state, op)
        live, returning, copies = self._live[executed], self._returning(executed), state.copied
        most -= self._remaining[executed]
        for way in self.ways[op]:
            streamed_out = state.resident & way.streams
            kept = state.resident & ~streamed_out
            missing = way.needs & ~kept
            here = kept | missing | way.makes
            cost = way.cost + self._price_sums[missing]
            spare = most - cost - self._return_sums[returning & ~here]
            if spare < 0:
                continue
            demand = self._room_sums[kept] + self._room_sums[missing] + way.made_bytes + way.held
            fetched = missing | way.makes & self.outputs
            for evicted in evictions.of(kept & ~way.needs, demand - self.budget, returning, spare):
                gone = evicted | streamed_out
                resident = here & ~evicted & live
                after = PlanState(executed, resident, (copies & ~gone | fetched) & resident)
                yield Move(op, way.index, gone, cost + self._price_sums[gone & ~copies], after)

    def _eager(self, state: PlanState, op: int) -> Move | None:
        """Return the step of an operator that can only do good at once, else ``None``.

        All it reads is resident, it fits without eviction in a way that streams nothing and
        costs the least, and what it leaves behind can be charged to what it frees: each result
        to one freed tensor that is at least as large (twice that where the freed tensor has a
        host copy, whose eviction costs half). Any plan from here can then run it first: when
        the plan evicts a freed tensor, the results charged to it are evicted instead, at no
        more bytes and no more cost.
        """
        way = self._at_once[op]
        if way is None or self.reads[op] & ~state.resident:
            return None
        if self.room_of(state.resident) + way.made_bytes + way.held > self.budget:
            return None
        if not self._is_paid_for(state, op):
            return None
        executed = self._executing(state, op)
        resident = (state.resident | way.makes) & self._live[executed]
        copied = (state.copied | way.makes & self.outputs) & resident
        return Move(op, way.index, 0, way.cost, PlanState(executed, resident, copied))

    def _is_paid_for(self, state: PlanState, op: int) -> bool:
        kept = sorted(bits(self.writes[op]), key=lambda tensor: -self.room[tensor])
        if not kept:
            return True
        others = ~(state.executed | 1 << op)
        freed = [t for t in bits(self.reads[op]) if not self.users[t] & others]
        room = {tensor: self.room[tensor] for tensor in freed}
        spill = {
            tensor: self._cheapest_use[op].get(tensor, self.price[tensor])
            + (0 if state.copied >> tensor & 1 else self.price[tensor])
            for tensor in freed
        }
        for tensor in kept:
            size, cost = self.room[tensor], 2 * self.price[tensor]
            payer = next((t for t in freed if room[t] >= size and spill[t] >= cost), None)
            if payer is None:
                return False
            room[payer] -= size
            spill[payer] -= cost
        return True

    def _way_at_once(self, op: int) -> "_Way | None":
        """Return the least costly way that streams nothing, if no way costs less."""
        whole = [way for way in self.ways[op] if not way.streams | way.emits]
        if not whole:
            return None
        best = min(whole, key=lambda way: (way.cost, way.held))
        emitted = self._cheapest_use[op]
        if best.cost > self._least[op] or any(
            emitted.get(tensor, self.price[tensor]) < self.price[tensor]
            for tensor in bits(self.writes[op])
        ):
            return None
        return best

    def _cheapest_uses(self, index: int) -> dict[int, int]:
        """Return, for what an operator may stream, the least that costs, or a whole move [byte]."""
        found: dict[int, int] = {}
        for option in self.problem.operations[index].menu:
            for tensor, cost in option.streamed:
                found[tensor] = min(found.get(tensor, self.price[tensor]), cost)
        return found

    def _ways(self, index: int) -> list["_Way"]:
        operation = self.problem.operations[index]
        return [
            self._way(index, number, option)
            for number, option in enumerate(operation.menu)
            if self.problem.footprint(index, option) <= self.budget
        ]

    def _way(self, index: int, number: int, option: Option) -> "_Way":
        operation = self.problem.operations[index]
        streamed = {tensor for tensor, _ in option.streamed}
        reads = [t for t in operation.reads if t not in streamed]
        writes = [t for t in operation.writes if t not in streamed]
        loads = [t for t in reads if self.private >> t & 1]
        stores = [t for t in writes if self.problem.tensors[t].is_output]
        whole = sum(self.price[t] for t in (*loads, *stores))
        makes = self._mask(writes)
        fetched = tuple(
            (tensor, cost)
            for tensor, cost in option.streamed
            if tensor in operation.reads and not self.private >> tensor & 1
        )
        passing = sum(cost for _, cost in option.streamed)
        cost = whole + passing + option.constant_bytes + option.delay
        return _Way(
            index=number,
            needs=self._mask(reads),
            streams=self._mask([t for t in operation.reads if t in streamed]),
            makes=makes,
            emits=self._mask([t for t in operation.writes if t in streamed]),
            made_bytes=sum(self.room[t] for t in bits(makes)),
            held=self.problem.held(index, option),
            cost=cost,
            fetched=fetched,
        )

    def _mask(self, tensors: list[int]) -> int:
        """Return the mask of tensors but for private ones, one object for all that are equal."""
        shared = tuple(tensor for tensor in tensors if not self.private >> tensor & 1)
        return self._masks.setdefault(shared, mask_of(shared))

    def _least_cost(self, op: int) -> int:
        """Return what an operator pays in any way; reads that some way keeps resident aside."""
        always = self._always_streams[op]
        return min(
            way.cost - sum(cost for tensor, cost in way.fetched if not always >> tensor & 1)
            for way in self.ways[op]
        )

    def _fetching_users(self) -> list[int]:
        """Return the readers of each tensor that may read it as a resident."""
        return [
            mask_of([op for op in bits(users) if not self._always_streams[op] >> tensor & 1])
            for tensor, users in enumerate(self.users)
        ]

    def _return_prices(self) -> list[int]:
        """Return what using a tensor that is not resident costs such a reader at least [byte]."""
        found = list(self.price)
        for op, ways in enumerate(self.ways):
            for way in ways:
                for tensor, cost in way.fetched:
                    if not self._always_streams[op] >> tensor & 1:
                        found[tensor] = min(found[tensor], cost)
        return found


class _Evictions:
    """What may leave a state; local to the moves from it.

    Of tensors that nothing tells apart any more (size, host copy, readers to come), the first ones
    leave first.

    Args:
        table: The moves.
        state: The state.
    """

    def __init__(self, table: MoveTable, state: PlanState) -> None:
        self._table = table
        self._state = state

    @cached_property
    def _residents(self) -> list[tuple[tuple[int, int, int, int], int]]:
        """What tells residents apart, and their numbers, in the order in which they leave."""
        table, state = self._table, self._state
        return sorted(
            (
                (
                    -table.room[tensor],
                    table.price[tensor],
                    table.users[tensor] & ~state.executed,
                    state.copied >> tensor & 1,
                ),
                tensor,
            )
            for tensor in bits(state.resident)
        )

    def of(self, candidates: int, excess: int, returning: int, most: float) -> list[int]:
        """Return the sets that free at least some bytes, with no member superfluous.

        Args:
            candidates: Residents that may leave.
            excess: How many bytes [byte].
            returning: Tensors that somebody may still read as residents.
            most: What sets cost at most that anybody wants; others may be left out [byte].
        """
        if excess <= 0:
            return [0]
        items = [item for item in self._residents if candidates >> item[1] & 1]
        room = self._table.room
        costs = [self._cost_of(tensor, returning) for _, tensor in items]
        rest = [0] * (len(items) + 1)
        following = [len(items)] * len(items)
        for position in range(len(items) - 1, -1, -1):
            rest[position] = rest[position + 1] + room[items[position][1]]
            if position + 1 < len(items) and items[position][0] == items[position + 1][0]:
                following[position] = following[position + 1]
            else:
                following[position] = position + 1
        found: list[int] = []

        def choose(position: int, mask: int, missing: int, left: float) -> None:
            # Largest first: every set that is completed here lacks a superfluous member,
            # because its last and smallest member was still needed.
            if left < 0:
                return
            if missing <= 0:
                found.append(mask)
                return
            if rest[position] < missing:
                return
            tensor = items[position][1]
            choose(position + 1, mask | 1 << tensor, missing - room[tensor], left - costs[position])
            choose(following[position], mask, missing, left)

        choose(0, 0, excess, most)
        return found

    def _cost_of(self, tensor: int, returning: int) -> int:
        """Return what it costs at least that a tensor leaves, and that it comes back [byte]."""
        table = self._table
        spilled = 0 if self._state.copied >> tensor & 1 else table.price[tensor]
        return spilled + (table.return_price[tensor] if returning >> tensor & 1 else 0)


def _common(masks: Iterator[int]) -> int:
    """Return the bits that all masks share."""
    found = -1
    for mask in masks:
        found &= mask
    return found
