"""The schemes that the paper compares with: a fixed order, a linear arena, and a replacement rule.

The arena places a tensor in the smallest gap between what is allocated that is large enough,
as TensorFlow Lite's ``simple_memory_arena`` does, when the operator that makes or reads it is
due. Where no gap is large enough, tensors leave until one is:

* *Belady*: the one that is read again last, again and again;
* *greedy*: those neighbours in the arena that together cost the fewest off-chip bytes. (The
  paper solves an integer program for it; along one axis, trying every run of neighbours is exact.)

What the running operator itself needs is taken out and brought back elsewhere only where
nothing else helps: the arena is then emptied and packed anew.

Below ``M_R`` the paper has no answer. Here an operator whose tensors do not fit the arena together
keeps those whose passing in tiles would cost most, and streams the others through a workspace below
the arena.

References:
    Belady. A study of replacement algorithms for a virtual-storage computer. IBM Systems
    Journal, 1966.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ....ir.graph_schedule import (
    GraphSchedule,
    Residence,
    SolveStatus,
    Stream,
    Transfer,
    Workspace,
)
from .problem import Operation, PlanProblem


class Replacement(StrEnum):
    """Which tensors leave."""

    BELADY = "belady"
    GREEDY = "greedy"


def schedule_linear(
    problem: PlanProblem, order: Sequence[int], rule: Replacement, *, reserve: int = 0
) -> GraphSchedule:
    """Return the plan of an order with the linear arena and a replacement rule.

    Args:
        problem: The problem.
        order: Operators in execution order.
        rule: Which tensors leave.
        reserve: Room below the arena that every step has as its workspace [byte].
    """
    arena = _Arena(problem=problem, order=order, rule=rule, reserve=reserve)
    for step, op in enumerate(order):
        arena.execute(step, problem.operations[op])
    return arena.finish()


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where a tensor lies, and since which step."""

    address: int
    bytes: int
    first: int

    @property
    def end(self) -> int:
        return self.address + self.bytes


