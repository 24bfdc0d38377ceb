"""Keep only the waits that order something: what follows from another wait is left out.

    mx0: compute, waits dma0>=3          mx0: compute, waits dma0>=3
    vx0: finish, waits mx0>=1 dma0>=2    vx0: finish, waits mx0>=1

Every queue executes in order, so that an instruction that waits for another one also comes after
all that this one waited for. Vector clocks tell what that is. Dropping a wait that is left is
therefore a race wherever both instructions touch the same bytes.
"""

from dataclasses import dataclass, field

from ...ir.tiles.hazards import Ticks

Clock = tuple[int, ...]
"""For each queue, how many of its instructions have retired at least."""


@dataclass
class WaitFilter:
    """Clocks of all instructions so far; local to one lowering run.

    Attributes:
        queues: Number of queues.
    """

    queues: int
    _after: list[list[Clock]] = field(init=False)

    def __post_init__(self) -> None:
        self._after = [[(0,) * self.queues] for _ in range(self.queues)]

    def needed(self, queue: int, waits: Ticks) -> Ticks:
        """Note the next instruction of a queue; return those of its waits that are needed.

        Args:
            queue: Where the instruction stands.
            waits: What it must come after, without its own queue.
        """
        history = self._after[queue]
        known = history[-1]
        left = {other: tick for other, tick in waits.items() if known[other] < tick}
        clocks = {other: self._after[other][tick] for other, tick in left.items()}
        kept = {
            other: tick
            for other, tick in left.items()
            if not any(clock[other] >= tick for source, clock in clocks.items() if source != other)
        }
        clock = list(map(max, known, *clocks.values())) if clocks else list(known)
        clock[queue] = len(history)
        history.append(tuple(clock))
        return kept
