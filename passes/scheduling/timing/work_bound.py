"""What no order of given events can beat: the work of the busiest engines, and of the ports."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ...analysis.traffic import Direction
from .work import Work, Works


def are_alike(arch: Architecture) -> bool:
    """Whether any NPU can take another one's place."""
    return len({npu.sizes for npu in arch.npus}) == 1


def work_bound(asked: Mapping[tuple[Unit, Work], int], works: Works) -> int:
    """Return the work of the busiest kind of engine, or off-chip port, that events ask for [cycle].

    An event keeps its engine busy as long as it takes alone, or longer; the array only while it
    computes, since it fills and drains beside that. No order of these events is faster. NPUs that
    differ need different times for the same work, so that only transfers count on such machines.

    Args:
        asked: How many events there are, by the kind of their engine and their work.
        works: Of the machine.
    """
    return max(_of_engines(asked, works), _of_ports(asked, works))


def _of_engines(asked: Mapping[tuple[Unit, Work], int], works: Works) -> int:
    arch = works.arch
    busy: Counter[Unit] = Counter()
    counted = set(Unit) if are_alike(arch) else {Unit.DMA}
    for (unit, work), count in asked.items():
        if unit in counted:
            busy[unit] += count * (works.length(work) + work.lead)
    engines = {unit: len(arch.npus) for unit in busy} | {Unit.DMA: arch.dma.channels}
    return max((-(-cycles // engines[unit]) for unit, cycles in busy.items()), default=0)


def _of_ports(asked: Mapping[tuple[Unit, Work], int], works: Works) -> int:
    """Return what the off-chip ports take for all bytes; whoever moves them [cycle]."""
    ports = works.ports
    shared = {*ports.off_chip(Direction.READ), *ports.off_chip(Direction.WRITE)}
    moved: Counter[str] = Counter()
    for (_, work), count in asked.items():
        for port, size in work.moved:
            if port in shared:
                moved[port] += count * size
    times = [size / Fraction(ports.bandwidths[port]) for port, size in moved.items()]
    return max((-(-time.numerator // time.denominator) for time in times), default=0)
