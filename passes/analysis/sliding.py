"""Sliding windows: what consecutive input tiles share, for models that do not fetch it again.

The sequence of tiles that one memory sees is walked by kinds of steps: the loop that advances,
while all loops inside of it start over. Each kind shifts the tile by the same distance; the rows
and columns that the new tile shares with the old one are not fetched.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

from ...ir.arch import Architecture
from ...ir.mapping import Allocation, Loop, LoopNest
from ...ir.workload import DIMS, Dim, Operand, Workload


def fetched_in_tiles(
    nest: LoopNest, arch: Architecture, placement: frozenset[Operand]
) -> Mapping[int, int]:
    """Return the input elements that each memory but the source fetches, by boundary [element].

    Args:
        nest: The loops and tiles.
        arch: The machine.
        placement: Operands that lie whole in the scratchpad.
    """
    chain = nest.of(Operand.I)
    if Operand.I in placement and Operand.I in arch.scratchpad_level.holds:
        inside = arch.index(arch.scratchpad)
        inner = (item for item in chain if arch.index(item.level) > inside)
        chain = (Allocation(Operand.I, arch.scratchpad, 0), *inner)
    return {
        position: fetched_elements(
            nest.workload,
            nest.temporal[: item.start],
            _index_steps(nest, arch, chain[: position + 2]),
            nest.tile(arch, item),
        )
        for position, item in enumerate(chain[1:])
    }


def fetched_elements(
    workload: Workload, outer: Sequence[Loop], steps: Sequence[int], tile: Mapping[Dim, int]
) -> int:
    """Return the input elements that one memory fetches over all steps [element].

    Args:
        workload: What is computed.
        outer: Temporal loops outside of the tile, outermost first.
        steps: How far each of them moves the tile along its dimension.
        tile: Extents of the tile.
    """
    total = elements = workload.elements(Operand.I, tile)
    outside = 1
    for position, loop in enumerate(outer):
        if loop.extent > 1:
            shift = dict.fromkeys(DIMS, 0)
            shift[loop.dim] += steps[position]
            for inner, step in zip(outer[position + 1 :], steps[position + 1 :], strict=True):
                shift[inner.dim] -= (inner.extent - 1) * step
            shared = _shared(workload, tile, shift)
            total += outside * (loop.extent - 1) * (elements - shared)
        outside *= loop.extent
    return total


def _index_steps(
    nest: LoopNest, arch: Architecture, chain: Sequence[Allocation]
) -> tuple[int, ...]:
    """Return how far each temporal loop outside of the last tile of a chain moves that tile.

    Of one dimension, unrolled loops step further than the temporal loops of inner memories, and
    less far than those of the memory above their fan-out.
    """
    reached = dict(nest.tile(arch, chain[-1]))
    steps = [0] * chain[-1].start
    for outer, inner in reversed(list(itertools.pairwise(chain))):
        between = {item.name for item in arch.fanouts_beneath(outer.level)}
        between -= {item.name for item in arch.fanouts_beneath(inner.level)}
        for loop in nest.spatial:
            if loop.fanout in between:
                reached[loop.dim] *= loop.extent
        for at in reversed(range(outer.start, inner.start)):
            steps[at] = reached[nest.temporal[at].dim]
            reached[nest.temporal[at].dim] *= nest.temporal[at].extent
    return tuple(steps)


def _shared(workload: Workload, tile: Mapping[Dim, int], shift: dict[Dim, int]) -> int:
    """Return the elements that a tile shares with itself, shifted."""
    if any(shift[dim] != 0 for dim in (Dim.C, Dim.N, Dim.G)):
        return 0
    rows = _overlap(tile, shift, Dim.P, Dim.R, workload.stride[0], workload.dilation[0])
    columns = _overlap(tile, shift, Dim.Q, Dim.S, workload.stride[1], workload.dilation[1])
    return rows * columns * math.prod(tile[dim] for dim in (Dim.C, Dim.N, Dim.G))


def _overlap(
    tile: Mapping[Dim, int],
    shift: dict[Dim, int],
    outputs: Dim,
    taps: Dim,
    stride: int,
    dilation: int,
) -> int:
    lines = {p * stride + r * dilation for p in range(tile[outputs]) for r in range(tile[taps])}
    distance = shift[outputs] * stride + shift[taps] * dilation
    return len(lines & {line + distance for line in lines})
