"""Lower scheduled tiles to instruction streams.

Every event of the tile schedule becomes one instruction of its engine's queue, in program order.
Waits follow from memory alone: an instruction waits for the last earlier instruction of every
other queue that touched the tiles, or the parts of whole tensors, that it needs
(``ir/tiles/hazards.py``), unless another wait implies that (``waits.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...ir.errors import PassError
from ...ir.isa.program import Program
from ...ir.module import Module
from ...ir.ops import is_mac
from ...ir.tiles.graph import multiplier_name
from ...ir.tiles.hazards import ScheduleHazards
from ...ir.tiles.places import verify_places
from ...ir.tiles.schedule import TileSchedule
from .event import EventLowering
from .executable import check_executable
from .layout import OffChipLayout, lay_out, moved_tensors, multiplier_of
from .streams import Streams


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program and the constants that only it has.

    Attributes:
        program: The instruction streams.
        derived: Requantisation factors by symbol, float32.
    """

    program: Program
    derived: Mapping[str, npt.NDArray[np.float32]]


def lower(module: Module) -> Lowered:
    """Return the program of a scheduled module.

    Raises:
        PassError: A stage is missing, or the machine has no instruction for an operator.
        VerifyError: The tile schedule is not one of the graph schedule.
    """
    if module.arch is None or module.graph_schedule is None or module.tile_schedule is None:
        raise PassError("lowering needs an architecture, a graph schedule and a tile schedule")
    check_executable(module.arch)
    verify_places(module.graph_schedule, module.tile_schedule)
    derived = {
        multiplier_name(op.name): multiplier_of(module.graph, op)
        for op in module.graph.ops
        if is_mac(op) and op.result.type.quant is not None
    }
    run = _Lowering(module, derived)
    run.execute()
    return Lowered(run.streams.program(module.graph_schedule.order), derived)


@dataclass
class _Lowering:
    """One lowering run."""

    module: Module
    derived: Mapping[str, npt.NDArray[np.float32]]

    def __post_init__(self) -> None:
        arch, schedule = self.module.arch, self.module.tile_schedule
        assert arch is not None and schedule is not None
        self.schedule: TileSchedule = schedule
        self.streams = Streams(arch, self.module.graph, self._lay_out())

    def _lay_out(self) -> OffChipLayout:
        moved = moved_tensors(self.schedule)
        derived = [(name, len(self.derived[name])) for name in moved if name in self.derived]
        return lay_out(self.module.graph, moved, derived)

    def execute(self) -> None:
        """Append one instruction per event."""
        hazards, nests = ScheduleHazards(self.schedule), dict[int, int]()
        for number, event in enumerate(self.schedule.events):
            upcoming = hazards.before(number)
            queue = self.streams.queue(event.unit, event.index)
            lowering = EventLowering(self.streams, hazards.accesses, number, nests)
            self.streams.append(queue, lowering.instruction(), upcoming.waits, event.step)
            upcoming.note(queue, self.streams.length(queue))
