"""Which tilings of an operator are looked at."""

import itertools
import math
from collections.abc import Mapping

from .....ir.workload import Dim, Operand
from ..site import Site
from ..tilings import CUT_DIMS, TileSizes, Tiling

REACH = 8
"""Tilings of up to so many times the least operations that are viable are never too many."""


def tile_sizes(extent: int, step: int = 1, ratio: float = 1.25) -> tuple[int, ...]:
    """Return sensible sizes of cuts of an extent, largest first.

    Sizes are the least that give some number of cuts, rounded up to multiples of ``step``, and
    each is smaller than the one before by at least ``ratio``.

    Args:
        extent: What is cut.
        step: Sizes are multiples of it.
        ratio: Least ratio of neighbouring sizes.
    """
    found: list[int] = []
    for parts in range(1, extent + 1):
        size = min(extent, -(-math.ceil(extent / parts) // step) * step)
        if not found or size * ratio <= found[-1]:
            found.append(size)
    return tuple(found)


def viable_tilings(
    site: Site, *, max_ops: int, ratio: float = 1.25, reach: int = REACH
) -> tuple[Tiling, ...]:
    """Return the tilings whose operations fit the workspace one by one.

    Args:
        site: The operator.
        max_ops: Tilings of more operations are left out ...
        ratio: How far neighbouring sizes along one dimension differ at least.
        reach: ... unless at most so many times the least number of any viable one.
    """
    dims, fill = site.workload.dims, _array_step(site)
    choices = [tile_sizes(dims[dim], fill.get(dim, 1), ratio) for dim in CUT_DIMS]
    choices[CUT_DIMS.index(Dim.N)] = tuple(dict.fromkeys((dims[Dim.N], 1)))
    sizes = [
        TileSizes(G=g, N=n, P=p, Q=q, K=k, C=c) for g, n, p, q, k, c in itertools.product(*choices)
    ]
    fitting = [item for item in sizes if _demand(site, item) <= site.place.workspace_bytes]
    count = {item: _count(dims, item) for item in fitting}
    limit = max(max_ops, reach * min(count.values(), default=0))
    return tuple(Tiling(site, item) for item in fitting if count[item] <= limit)


def _count(dims: Mapping[Dim, int], sizes: TileSizes) -> int:
    return math.prod(-(-dims[dim] // sizes.of(dim)) for dim in CUT_DIMS)


def _array_step(site: Site) -> dict[Dim, int]:
    """Return the extents along which the MAC array is unrolled, for channels."""
    steps = {Dim.K: 1, Dim.C: 1, Dim.G: 1}
    for fanout in site.arch.fanouts:
        for dim in steps:
            if dim in fanout.dims:
                steps[dim] = max(steps[dim], fanout.size)
    return steps


def _demand(site: Site, sizes: TileSizes) -> int:
    """Return the bytes of the tiles of one full operation, or a little more."""
    work, types = site.workload, site.graph.types
    x_bytes, w_bytes = (types[name].dtype.bytes for name in site.op.operands[:2])
    rows = min((sizes.P - 1) * work.stride[0] + (work.R - 1) * work.dilation[0] + 1, 1 << 30)
    columns = (sizes.Q - 1) * work.stride[1] + (work.S - 1) * work.dilation[1] + 1
    outputs = sizes.N * sizes.G * sizes.K * sizes.P * sizes.Q
    inputs = sizes.N * sizes.G * sizes.C * rows * columns * x_bytes
    weights = sizes.G * sizes.K * sizes.C * work.R * work.S * w_bytes
    demand = 0 if site.resident[Operand.W] else weights
    demand += 0 if site.resident[Operand.I] else inputs
    demand += outputs * site.arch.accumulator_bytes
    return demand + (0 if site.resident[Operand.O] else outputs * types[site.op.name].dtype.bytes)
