"""Spatial mappings to search orders for: by the machine's dataflow, or all maximal ones."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from ....ir.arch import Architecture, Fanout
from ....ir.mapping import SpatialLoop
from ....ir.workload import DIMS, REDUCTION, Dim, Workload

Unrolling = tuple[SpatialLoop, ...]
_Left = dict[Dim, int]


def dataflow_unrolling(workload: Workload, arch: Architecture) -> Unrolling:
    """Return the unrolling that the machine's fan-outs are made for.

    The first dimension that a fan-out lists is the one that its dataflow unrolls (filter rows over
    rows of a row-stationary array); what it leaves idle is filled by the dimension with the
    largest divisor, and then the next. Only divisors are unrolled; ties go to the dimension listed
    first.
    """
    left = dict(workload.dims)
    found: list[SpatialLoop] = []
    for fanout in arch.fanouts:
        room = _room(arch, fanout, found)
        own = _usable(fanout)
        while own:
            best = max(own, key=lambda dim: _largest_divisor(left[dim], room))
            if own[0] is _usable(fanout)[0] and _largest_divisor(left[own[0]], room) > 1:
                best = own[0]
            extent = _largest_divisor(left[best], room)
            own.remove(best)
            if extent > 1:
                found.append(SpatialLoop(best, extent, fanout.name))
                left[best] //= extent
                room //= extent
    return tuple(found)


def all_unrollings(
    workload: Workload,
    arch: Architecture,
    *,
    padding: bool = False,
    beam: int | None = None,
) -> tuple[Unrolling, ...]:
    """Return the unrollings in which no loop can be made longer.

    Args:
        workload: What is computed.
        arch: The machine.
        padding: Whether extents need not divide their dimensions; of the extents with equal steps
            only the smallest counts.
        beam: How many partial unrollings to keep after each fan-out, those with fewest steps
            first; ``None`` keeps all.

    Returns:
        Those with fewest steps first; ties in the order of dimensions and extents.
    """
    states: list[tuple[Unrolling, _Left]] = [((), dict(workload.dims))]
    for fanout in arch.fanouts:
        grown: dict[Unrolling, _Left] = {}
        for unrolling, left in states:
            room = _room(arch, fanout, unrolling)
            for own in _maximal(left, fanout, room, padding):
                loops = tuple(SpatialLoop(dim, extent, fanout.name) for dim, extent in own.items())
                rest = {dim: math.ceil(many / own.get(dim, 1)) for dim, many in left.items()}
                grown[unrolling + loops] = rest
        states = sorted(grown.items(), key=lambda item: (math.prod(item[1].values()), _key(item[0])))
        states = states[:beam]
    return tuple(unrolling for unrolling, _ in states)


def _key(unrolling: Unrolling) -> tuple[tuple[str, int, int], ...]:
    return tuple((loop.fanout, DIMS.index(loop.dim), loop.extent) for loop in unrolling)


def _usable(fanout: Fanout) -> list[Dim]:
    return [dim for dim in fanout.dims if fanout.reduction or dim not in REDUCTION]


def _room(arch: Architecture, fanout: Fanout, unrolled: Sequence[SpatialLoop]) -> int:
    """Return the children of a fan-out that its groups leave."""
    room = fanout.size
    for group in arch.groups:
        if fanout.name in group.fanouts:
            used = math.prod(loop.extent for loop in unrolled if loop.fanout in group.fanouts)
            room = min(room, group.limit // used)
    return room


def _largest_divisor(extent: int, room: int) -> int:
    return max(item for item in range(1, min(extent, room) + 1) if extent % item == 0)


def _extents(extent: int, room: int, padding: bool) -> tuple[int, ...]:
    """Return the extents of a loop that make sense, ascending; one is always among them."""
    most = min(extent, room)
    if not padding:
        return tuple(item for item in range(1, most + 1) if extent % item == 0)
    return tuple(sorted({_least(extent, item) for item in range(1, most + 1)}))


def _least(extent: int, unrolled: int) -> int:
    """Return the smallest unrolling with the same number of steps."""
    return math.ceil(extent / math.ceil(extent / unrolled))


def _maximal(
    left: Mapping[Dim, int], fanout: Fanout, room: int, padding: bool
) -> Iterator[Mapping[Dim, int]]:
    """Yield the ways to fill a fan-out in which no extent can grow."""
    dims = [dim for dim in _usable(fanout) if left[dim] > 1]
    choices = {dim: _extents(left[dim], room, padding) for dim in dims}

    def extend(
        rest: Sequence[Dim], chosen: tuple[tuple[Dim, int], ...], space: int
    ) -> Iterator[Mapping[Dim, int]]:
        if not rest:
            if not any(_grows(choices[dim], extent, space) for dim, extent in chosen):
                yield {dim: extent for dim, extent in chosen if extent > 1}
            return
        for extent in itertools.takewhile(lambda item: item <= space, choices[rest[0]]):
            yield from extend(rest[1:], (*chosen, (rest[0], extent)), space // extent)

    yield from extend(dims, (), room)


def _grows(choices: Sequence[int], extent: int, space: int) -> bool:
    """Whether a loop has a next larger extent for which ``space`` times its own leaves room."""
    return any(extent < item <= extent * space for item in choices)
