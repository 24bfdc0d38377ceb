"""How a tile lies in the instances of a memory of the array, and what moving it loads.

A tile's layout tells its unrolling. Each instance that takes part holds one part; parts of
instances that differ only along dimensions that do not index the tile are equal (weights), or are
added up on their way out (sums).
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ...ir.arch import Architecture
from ...ir.errors import SimulationError
from ...ir.mapping import LoopNest
from ...ir.workload import Operand
from .nest import ArrayNest, Hop


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """Bytes of one whole tile over the links of a fan-out.

    Attributes:
        fanout: Its name.
        busiest: Over the busiest link [byte].
        total: Over all links [byte].
        is_summed: Whether what crosses has already been added up over all instances.
    """

    fanout: str
    busiest: Fraction
    total: Fraction
    is_summed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TileInstances:
    """A tile in the instances of a memory.

    Attributes:
        operand: Weights or sums.
        level: Name of the memory.
        part: Bytes in each instance that takes part [byte].
        taking: Instances that take part.
        instances: All instances of the memory in one NPU.
        links: Loads of the fan-outs above, outermost first, at the width of the elements there.
    """

    operand: Operand
    level: str
    part: int
    taking: int
    instances: int
    links: tuple[LinkLoad, ...]

    @property
    def footprint(self) -> int:
        """Bytes of all instances that nothing else can use [byte]."""
        return self.part * self.instances

    def finished(self, ratio: Fraction) -> "TileInstances":
        """Return the tile as it leaves: sums that are complete are narrower by a ratio."""
        links = tuple(
            LinkLoad(link.fanout, link.busiest * ratio, link.total * ratio, True)
            if link.is_summed
            else link
            for link in self.links
        )
        return replace(self, links=links)


def spread_on(
    layout: LoopNest, arch: Architecture, element_bytes: int, instances: int
) -> TileInstances:
    """Return how a layout lies in the machine.

    Args:
        layout: Loops inside of the tile, the unrolling, and one allocation: where it lies.
        arch: The machine, with the sizes of the NPU whose memory it is.
        element_bytes: Of one element there [byte].
        instances: Of the memory, that addresses count on.

    Raises:
        SimulationError: It is no layout, or the machine has no such unrolling.
    """
    if len(layout.allocations) != 1 or layout.allocations[0].start != 0:
        raise SimulationError("a layout has one allocation, that of the whole tile")
    (item,) = layout.allocations
    nest = ArrayNest(layout, arch)
    hops = nest.hops(item.operand, 0, arch.index(item.level))
    part = nest.held(item.operand, item.level, 0) * element_bytes
    return TileInstances(
        operand=item.operand,
        level=item.level,
        part=part,
        taking=math.prod(hop.children for hop in hops),
        instances=instances,
        links=_links(item.operand, hops, part),
    )


def _links(operand: Operand, hops: tuple[Hop, ...], part: int) -> tuple[LinkLoad, ...]:
    found: list[LinkLoad] = []
    for position, hop in enumerate(hops):
        outer, inner = hops[: position + 1], hops[position + 1 :]
        copies = math.prod(
            item.telling if operand is Operand.O else item.transfers for item in inner
        )
        links = math.prod(item.children for item in outer)
        busiest = Fraction(part * copies)
        is_summed = all(item.alike == 1 for item in outer)
        found.append(LinkLoad(hop.fanout.name, busiest, busiest * links, is_summed))
    return tuple(found)
