"""Join the schedules of all operators into one, in the same order.

    schedule of a; schedule of b    ->    schedule of a, b: moves of a, tiles of a, moves of b, ..

Whole tensors that the graph schedule moves become events between the operators. Operations on
resident tensors get *windows*: tiles of just the part that they touch, so that each of them waits
for no more than that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap, zip_longest

from ....ir.arch import Architecture
from ....ir.errors import VerifyError
from ....ir.graph import Graph
from ....ir.graph_schedule import GraphSchedule, Residence, Transfer
from ....ir.isa.instructions import Space, Unit
from ....ir.mapping import LoopNest
from ....ir.module import Module
from ....ir.tiles.events import Event, EventKind, Placement
from ....ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from ....ir.tiles.schedule import OperatorTiles, TileSchedule
from ....ir.types import TensorType
from ...base import require_arch
from ..timing.retime import timed
from .windows import Reads, Seen, reads_of, window


def join(module: Module, schedules: Sequence[TileSchedule], scheduler: str) -> TileSchedule:
    """Return the schedule of a network, its operators in turn.

    Args:
        module: With its plan of the scratchpad.
        schedules: Of each operator by itself, in the order of the plan.
        scheduler: Who made them.
    """
    plan, arch = module.graph_schedule, require_arch(module)
    assert plan is not None
    run = _Join(module.graph, plan, arch)
    for step, (name, schedule) in enumerate(zip(plan.order, schedules, strict=True)):
        run.add_step(step, name, schedule)
    return timed(run.finish(scheduler), arch)


@dataclass
class _Join:
    """The schedule of the network in the making."""

    network: Graph
    plan: GraphSchedule
    arch: Architecture
    tiles: list[Tile] = field(default_factory=list[Tile])
    ops: list[TileOp] = field(default_factory=list[TileOp])
    nests: dict[LoopNest, int] = field(default_factory=dict[LoopNest, int])
    events: list[Event] = field(default_factory=list[Event])
    placements: list[Placement] = field(default_factory=list[Placement])
    alone: list[OperatorTiles] = field(default_factory=list[OperatorTiles])
    wholes: dict[Tile, int] = field(default_factory=dict[Tile, int])

    def __post_init__(self) -> None:
        self.loads = [0] * self.arch.dma.channels
        plan = self.plan
        kinds = (plan.spills, plan.loads, plan.retrieves, plan.stores)
        self.spills, self.arrivals, self.retrieves, self.stores = map(_by_step, kinds)

    def add_step(self, step: int, name: str, schedule: TileSchedule) -> None:
        """Add what a step does: moves, tiles, stores.

        Args:
            step: The step.
            name: Of its operator or group.
            schedule: Its tiles.
        """
        for item in self.spills.get(step, ()):
            self._move(EventKind.SPILL, item, step - 1, step)
        for item in self.arrivals.get(step, ()):
            self._move(EventKind.LOAD, item, step, step)
        for item in self.retrieves.get(step, ()):
            self._move(EventKind.RETRIEVE, item, step, step)
        self._add_schedule(step, name, schedule)
        for item in self.stores.get(step, ()):
            self._move(EventKind.STORE, item, step, step)

    def finish(self, scheduler: str) -> TileSchedule:
        """Return the frozen schedule; when its events run is still unknown."""
        graph = TileGraph(
            operators=self.plan.order,
            tiles=tuple(self.tiles),
            ops=tuple(self.ops),
            nests=tuple(self.nests),
        )
        return TileSchedule(
            graph=graph,
            events=tuple(self.events),
            placements=tuple(self.placements),
            scheduler=scheduler,
            cycles=0,
            alone=tuple(self.alone),
        )

    def _move(self, kind: EventKind, item: Transfer, place_step: int, step: int) -> None:
        """Add the transfer of a whole tensor, on the channel that has the fewest."""
        place = self.plan.resident(item.tensor, place_step)
        if place is None:
            raise VerifyError(f"%{item.tensor} is moved at step {step} but not resident there")
        tile = whole_tile(place, self.network.types[item.tensor])
        if tile not in self.wholes:
            self.wholes[tile] = len(self.tiles)
            self.tiles.append(tile)
        channel = self.loads.index(min(self.loads))
        self._append(
            Event(
                kind=kind,
                subject=self.wholes[tile],
                unit=Unit.DMA,
                index=channel,
                start=0,
                end=0,
                step=step,
            )
        )

    def _append(self, event: Event) -> None:
        if event.unit is Unit.DMA:
            self.loads[event.index] += 1
        self.events.append(event)

    def _add_schedule(self, step: int, name: str, schedule: TileSchedule) -> None:
        first_event, first_op = len(self.events), len(self.ops)
        members = (self.network.producer[member] for member in self.plan.members(name))
        part = _Part(
            schedule.graph,
            {op.name: reads_of(self.network, op, self.arch) for op in members},
            [self.nests.setdefault(item, len(self.nests)) for item in schedule.graph.nests],
            len(self.tiles),
        )
        self.ops += [part.operation(item) for item in schedule.graph.ops]
        self.tiles += part.found
        for event in schedule.events:
            is_operation = event.kind is EventKind.COMPUTE
            subject = first_op + event.subject if is_operation else part.tile(event.subject)
            self._append(replace(event, subject=subject, step=step))
        self.placements += [
            replace(
                item,
                tile=part.tile(item.tile),
                first_event=first_event + item.first_event,
                last_event=first_event + item.last_event,
            )
            for item in schedule.placements
        ]
        self.alone.append(_by_itself(name, schedule))


def _by_itself(operator: str, schedule: TileSchedule) -> OperatorTiles:
    return OperatorTiles(
        operator=operator,
        scheduler=schedule.scheduler,
        cycles=schedule.cycles,
        begin=min((event.begin for event in schedule.events), default=0),
        cycles_lower_bound=schedule.cycles_lower_bound,
        scope=schedule.scope,
    )


@dataclass
class _Part:
    """Translates the tile graph of one operator.

    Attributes:
        graph: The tile graph.
        reads: Tells what operations read, by the operator that they work for.
        nests: New numbers of its nests.
        first: Number of its first tile.
        found: Its tiles, windows instead of resident ones.
    """

    graph: TileGraph
    reads: Mapping[str, Reads]
    nests: list[int]
    first: int
    found: list[Tile] = field(default_factory=list[Tile])
    _numbers: dict[Tile, int] = field(default_factory=dict[Tile, int])

    def operation(self, op: TileOp) -> TileOp:
        """Return an operation on tiles and windows."""
        seen = () if self.graph.keeps(op) else self.reads[op.works_for](op)
        return replace(
            op,
            reads=tuple(starmap(self._window, zip_longest(op.reads, seen))),
            out=self._window(op.out, Seen(self.graph.written_box(op))),
            nests=tuple(self.nests[item] for item in op.nests),
        )

    def tile(self, number: int) -> int:
        """Return the new number of a tile."""
        return self._add(self.graph.tiles[number])

    def _window(self, number: int, seen: Seen | None) -> int:
        tile = self.graph.tiles[number]
        if not tile.is_resident:
            return self._add(tile)
        assert seen is not None, "biases and tables are never resident"
        return self._add(window(tile, seen))

    def _add(self, tile: Tile) -> int:
        if tile not in self._numbers:
            self._numbers[tile] = self.first + len(self.found)
            layout = None if tile.layout is None else self.nests[tile.layout]
            self.found.append(replace(tile, layout=layout))
        return self._numbers[tile]


def whole_tile(place: Residence, type: TensorType) -> Tile:
    """Return the tile that is a whole resident tensor."""
    return Tile(
        tensor=place.tensor,
        role=Role.I,
        view=(1,),
        box=(Range(0, type.elements),),
        element_bytes=type.dtype.bytes,
        space=Space.GB,
        address=place.address,
    )


def _by_step(transfers: Iterable[Transfer]) -> Mapping[int, list[Transfer]]:
    found: dict[int, list[Transfer]] = {}
    for item in transfers:
        found.setdefault(item.step, []).append(item)
    return found
