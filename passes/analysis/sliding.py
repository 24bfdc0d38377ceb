"""Sliding windows: what consecutive input tiles share, for models that do not fetch it again.

The sequence of tiles that one memory sees is walked by kinds of steps: the loop that advances,
while all loops inside of it start over. Each kind shifts the tile by the same distance; the rows
and columns that the new tile shares with the old one are not fetched.
"""

import itertools
import math
from collections.abc import Sequence

from ...ir.arch import Architecture
from ...ir.mapping import Loop
from ...ir.workload import DIMS, Dim, Operand, Workload
from .view import NestView


def fetched_elements(
    workload: Workload, outer: Sequence[Loop], steps: Sequence[int], tile: dict[Dim, int]
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


def index_steps(view: NestView, arch: Architecture, level: str) -> tuple[int, ...]:
    """Return how far each temporal loop outside of a memory's input tile moves that tile.

    Of one dimension, unrolled loops step further than the temporal loops of inner memories, and
    less far than those of the memory above their fan-out.
    """
    chain = view.chains[Operand.I]
    position = [name for name, _ in chain].index(level)
    reached = view.tile(arch, level, chain[position][1])
    steps = [0] * chain[position][1]
    for (outer, first), (inner, end) in reversed(list(itertools.pairwise(chain[: position + 1]))):
        between = {item.name for item in arch.fanouts_beneath(outer)}
        between -= {item.name for item in arch.fanouts_beneath(inner)}
        for loop in view.spatial:
            if loop.fanout in between:
                reached[loop.dim] *= loop.extent
        for at in reversed(range(first, end)):
            steps[at] = reached[view.temporal[at].dim]
            reached[view.temporal[at].dim] *= view.temporal[at].extent
    return tuple(steps)


def _shared(workload: Workload, tile: dict[Dim, int], shift: dict[Dim, int]) -> int:
    """Return the elements that a tile shares with itself, shifted."""
    if any(shift[dim] != 0 for dim in (Dim.C, Dim.N, Dim.G)):
        return 0
    rows = _overlap(tile, shift, Dim.P, Dim.R, workload.stride[0], workload.dilation[0])
    columns = _overlap(tile, shift, Dim.Q, Dim.S, workload.stride[1], workload.dilation[1])
    return rows * columns * math.prod(tile[dim] for dim in (Dim.C, Dim.N, Dim.G))


def _overlap(
    tile: dict[Dim, int],
    shift: dict[Dim, int],
    outputs: Dim,
    taps: Dim,
    stride: int,
    dilation: int,
) -> int:
    lines = {p * stride + r * dilation for p in range(tile[outputs]) for r in range(tile[taps])}
    distance = shift[outputs] * stride + shift[taps] * dilation
    return len(lines & {line + distance for line in lines})
