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

from ..errors import VerifyError
from ..notebook import Cell, table_html
from ..proof import Scope, verify_proof
from .events import TRANSFERS, Event, TileEvents
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
            self._verify_step(number, event)
        verify_exclusive(self)
        verify_no_overlap(self)
        Replay(self).run()
        return True

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
