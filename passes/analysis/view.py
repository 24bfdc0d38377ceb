"""A loop nest as the cost model reads it: loops, and the chain of memories of each operand."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.mapping import Loop, LoopNest, SpatialLoop
from ...ir.workload import DIMS, Dim, Operand, Workload

Chain = tuple[tuple[str, int], ...]
"""Memories that keep an operand, outermost first, each with the loop at which its tile starts."""


@dataclass(frozen=True, kw_only=True)
class NestView:
    """Loops and chains of one nest; the first memory of a chain is the operand's source.

    Attributes:
        workload: What is computed.
        temporal: Temporal loops, outermost first.
        spatial: Unrolled loops.
        chains: Per operand the memories that keep it, outermost first.
        has_sums: Whether the source of the outputs holds sums already, which are added to.
    """

    workload: Workload
    temporal: tuple[Loop, ...]
    spatial: tuple[SpatialLoop, ...]
    chains: Mapping[Operand, Chain]
    has_sums: bool = False

    @cached_property
    def steps(self) -> int:
        """Steps of all temporal loops: cycles in which the array computes."""
        return math.prod(loop.extent for loop in self.temporal)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates that the array executes, padding included."""
        return self.steps * math.prod(loop.extent for loop in self.spatial)

    def unrolled(self, fanout: str, dims: frozenset[Dim], *, inside: bool) -> int:
        """Return the unrolling over a fan-out along dimensions in (or not in) ``dims``."""
        return math.prod(
            loop.extent
            for loop in self.spatial
            if loop.fanout == fanout and (loop.dim in dims) == inside
        )

    def tile_elements(self, arch: Architecture, operand: Operand, level: str, start: int) -> int:
        """Return the elements of an operand's tile in one instance of a level [element]."""
        return self.workload.elements(operand, self.tile(arch, level, start))

    def tile(self, arch: Architecture, level: str, start: int) -> dict[Dim, int]:
        """Return the extents of a tile in one instance of a level."""
        extent = dict.fromkeys(DIMS, 1)
        for loop in self.temporal[start:]:
            extent[loop.dim] *= loop.extent
        beneath = {fanout.name for fanout in arch.fanouts_beneath(level)}
        for loop in self.spatial:
            if loop.fanout in beneath:
                extent[loop.dim] *= loop.extent
        return extent


def view_nest(nest: LoopNest, arch: Architecture, placement: frozenset[Operand]) -> NestView:
    """Return the view of a whole nest.

    An operand of ``placement`` lies whole in the scratchpad: the scratchpad is its source, and
    what the nest says about it at the scratchpad and further out is disregarded. An operand that
    the scratchpad cannot hold is streamed nevertheless.
    """
    return NestView(
        workload=nest.workload,
        temporal=nest.temporal,
        spatial=nest.spatial,
        chains={operand: _chain(nest, arch, operand, placement) for operand in Operand},
    )


def _chain(
    nest: LoopNest, arch: Architecture, operand: Operand, placement: frozenset[Operand]
) -> Chain:
    own = tuple((item.level, item.start) for item in nest.of(operand))
    if operand not in placement or operand not in arch.scratchpad_level.holds:
        return own
    position = arch.index(arch.scratchpad)
    inner = tuple(item for item in own if arch.index(item[0]) > position)
    return ((arch.scratchpad, 0), *inner)
