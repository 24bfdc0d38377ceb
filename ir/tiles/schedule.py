"""When and where every tile operation and transfer happens, and the one verifier of it.

Events stand in program order: each queue executes its events in this order, and an event waits
for the earlier ones whose memory it touches. One event becomes one instruction.

The verifier knows nothing of schedulers. It replays the events and checks that operands are
complete where they are read, that no engine does two things at once, that placements do not
overlap in address x time, that accumulators are cleared, completed and finished once, that what is
dropped unwritten is not read again, and that every element which one operator hands to another is
there when it is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..arch import Architecture
from ..errors import VerifyError
from ..isa.instructions import Unit
from ..notebook import Cell, table_html
from ..proof import Scope, verify_proof
from .events import TRANSFERS, Event, Placement, TileEvents
from .occupancy import verify_exclusive, verify_no_overlap
from .replay import Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTiles:
    """What the tiles of one operator take by themselves, with nobody else on the machine.

    Attributes:
        operator: Its name.
        scheduler: Who cut it into tiles and ordered them.
        cycles: Predicted makespan.
        begin: Cycle of it in which the first engine begins to work.
        cycles_lower_bound: No schedule of ``scope`` is faster; 0 where nothing is proven.
        scope: The schedules that the bound holds for.
    """

    operator: str
    scheduler: str
    cycles: int
    begin: int = 0
    cycles_lower_bound: int = 0
    scope: Scope | None = None

    def verify(self) -> None:
        """Check that the bound has its proof.

        Raises:
            VerifyError: Names the operator.
        """
        bound = self.cycles_lower_bound or None
        verify_proof(f"tiles of {self.operator}", self.cycles, bound, self.scope, is_optimal=False)


@dataclass(frozen=True, kw_only=True)
class TileSchedule(TileEvents):
    """A schedule of one tile graph: of a network, or of one operator before it joins the others.

    Layer by layer is the schedule in which no tile crosses a boundary of operators.

    Attributes:
        scheduler: Who made it.
        cycles: Predicted makespan.
        cycles_lower_bound: No schedule of ``scope`` is faster; 0 where nothing is proven.
        scope: The schedules that the bound holds for.
        alone: What each operator takes by itself, in the order of the graph's operators; empty
            where nobody looked.
    """

    scheduler: str
    cycles: int
    cycles_lower_bound: int = 0
    scope: Scope | None = None
    alone: tuple[OperatorTiles, ...] = ()

    def _repr_html_(self) -> str:
        bound = f", bound {self.cycles_lower_bound:,}" if self.cycles_lower_bound else ""
        caption = (
            f"Tile schedule by {self.scheduler}: {self.cycles:,} cycles{bound}, "
            f"{len(self.events):,} events"
        )
        headings = ("operator", "from cycle", "to cycle", "computes", "transfers", "bytes off chip")
        return table_html(caption, headings, map(self._row, range(len(self.graph.operators))))

    def _row(self, step: int) -> tuple[Cell, ...]:
        """Return what a notebook shows of an operator."""
        numbers = self.by_step.get(step, ())
        events = [self.events[number] for number in numbers]
        transfers = sum(event.kind in TRANSFERS for event in events)
        return (
            self.graph.operators[step],
            min((event.start for event in events), default=None),
            max((event.end for event in events), default=None),
            len(events) - transfers,
            transfers,
            self.bytes_of(numbers),
        )

    @property
    def transferred_bytes(self) -> int:
        """Bytes between off-chip memory and the chip."""
        return self.bytes_of(range(len(self.events)))

    def bytes_of(self, events: Sequence[int]) -> int:
        """Return the bytes that some events move between off-chip memory and the chip."""
        chosen = [self.events[number] for number in events]
        moving = [event for event in chosen if event.kind in TRANSFERS]
        return sum(self.graph.tiles[event.subject].bytes for event in moving)

    @cached_property
    def by_step(self) -> Mapping[int, tuple[int, ...]]:
        """Numbers of the events that work for each operator, by its position."""
        found: dict[int, list[int]] = {}
        for number, event in enumerate(self.events):
            found.setdefault(event.step, []).append(number)
        return {step: tuple(numbers) for step, numbers in found.items()}

    def verify(self) -> None:
        """Replay the schedule, once: it never changes.

        Raises:
            VerifyError: Names the event or placement that breaks a rule, or the claim without its
                proof.
        """
        _ = self._is_valid

    @cached_property
    def _is_valid(self) -> bool:
        verify_proof(
            f"tiles of {' '.join(self.graph.operators)}",
            self.cycles,
            self.cycles_lower_bound or None,
            self.scope,
            is_optimal=False,
        )
        for item in self.alone:
            item.verify()
        if self.alone and tuple(item.operator for item in self.alone) != self.graph.operators:
            raise VerifyError("operators by themselves are not those of the tile graph")
        self.graph.verify()
        for number, event in enumerate(self.events):
            self._verify_subject(number, event)
            self._verify_step(number, event)
        for item in self.placements:
            self._verify_span(item)
        verify_exclusive(self)
        verify_no_overlap(self)
        Replay(self).run()
        return True

    def verify_engines(self, arch: Architecture) -> None:
        """Check that a machine has the engines and memories that events and tiles are on.

        Args:
            arch: The machine.

        Raises:
            VerifyError: Names the event, placement or operation.
        """
        npus, channels = len(arch.npus), arch.dma.channels
        for number, event in enumerate(self.events):
            if event.index >= (channels if event.unit is Unit.DMA else npus):
                raise VerifyError(
                    f"event {number} ({event.kind}) runs on {event.unit}{event.index}, which "
                    f"{arch.name} lacks"
                )
        for item in self.placements:
            if item.npu >= npus:
                raise VerifyError(f"tile {item.tile} is placed on npu {item.npu} of {npus}")
        for number, op in enumerate(self.graph.ops):
            if op.accumulates and len(op.nests) != npus:
                raise VerifyError(
                    f"tile operation {number} has {len(op.nests)} nests for {npus} NPUs"
                )

    def _verify_subject(self, number: int, event: Event) -> None:
        """Check that what an event moves or executes is there, and made for its engine."""
        is_transfer = event.kind in TRANSFERS
        count = len(self.graph.tiles if is_transfer else self.graph.ops)
        if not 0 <= event.subject < count:
            what = "tile" if is_transfer else "tile operation"
            raise VerifyError(f"event {number} ({event.kind}): there is no {what} {event.subject}")
        unit = Unit.DMA if is_transfer else self.graph.ops[event.subject].unit
        if event.unit is not unit or event.index < 0:
            raise VerifyError(
                f"event {number} ({event.kind}) runs on {event.unit}{event.index}, not on {unit}"
            )

    def _verify_span(self, item: Placement) -> None:
        """Check that what a placement names is there."""
        if not 0 <= item.tile < len(self.graph.tiles):
            raise VerifyError(f"a placement is of tile {item.tile}, which does not exist")
        if not 0 <= item.first_event <= item.last_event < len(self.events) or item.npu < 0:
            raise VerifyError(
                f"tile {item.tile} is placed on npu {item.npu} for events {item.first_event} to "
                f"{item.last_event} of {len(self.events)}"
            )

    def _verify_step(self, number: int, event: Event) -> None:
        """Check that an event works for an operator that there is, and for that of its tiles."""
        names = self.graph.operators
        if not 0 <= event.step < len(names):
            raise VerifyError(f"event {number} works for operator {event.step}, which is none")
        if event.kind in TRANSFERS:
            return
        operator = self.graph.ops[event.subject].operator
        if names[event.step] != operator:
            raise VerifyError(f"event {number} works for %{operator}, not for %{names[event.step]}")
