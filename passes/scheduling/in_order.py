"""Schedule a graph in its own order with a greedy allocator; nothing is ever spilled.

A tensor is placed when it is produced (or, a network input, when it is first read) and remains
until its last reader has run. Where it does not fit it is streamed: its producer writes it off
chip tile by tile and each reader fetches it in the same way, through a workspace. This works
down to a budget of one tile, and is the baseline that better schedulers are measured against.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...ir.arch import Architecture
from ...ir.direct import direct_operands
from ...ir.errors import InfeasibleError, Shortage
from ...ir.graph import Graph, Op
from ...ir.graph_schedule import (
    GraphSchedule,
    Residence,
    SolveStatus,
    Stream,
    Transfer,
    Workspace,
)
from ...ir.workload import Operand

MIN_WORKSPACE = 8192
"""Workspace that is kept free for tiles where the budget allows it [byte]."""


def schedule_in_order(
    graph: Graph, arch: Architecture, *, budget: int | None = None
) -> GraphSchedule:
    """Return the plan of the graph's own order with greedy placement.

    Args:
        graph: The network.
        arch: The accelerator; it tells the budget and whether the scratchpad holds weights.
        budget: Scratchpad size to use instead of the architecture's [byte].

    Raises:
        InfeasibleError: The budget is below one byte.
    """
    allowed = scratchpad_budget(arch, budget)
    weights_stream = Operand.W in arch.scratchpad_level.holds
    direct = frozenset(name for op in graph.ops for name in direct_operands(graph, op, arch))
    plan = _plan(graph, allowed, 0, weights_stream, direct)
    if plan.is_streaming:
        plan = _plan(graph, allowed, workspace_reserve(allowed), weights_stream, direct)
    return plan.finish()


def scratchpad_budget(arch: Architecture, budget: int | None) -> int:
    """Return the scratchpad bytes that a plan may use.

    Raises:
        InfeasibleError: There is not one byte, or more is asked for than the machine has.
    """
    capacity = arch.scratchpad_level.capacity
    allowed = capacity if budget is None else budget
    if allowed is None or allowed < 1:
        raise InfeasibleError(
            "no tile fits",
            shortage=Shortage(resource=arch.scratchpad, demand=1, capacity=allowed or 0),
            hint="give the scratchpad a budget of at least one tile",
        )
    if capacity is None or allowed > capacity:
        raise InfeasibleError(
            f"the budget is larger than the scratchpad of {arch.name}",
            shortage=Shortage(resource=arch.scratchpad, demand=allowed, capacity=capacity or 0),
        )
    return allowed


def workspace_reserve(allowed: int) -> int:
    """Return the space that plans keep for tiles where any tensor passes in tiles [byte]."""
    return min(allowed, max(MIN_WORKSPACE, allowed // 2))


@dataclass(slots=True)
class _Planner:
    """The plan in the making: what is resident now, and what has been decided."""

    graph: Graph
    allowed: int
    reserve: int
    weights_stream: bool
    direct: frozenset[str]
    last_use: Mapping[str, int]
    live: dict[str, Residence] = field(default_factory=dict[str, Residence])
    residences: list[Residence] = field(default_factory=list[Residence])
    loads: list[Transfer] = field(default_factory=list[Transfer])
    stores: list[Transfer] = field(default_factory=list[Transfer])
    streams: list[Stream] = field(default_factory=list[Stream])
    workspaces: list[Workspace] = field(default_factory=list[Workspace])
    is_streaming: bool = False

    def execute(self, step: int, op: Op) -> None:
        """Decide one step: operands, then results, then the workspace they leave."""
        self.live = {name: item for name, item in self.live.items() if self.last_use[name] >= step}
        streamed = self._streams_weights(op)
        for name in op.inputs:
            if not self.graph.is_constant(name):
                streamed |= self._read(step, name)
        for value in op.results:
            streamed |= self._write(step, value.name)
        self.is_streaming |= streamed
        workspace = self._largest_hole(step)
        if workspace.bytes:
            self.workspaces.append(workspace)

    def finish(self) -> GraphSchedule:
        """Return the frozen plan."""
        moved = (*self.loads, *self.stores, *self.streams)
        return GraphSchedule(
            budget=self.allowed,
            order=tuple(op.name for op in self.graph.ops),
            residences=tuple(self.residences),
            loads=tuple(self.loads),
            stores=tuple(self.stores),
            streams=tuple(self.streams),
            workspaces=tuple(self.workspaces),
            status=SolveStatus.HEURISTIC,
            objective=sum(item.bytes for item in moved),
        )

    def _streams_weights(self, op: Op) -> bool:
        return self.weights_stream and any(self.graph.is_constant(name) for name in op.inputs)

    def _read(self, step: int, name: str) -> bool:
        """Make an operand available; return whether it is streamed."""
        if name in self.live:
            return False
        size = self.graph.types[name].bytes
        if name not in self.graph.producer and self._place(step, name, size):
            self.loads.append(Transfer(tensor=name, step=step, bytes=size))
            return False
        self.streams.append(Stream(tensor=name, step=step, bytes=size))
        return True

    def _write(self, step: int, name: str) -> bool:
        """Give a result its place; return whether it is streamed."""
        size = self.graph.types[name].bytes
        if not self._place(step, name, size):
            self.streams.append(Stream(tensor=name, step=step, bytes=size))
            return True
        if name in self.graph.outputs:
            self.stores.append(Transfer(tensor=name, step=step, bytes=size))
        return False

    def _place(self, step: int, name: str, size: int) -> bool:
        """Place a tensor at the highest address that is free until its last use.

        What an operator reads from off chip directly is streamed throughout.
        """
        if name in self.direct:
            return False
        last = max(step, self.last_use[name])
        top = self.allowed
        for item in sorted(self.live.values(), key=lambda item: -item.address):
            if top - (item.address + item.bytes) >= size:
                break
            top = item.address
        if top - size < self.reserve:
            return False
        place = Residence(
            tensor=name, first_step=step, last_step=last, address=top - size, bytes=size
        )
        self.live[name] = place
        self.residences.append(place)
        return True

    def _largest_hole(self, step: int) -> Workspace:
        """Return the largest free block of a step as its workspace."""
        best, start = (0, 0), 0
        for item in sorted(self.live.values(), key=lambda item: item.address):
            best = max(best, (item.address - start, start))
            start = item.address + item.bytes
        size, address = max(best, (self.allowed - start, start))
        return Workspace(step=step, address=address, bytes=size)


def _plan(
    graph: Graph, allowed: int, reserve: int, weights_stream: bool, direct: frozenset[str]
) -> _Planner:
    last_use = dict.fromkeys(graph.types, -1)
    for step, op in enumerate(graph.ops):
        last_use.update((name, step) for name in op.inputs)
        last_use.update((value.name, step) for value in op.results)
    planner = _Planner(
        graph=graph,
        allowed=allowed,
        reserve=reserve,
        weights_stream=weights_stream,
        direct=direct,
        last_use=last_use,
    )
    for step, op in enumerate(graph.ops):
        planner.execute(step, op)
    return planner
