"""When and where every tile operation and transfer happens, and the one verifier of it.

Events stand in program order: each queue executes its events in this order, and an event waits
for the earlier ones whose memory it touches. One event becomes one instruction.

The verifier knows nothing of schedulers. It replays the events and checks that operands are
complete where they are read, that no engine does two things at once, that placements do not
overlap in address x time, that accumulators are cleared, completed and finished once, and that
what is dropped unwritten is not read again. Where a schedule covers several operators, it also
checks that every element which one operator hands to another is there when it is read.
"""

from dataclasses import dataclass

from .proof import Scope, verify_proof
from .tile_events import TRANSFERS, TileEvents
from .tile_occupancy import verify_exclusive, verify_no_overlap
from .tile_replay import Replay


@dataclass(frozen=True, kw_only=True)
class TileSchedule(TileEvents):
    """A schedule of one tile graph.

    Attributes:
        scheduler: Who made it.
        cycles: Predicted makespan.
        cycles_lower_bound: No schedule of ``scope`` is faster; 0 where nothing is proven.
        scope: The schedules that the bound holds for.
    """

    scheduler: str
    cycles: int
    cycles_lower_bound: int = 0
    scope: Scope | None = None

    @property
    def transferred_bytes(self) -> int:
        """Bytes between off-chip memory and the chip."""
        return sum(
            self.graph.tiles[event.subject].bytes
            for event in self.events
            if event.kind in TRANSFERS
        )

    def verify(self) -> None:
        """Replay the schedule.

        Raises:
            VerifyError: Names the event or placement that breaks a rule, or the claim without its
                proof.
        """
        verify_proof(
            f"tiles of {' '.join(self.graph.operators)}",
            self.cycles,
            self.cycles_lower_bound or None,
            self.scope,
            is_optimal=False,
        )
        self.graph.verify()
        verify_exclusive(self)
        verify_no_overlap(self)
        Replay(self).run()
