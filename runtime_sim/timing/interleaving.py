"""A random legal order in which instructions begin and retire."""

import random

from ...ir.isa.instructions import Unit
from ...ir.isa.program import Program
from .events import Step


def random_steps(program: Program, seed: int) -> tuple[Step, ...]:
    """Return all beginnings and retirements of a program that does not deadlock, in random order.

    Every step is drawn among all that queues and waits allow then. ``mx`` may begin instructions
    before those before them have retired.
    """
    random_ = random.Random(seed)
    lines = _Lines(program)
    steps: list[Step] = []
    possible = lines.possible()
    while possible:
        step = random_.choice(possible)
        steps.append(step)
        lines.take(step)
        possible = lines.possible()
    return tuple(steps)


class _Lines:
    """How far each queue is: instructions begun and retired."""

    def __init__(self, program: Program) -> None:
        self._queues = program.queues
        self._begun = [0] * len(self._queues)
        self._retired = [0] * len(self._queues)

    def possible(self) -> list[Step]:
        """Return the steps that may come next."""
        found: list[Step] = []
        for queue, (begun, retired) in enumerate(zip(self._begun, self._retired, strict=True)):
            if retired < begun:
                found.append(Step(queue, retired, retires=True))
            if self._may_begin(queue):
                found.append(Step(queue, begun, retires=False))
        return found

    def take(self, step: Step) -> None:
        """Go one step on."""
        counts = self._retired if step.retires else self._begun
        counts[step.queue] += 1

    def _may_begin(self, queue: int) -> bool:
        begun, stream = self._begun[queue], self._queues[queue].instructions
        if begun == len(stream):
            return False
        if self._queues[queue].unit is not Unit.MX and self._retired[queue] < begun:
            return False
        return all(self._retired[wait.queue] >= wait.count for wait in stream[begun].waits)
