"""Replay a graph schedule and account for every byte that crosses the chip's edge.

The checker knows the graph, the machine and the meaning of a plan (``ir/graph_schedule.py``),
and nothing of how the plan was found.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from ...ir.arch import Architecture
from ...ir.direct import direct_operands
from ...ir.errors import VerifyError
from ...ir.graph import Graph, Op
from ...ir.graph_schedule import GraphSchedule, Residence, Transfer, overlap
from ...ir.groups import contracted
from ...ir.in_place import replaceable
from ...ir.workload import Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class OffChipAccount:
    """Bytes that a plan moves between chip and off-chip memory.

    Attributes:
        loads: First arrivals of whole network inputs and constants [byte].
        spills: Tensors written off chip before their last use [byte].
        retrieves: Whole tensors brought back [byte].
        stores: Network outputs written from residence [byte].
        streams: Tensors moved in tiles [byte].
        compulsory: The least that any plan moves of activations: each network input that is
            read comes once, each output leaves once [byte].
    """

    loads: int
    spills: int
    retrieves: int
    stores: int
    streams: int
    compulsory: int

    @property
    def total(self) -> int:
        """All off-chip bytes [byte]."""
        return self.loads + self.spills + self.retrieves + self.stores + self.streams

    @property
    def non_compulsory(self) -> int:
        """Off-chip bytes beyond the compulsory ones [byte]."""
        return self.total - self.compulsory


def check_schedule(
    graph: Graph, schedule: GraphSchedule, arch: Architecture | None = None
) -> OffChipAccount:
    """Replay a plan step by step and return its off-chip traffic.

    Args:
        graph: The network that the plan is for.
        schedule: The plan.
        arch: The accelerator, to compare the budget with its scratchpad and to require a
            workspace where weights pass through it; ``None`` skips both.

    Raises:
        VerifyError: The plan breaks a dependence, reads what is not there, overlaps in
            address and time, transfers what it cannot, or leaves an output on chip.
    """
    schedule.verify()
    network, graph = graph, contracted(graph, schedule.groups)
    _check_order(graph, schedule)
    if arch is not None:
        _check_budget(schedule, arch)
    _check_sizes(graph, schedule)
    replay = _Replay(network, graph, schedule, arch)
    for step, name in enumerate(schedule.order):
        replay.execute(step, graph.producer[name])
    replay.check_end()
    return OffChipAccount(
        loads=_total(schedule.loads),
        spills=_total(schedule.spills),
        retrieves=_total(schedule.retrieves),
        stores=_total(schedule.stores),
        streams=sum(item.bytes for item in schedule.streams),
        compulsory=compulsory_bytes(graph),
    )


def compulsory_bytes(graph: Graph) -> int:
    """Return the activation bytes that every plan moves: inputs read, outputs computed [byte]."""
    inputs = {value.name for value in graph.inputs if graph.consumers[value.name]}
    outputs = {name for name in graph.outputs if name in graph.producer}
    return sum(graph.types[name].bytes for name in inputs | outputs)


class _Replay:
    """State of the machine between steps: what is resident, and what has a host copy."""

    def __init__(
        self,
        network: Graph,
        graph: Graph,
        schedule: GraphSchedule,
        arch: Architecture | None,
    ) -> None:
        self._network = network
        self._graph = graph
        self._schedule = schedule
        self._arch = arch
        self._weights_pass = arch is not None and Operand.W in arch.scratchpad_level.holds
        self._host = {value.name for value in (*graph.inputs, *graph.constants)}
        self._arrived: set[str] = set()
        self._resident: dict[str, Residence] = {}
        self._starts = _by_step(schedule.residences)
        self._loads = _transfers(schedule.loads)
        self._spills = _transfers(schedule.spills)
        self._retrieves = _transfers(schedule.retrieves)
        self._stores = _transfers(schedule.stores)
        self._streams: defaultdict[int, list[str]] = defaultdict(list)
        for item in schedule.streams:
            self._streams[item.step].append(item.tensor)

    def execute(self, step: int, op: Op) -> None:
        """Replay one step."""
        self._spill(step)
        self._leave(step)
        self._bring(step, op)
        replaced = self._replaced(step, op)
        streams = self._operate(step, op)
        self._resident = {name: it for name, it in self._resident.items() if name not in replaced}
        if streams and self._schedule.workspace(step) is None:
            raise VerifyError(f"step {step} (%{op.name}) streams without a workspace")
        self._store(step)

    def check_end(self) -> None:
        """Check that no transfer lies outside of the steps and that every output left."""
        late = [
            item
            for item in (*self._schedule.streams, *_all_transfers(self._schedule))
            if not 0 <= item.step < len(self._schedule.order)
        ]
        if late:
            raise VerifyError(f"%{late[0].tensor} moves at step {late[0].step}, which is none")
        for name in self._graph.outputs:
            if name not in self._host:
                raise VerifyError(f"output %{name} never leaves the chip")

    def _spill(self, step: int) -> None:
        for name in self._spills[step]:
            held = self._resident.get(name)
            if held is None:
                raise VerifyError(f"%{name} is spilled at step {step} but is not resident")
            if name in self._host:
                raise VerifyError(f"%{name} is spilled at step {step} but has a host copy")
            self._host.add(name)

    def _leave(self, step: int) -> None:
        self._resident = {
            name: item for name, item in self._resident.items() if item.last_step >= step
        }

    def _bring(self, step: int, op: Op) -> None:
        results = {value.name for value in op.results}
        for name in (*self._loads[step], *self._retrieves[step]):
            if not any(item.tensor == name for item in self._starts[step]):
                raise VerifyError(f"%{name} is brought in at step {step} but has no place there")
            if name not in self._host:
                raise VerifyError(f"%{name} is brought in at step {step} without a host copy")
        for name in self._loads[step]:
            if name in self._graph.producer or name in self._arrived:
                raise VerifyError(f"%{name} at step {step} is not a first load")
        for name in self._retrieves[step]:
            if name not in self._graph.producer and name not in self._arrived:
                raise VerifyError(f"%{name} is retrieved at step {step} before it was loaded")
        brought = {*self._loads[step], *self._retrieves[step]}
        for item in self._starts[step]:
            if item.tensor not in results | brought:
                raise VerifyError(f"%{item.tensor} is resident from step {step} out of nothing")
            if item.tensor in self._resident:
                raise VerifyError(f"%{item.tensor} is resident twice at step {step}")
            self._resident[item.tensor] = item
        self._arrived |= brought

    def _replaced(self, step: int, op: Op) -> frozenset[str]:
        """Return the operands that a step writes its result over, if it may."""
        found: set[str] = set()
        for pair in combinations(self._resident.values(), 2):
            old, new = sorted(pair, key=lambda item: item.tensor == op.name)
            if not overlap(old, new):
                continue
            if new.tensor != op.name or old.tensor not in replaceable(self._network, op):
                raise VerifyError(
                    f"%{old.tensor} and %{new.tensor} overlap at step {step}, where %{op.name} "
                    "cannot write one over the other"
                )
            found.add(old.tensor)
        return frozenset(found)

    def _operate(self, step: int, op: Op) -> bool:
        """Check operands and results of a step; return whether anything passes in tiles."""
        streams = False
        direct = self._direct(op)
        for name in op.inputs:
            if name in self._resident:
                if name in direct:
                    raise VerifyError(
                        f"%{name} is resident at step {step}, but %{op.name} reads it off chip"
                    )
                continue
            if self._graph.is_constant(name) and name not in self._streams[step]:
                streams |= self._weights_pass
                continue
            self._check_stream(step, op, name)
            if name not in self._host:
                raise VerifyError(f"%{name} is streamed at step {step} without a host copy")
            self._arrived.add(name)
            streams |= name not in direct or self._passes_too(op, name)
        for value in op.results:
            if value.name in self._resident:
                continue
            self._check_stream(step, op, value.name)
            self._host.add(value.name)
            streams = True
        self._check_streams_used(step, op)
        return streams

    def _direct(self, op: Op) -> frozenset[str]:
        """Return what an operator reads around the scratchpad."""
        if self._arch is None:
            return frozenset()
        return direct_operands(self._graph, op, self._arch)

    def _passes_too(self, op: Op, name: str) -> bool:
        """Whether an operator also reads a direct operand as one that takes space on chip."""
        return op.operands.count(name) > 1

    def _check_stream(self, step: int, op: Op, name: str) -> None:
        if name not in self._streams[step]:
            raise VerifyError(
                f"%{name} is neither resident nor streamed at step {step} (%{op.name})"
            )

    def _check_streams_used(self, step: int, op: Op) -> None:
        for name in self._streams[step]:
            if name not in op.touched or name in self._resident:
                raise VerifyError(f"%{name} is streamed at step {step} for nothing")

    def _store(self, step: int) -> None:
        for name in self._stores[step]:
            if name not in self._graph.outputs:
                raise VerifyError(f"%{name} is stored at step {step} but is no output")
            if name not in self._resident:
                raise VerifyError(f"output %{name} is stored at step {step} but is not resident")
            if name in self._host:
                raise VerifyError(f"output %{name} is stored at step {step} a second time")
            self._host.add(name)


def _check_order(graph: Graph, schedule: GraphSchedule) -> None:
    names = {op.name for op in graph.ops}
    if names != set(schedule.order):
        odd = sorted(names.symmetric_difference(schedule.order))
        raise VerifyError(f"the order and {graph.name} differ in %{odd[0]}")
    step_of = schedule.step_of
    for op in graph.ops:
        for name in op.inputs:
            source = graph.producer.get(name)
            if source is not None and step_of[source.name] >= step_of[op.name]:
                raise VerifyError(f"%{op.name} runs before %{source.name}, which it reads")


def _check_budget(schedule: GraphSchedule, arch: Architecture) -> None:
    capacity = arch.scratchpad_level.capacity
    if capacity is not None and schedule.budget > capacity:
        raise VerifyError(
            f"the plan uses {schedule.budget} byte of {arch.scratchpad}, which has {capacity}"
        )


def _check_sizes(graph: Graph, schedule: GraphSchedule) -> None:
    for item in (*schedule.residences, *_all_transfers(schedule)):
        if item.tensor not in graph.types:
            raise VerifyError(f"%{item.tensor} is not in {graph.name}")
        size = graph.types[item.tensor].bytes
        if item.bytes != size:
            raise VerifyError(f"%{item.tensor} has {size} byte, the plan says {item.bytes}")
    for item in schedule.streams:
        if item.tensor not in graph.types:
            raise VerifyError(f"%{item.tensor} is not in {graph.name}")


def _all_transfers(schedule: GraphSchedule) -> tuple[Transfer, ...]:
    return (*schedule.loads, *schedule.spills, *schedule.retrieves, *schedule.stores)


def _by_step(residences: Iterable[Residence]) -> Mapping[int, list[Residence]]:
    found: defaultdict[int, list[Residence]] = defaultdict(list)
    for item in residences:
        found[item.first_step].append(item)
    return found


def _transfers(items: Iterable[Transfer]) -> Mapping[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for item in items:
        found[item.step].append(item.tensor)
    return found


def _total(items: Iterable[Transfer]) -> int:
    return sum(item.bytes for item in items)
