"""Which NPU takes the part of an operator that another one had."""

from collections.abc import Mapping, Sequence

from ....ir.isa.instructions import Unit
from ..timing.engines import Engine

UNITS = (Unit.LD, Unit.MX, Unit.VX, Unit.ST)
"""Engines that every NPU has."""


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
