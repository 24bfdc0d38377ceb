"""Which NPU takes the part of an operator that another one had."""

from collections.abc import Mapping, Sequence

from ....ir.arch import Architecture
from ....ir.isa import Unit
from .engines import Engine
from .join import Joined

UNITS = (Unit.LD, Unit.MX, Unit.VX, Unit.ST)
"""Engines that every NPU has."""


def are_alike(arch: Architecture) -> bool:
    """Whether any NPU can take another one's place."""
    return len({npu.sizes for npu in arch.npus}) == 1


def work_of_steps(joined: Joined, npus: int) -> Sequence[tuple[int, ...]]:
    """Return for each step the cycles that each NPU works."""
    found = [[0] * npus for _ in range(1 + max(joined.steps))]
    for event, step in zip(joined.schedule.events, joined.steps, strict=True):
        if event.unit in UNITS:
            found[step][event.index] += event.end - event.start
    return [tuple(row) for row in found]


def dealt(work: Sequence[int], engines: Mapping[tuple[Unit, int], Engine]) -> tuple[int, ...]:
    """Return the new NPU of each old one: most work goes to the one that is idle first."""
    npus = range(len(work))

    def free_at(npu: int) -> int:
        found = [engines[unit, npu] for unit in UNITS if (unit, npu) in engines]
        return max((engine.ends[-1] for engine in found if engine.ends), default=0)

    olds = sorted(npus, key=lambda npu: (-work[npu], npu))
    news = sorted(npus, key=lambda npu: (free_at(npu), npu))
    place = dict(zip(olds, news, strict=True))
    return tuple(place[npu] for npu in npus)
