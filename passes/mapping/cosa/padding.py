"""Which extents to pad: prime factors that no fan-out can take leave MACs idle.

A candidate raises one or two dimensions (rows together with columns where they are alike) to a
nearby multiple. Candidates are ranked by a bound that is cheap: the steps that the best unrolling
of the padded extents leaves, and the compulsory traffic of padded tensors. The caller maps the
promising ones and compares real costs; padded work is counted like any other.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.workload import DIMS, REDUCTION, Dim, Operand, Workload
from ..even import prime_factors

Extents = Mapping[Dim, int]

_MULTIPLES = (2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 24, 32)
_MOST_WASTE = 1.4
_CHANGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Padded extents.

    Attributes:
        extents: Extent of every dimension.
        cycles: Lower bound of the latency of a mapping with exactly these extents [cycle].
    """

    extents: Extents
    cycles: float


def candidates(
    workload: Workload, arch: Architecture, resident: frozenset[Operand], count: int
) -> tuple[Candidate, ...]:
    """Return the most promising padded extents, best first, all better than unpadded ones."""
    plain = _candidate(workload, arch, resident, workload.dims)
    found = [
        _candidate(workload, arch, resident, extents)
        for extents in _paddings(workload)
        if _waste(workload, extents) <= min(_MOST_WASTE, _unrolling_loss(workload, arch))
    ]
    better = [item for item in found if item.cycles < 0.995 * plain.cycles]
    better.sort(key=lambda item: (item.cycles, math.prod(item.extents.values())))
    return tuple(better[:count])


def _unrolling_loss(workload: Workload, arch: Architecture) -> float:
    """Return how many times longer than at full use of the array the best unrolling takes."""
    return arch.macs / _most_unrolled(workload.dims, arch)


def _candidate(
    workload: Workload, arch: Architecture, resident: frozenset[Operand], extents: Extents
) -> Candidate:
    steps = math.prod(extents.values()) / _most_unrolled(extents, arch)
    bits = sum(
        workload.elements(operand, extents) * workload.bits(operand)
        for operand in Operand
        if operand not in resident
    )
    bandwidth = arch.off_chip.read_bandwidth
    traffic = 0.0 if bandwidth is None else bits / (8 * bandwidth)
    return Candidate(extents=extents, cycles=max(steps, traffic))


def _waste(workload: Workload, extents: Extents) -> float:
    return math.prod(extents.values()) / workload.macs


def _paddings(workload: Workload) -> Iterator[Extents]:
    """Yield padded extents, up to three groups of dimensions changed."""
    groups = [
        [dict.fromkeys(group, extent) for extent in _raised(workload.dims[group[0]])]
        for group in _groups(workload)
    ]
    for count in range(1, _CHANGES + 1):
        for chosen in itertools.combinations(groups, count):
            for changes in itertools.product(*chosen):
                merged = dict(workload.dims)
                for change in changes:
                    merged.update(change)
                yield merged


def _groups(workload: Workload) -> list[tuple[Dim, ...]]:
    dims = workload.dims
    pairs = [pair for pair in ((Dim.R, Dim.S), (Dim.P, Dim.Q)) if dims[pair[0]] == dims[pair[1]]]
    paired = {dim for pair in pairs for dim in pair}
    return [
        group
        for group in (*pairs, *((dim,) for dim in DIMS if dim not in paired), (Dim.R,), (Dim.P,))
        if dims[group[0]] > 1
    ]


def _raised(extent: int) -> list[int]:
    """Return nearby multiples above an extent, at most one per multiplier."""
    most = extent * _MOST_WASTE
    raised = {math.ceil(extent / multiple) * multiple for multiple in _MULTIPLES}
    return sorted(item for item in raised if extent < item <= most)


def _most_unrolled(extents: Extents, arch: Architecture) -> int:
    """Return the largest product of unrollings that divide the extents (a close lower bound).

    Fan-outs are filled from the innermost outwards; each takes the largest product of prime
    factors that it can, dimensions that few fan-outs can take first.
    """
    left = {
        dim: [prime for prime, many in prime_factors(extents[dim]) for _ in range(many)]
        for dim in DIMS
    }
    total = 1
    order = sorted(arch.fanouts, key=lambda fanout: (len(fanout.dims), fanout.size))
    limits = {fanout.name: fanout.size for fanout in arch.fanouts}
    for fanout in order:
        usable = [
            (prime, dim)
            for dim in fanout.dims
            if fanout.reduction or dim not in REDUCTION
            for prime in left[dim]
        ]
        limit = limits[fanout.name]
        best, chosen = _largest_product(tuple(usable), limit)
        for prime, dim in chosen:
            left[dim].remove(prime)
        for group in arch.groups:
            if fanout.name in group.fanouts:
                for name in group.fanouts:
                    limits[name] = min(limits[name], max(1, group.limit // best))
        total *= best
    return total


def _largest_product(
    primes: tuple[tuple[int, Dim], ...], limit: int
) -> tuple[int, tuple[tuple[int, Dim], ...]]:
    """Return the largest product up to a limit of a subset, large primes preferred."""
    reached: dict[int, tuple[tuple[int, Dim], ...]] = {1: ()}
    for prime, dim in sorted(primes, key=lambda item: -item[0]):
        for product, chosen in list(reached.items()):
            grown = product * prime
            if grown <= limit and grown not in reached:
                reached[grown] = (*chosen, (prime, dim))
        if limit in reached:
            break
    best = max(reached)
    return best, reached[best]