@dataclass(slots=True, kw_only=True)
class _Arena:
    """The arena between steps."""

    problem: PlanProblem
    order: Sequence[int]
    rule: Replacement
    reserve: int = 0
    uses: list[list[int]] = field(default_factory=list[list[int]])
    slots: dict[int, _Slot] = field(default_factory=dict[int, _Slot])
    on_host: set[int] = field(default_factory=set[int])
    arrived: set[int] = field(default_factory=set[int])
    residences: list[Residence] = field(default_factory=list[Residence])
    loads: list[Transfer] = field(default_factory=list[Transfer])
    spills: list[Transfer] = field(default_factory=list[Transfer])
    retrieves: list[Transfer] = field(default_factory=list[Transfer])
    stores: list[Transfer] = field(default_factory=list[Transfer])
    streams: list[Stream] = field(default_factory=list[Stream])

    def __post_init__(self) -> None:
        self.uses = [[] for _ in self.problem.tensors]
        for step, op in enumerate(self.order):
            for tensor in dict.fromkeys(self.problem.operations[op].reads):
                self.uses[tensor].append(step)
        self.on_host = {i for i, tensor in enumerate(self.problem.tensors) if tensor.on_host}

    def execute(self, step: int, operation: Operation) -> None:
        """Run one operator: bring in what it reads, make room for what it writes."""
        touched = tuple(dict.fromkeys(operation.touches))
        streamed = self._streamed(step, operation, touched)
        for tensor in streamed:
            self._stream(step, tensor)
        needed = tuple(tensor for tensor in touched if tensor not in streamed)
        placed = all(tensor in self.slots or self._place(step, tensor, needed) for tensor in needed)
        if not placed:
            self._pack_anew(step, needed)
        for tensor in needed:
            if self.slots[tensor].first == step and tensor not in operation.writes:
                self._record_arrival(step, tensor)
        for tensor in operation.writes:
            if self.problem.tensors[tensor].is_output and tensor not in streamed:
                self.stores.append(self._transfer(step, tensor))
                self.on_host.add(tensor)
        for tensor in needed:
            if self._next_use(tensor, step) is None:
                self._close(tensor, step)

    def finish(self) -> GraphSchedule:
        """Return the frozen plan."""
        moved = (*self.loads, *self.spills, *self.retrieves, *self.stores, *self.streams)
        steps = range(len(self.order)) if self.reserve else ()
        return GraphSchedule(
            budget=self.problem.budget,
            order=tuple(self.problem.operations[op].name for op in self.order),
            residences=tuple(self.residences),
            loads=tuple(self.loads),
            spills=tuple(self.spills),
            retrieves=tuple(self.retrieves),
            stores=tuple(self.stores),
            streams=tuple(self.streams),
            workspaces=tuple(Workspace(step=step, address=0, bytes=self.reserve) for step in steps),
            status=SolveStatus.HEURISTIC,
            objective=sum(item.bytes for item in moved),
        )

    def _streamed(self, step: int, operation: Operation, touched: Sequence[int]) -> Collection[int]:
        """Return the tensors that pass in tiles since not all fit: those that lose least."""
        left = self.problem.budget - self.reserve
        streamed = sorted(self.problem.always_streamed(self.order[step]))
        choice = [tensor for tensor in touched if tensor not in streamed]
        for tensor in sorted(choice, key=lambda tensor: -self._worth(step, operation, tensor)):
            if self.problem.tensors[tensor].bytes <= left:
                left -= self.problem.tensors[tensor].bytes
            else:
                streamed.append(tensor)
        return streamed

    def _worth(self, step: int, operation: Operation, tensor: int) -> int:
        """Return the off-chip bytes that keeping a tensor in the arena can avoid [byte]."""
        size = self.problem.tensors[tensor].bytes
        fresh = tensor in operation.writes and not self.problem.tensors[tensor].is_output
        if fresh or (tensor in self.slots and tensor not in self.on_host):
            return 2 * size
        return size if tensor in self.slots or self._next_use(tensor, step) is not None else 0

    def _stream(self, step: int, tensor: int) -> None:
        """Let a tensor pass in tiles; it leaves the arena, and has a host copy from then on."""
        if tensor in self.slots:
            self._evict(step, tensor)
        self.on_host.add(tensor)
        self.arrived.add(tensor)
        item = self.problem.tensors[tensor]
        self.streams.append(Stream(tensor=item.name, step=step, bytes=item.bytes))

    def _place(self, step: int, tensor: int, pinned: Sequence[int]) -> bool:
        size = self.problem.tensors[tensor].bytes
        address = self._smallest_gap(size)
        while address is None:
            leaving = self._victims(step, size, pinned)
            if not leaving:
                return False
            for victim in leaving:
                self._evict(step, victim)
            address = self._smallest_gap(size)
        self.slots[tensor] = _Slot(address, size, step)
        return True

    def _smallest_gap(self, size: int) -> int | None:
        """Return the start of the smallest gap that is large enough."""
        best: tuple[int, int] | None = None
        start = self.reserve
        for slot in sorted(self.slots.values(), key=lambda slot: slot.address):
            gap = slot.address - start
            if gap >= size and (best is None or gap < best[0]):
                best = gap, start
            start = slot.end
        gap = self.problem.budget - start
        if gap >= size and (best is None or gap < best[0]):
            best = gap, start
        return None if best is None else best[1]

    def _victims(self, step: int, size: int, pinned: Sequence[int]) -> list[int]:
        others = [tensor for tensor in self.slots if tensor not in pinned]
        if not others:
            return []
        if self.rule is Replacement.BELADY:
            return [max(others, key=lambda tensor: (self._next_use(tensor, step - 1) or 0, tensor))]
        return self._cheapest_run(size, pinned)

    def _cheapest_run(self, size: int, pinned: Sequence[int]) -> list[int]:
        """Return the neighbours whose leaving opens a large enough gap at the least cost."""
        ordered = sorted(self.slots, key=lambda tensor: self.slots[tensor].address)
        best: tuple[int, list[int]] | None = None
        for first in range(len(ordered)):
            start = self.slots[ordered[first - 1]].end if first else self.reserve
            run: list[int] = []
            cost = 0
            for last in range(first, len(ordered)):
                if ordered[last] in pinned:
                    break
                run.append(ordered[last])
                copies = 1 if ordered[last] in self.on_host else 2
                cost += copies * self.slots[ordered[last]].bytes
                following = ordered[last + 1] if last + 1 < len(ordered) else None
                end = self.problem.budget if following is None else self.slots[following].address
                if end - start >= size:
                    if best is None or cost < best[0]:
                        best = cost, list(run)
                    break
        return [] if best is None else best[1]

    def _pack_anew(self, step: int, needed: Sequence[int]) -> None:
        """Empty the arena and place what the operator touches from its start on."""
        for tensor in tuple(self.slots):
            if self.slots[tensor].first < step:
                self._evict(step, tensor)
        self.slots.clear()
        address = self.reserve
        for tensor in needed:
            size = self.problem.tensors[tensor].bytes
            self.slots[tensor] = _Slot(address, size, step)
            address += size

    def _evict(self, step: int, tensor: int) -> None:
        if tensor not in self.on_host:
            self.on_host.add(tensor)
            self.spills.append(self._transfer(step, tensor))
        self._close(tensor, step - 1)

    def _close(self, tensor: int, last: int) -> None:
        slot = self.slots.pop(tensor)
        self.residences.append(
            Residence(
                tensor=self.problem.tensors[tensor].name,
                first_step=slot.first,
                last_step=last,
                address=slot.address,
                bytes=slot.bytes,
            )
        )

    def _record_arrival(self, step: int, tensor: int) -> None:
        first = self.problem.tensors[tensor].on_host and tensor not in self.arrived
        self.arrived.add(tensor)
        (self.loads if first else self.retrieves).append(self._transfer(step, tensor))

    def _next_use(self, tensor: int, step: int) -> int | None:
        return next((use for use in self.uses[tensor] if use > step), None)

    def _transfer(self, step: int, tensor: int) -> Transfer:
        item = self.problem.tensors[tensor]
        return Transfer(tensor=item.name, step=step, bytes=item.bytes)
