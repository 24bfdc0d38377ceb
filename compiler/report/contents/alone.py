"""What an operator's own tiles cost each other at ports, when nobody else is there.

A program is cut down to the instructions of one operator's tiles. What remains of each wait is the
part that is for them. Moves of whole tensors at the operator's step are left out, as they are where
the time of an operator alone is predicted; so where operators follow each other, their own parts
take as long as predicted.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....ir.isa.instructions import Wait
from ....ir.isa.program import Program
from ....ir.tiles.events import TRANSFERS
from ....ir.tiles.schedule import TileSchedule
from ....runtime_sim.array.arrays import Arrays
from ....runtime_sim.timing.demands import Demand, Demands
from ....runtime_sim.timing.events import ProgramTiming, time_of
from ....runtime_sim.timing.ports import ports_of

_NONE = -1
"""The step of what works for no operator's tiles."""


@dataclass(frozen=True)
class OperatorsAlone:
    """Times each operator of a program by itself.

    Attributes:
        program: The program.
        schedule: What it was lowered from: an instruction per event, queue by queue.
    """

    program: Program
    schedule: TileSchedule

    def timing(self, step: int) -> ProgramTiming:
        """Return when the instructions of an operator's tiles run by themselves.

        Args:
            step: Position of the operator in the order of execution.
        """
        kept = [line.get(step, ()) for line in self._kept]
        lines = list(zip(self.program.queues, self._works, kept, strict=True))
        return time_of(
            self.program,
            work=[[work[position] for position in line] for _, work, line in lines],
            waits=[
                [_own_waits(queue.instructions[position].waits, kept) for position in line]
                for queue, _, line in lines
            ],
        )

    def stalls(self, step: int) -> Counter[str]:
        """Return by port how long an operator's own instructions hold each other up [cycle].

        Args:
            step: Position of the operator in the order of execution.
        """
        found: Counter[str] = Counter()
        for queue in self.timing(step).queues:
            for issue in queue:
                for stall in issue.stalls:
                    found[stall.port] += stall.cycles
        return found

    @cached_property
    def _kept(self) -> list[Mapping[int, Sequence[int]]]:
        """Positions of the instructions of each operator's tiles, ascending, by queue."""
        return [_positions(line) for line in self._steps]

    @cached_property
    def _steps(self) -> list[list[int]]:
        """Of each instruction the operator whose tile it is of, by queue."""
        tiles = self.schedule.graph.tiles
        found: dict[tuple[str, int], list[int]] = {}
        for event in self.schedule.events:
            moves_whole = event.kind in TRANSFERS and tiles[event.subject].is_resident
            line = found.setdefault((event.unit, event.index), [])
            line.append(_NONE if moves_whole else event.step)
        steps = [found.get((queue.unit, queue.index), []) for queue in self.program.queues]
        return [
            line + [_NONE] * (len(queue.instructions) - len(line))
            for line, queue in zip(steps, self.program.queues, strict=True)
        ]

    @cached_property
    def _works(self) -> list[list[Demand]]:
        """What each instruction asks of the machine, by queue."""
        demands = Demands(self.program, ports_of(self.program.arch), Arrays(self.program))
        return [demands.queue(number) for number in range(len(self.program.queues))]


def _positions(steps: Sequence[int]) -> Mapping[int, Sequence[int]]:
    """Return where each step stands in a sequence of steps."""
    found: dict[int, list[int]] = {}
    for position, step in enumerate(steps):
        found.setdefault(step, []).append(position)
    return found


def _own_waits(waits: Sequence[Wait], kept: Sequence[Sequence[int]]) -> tuple[Wait, ...]:
    """Return waits for those instructions that are kept.

    Args:
        waits: For instructions of the whole program.
        kept: Per queue the positions of the instructions that are kept, ascending.
    """
    own = (Wait(wait.queue, bisect_left(kept[wait.queue], wait.count)) for wait in waits)
    return tuple(wait for wait in own if wait.count)
