"""Which extents to pad: prime factors that no fan-out can take leave MACs idle.

A candidate raises up to three dimensions (rows together with columns where they are alike) to
nearby multiples. Candidates are ranked by the larger of two bounds: how fast the array can run on
the padded extents (:mod:`.unrolling`), and the compulsory traffic of the padded tensors. The caller
maps the promising ones and compares real costs; padded work is counted like any other.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.workload import DIMS, REDUCTION, Dim, Operand, Workload
from ...analysis.bounds import compulsory_bits
from ..problem import MappingProblem
from ..search.even.space import prime_factors
from .unrolling import least_steps

Extents = Mapping[Dim, int]

_MULTIPLES = (2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 24, 32)
_MOST_WASTE = 1.4
_CHANGES = 3
_RATED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedExtents:
    """Padded extents.

    Attributes:
        extents: Extent of every dimension.
        cycles: Lower bound of the latency of a mapping with exactly these extents [cycle].
    """

    extents: Extents
    cycles: float


def candidates(problem: MappingProblem, *, below: float, count: int) -> tuple[PaddedExtents, ...]:
    """Return the most promising padded extents, best first.

    Args:
        problem: What is mapped.
        below: Latency to beat [cycle].
        count: How many at most.
    """
    workload, arch = problem.workload, problem.machine
    most = min(_MOST_WASTE, below / problem.cycles_bound)
    found = {tuple(item.values()): item for item in _paddings(workload)}
    lean = [item for item in found.values() if _waste(workload, item) < most]
    lean.sort(key=lambda item: (_changes(workload, item), math.prod(item.values())))
    rated: list[PaddedExtents] = []
    for extents in lean:
        if not _may_help(workload, arch, extents):
            continue
        best = min((item.cycles for item in rated), default=below)
        least = math.prod(extents.values()) / arch.macs
        if len(rated) >= _RATED:
            break
        if least >= best:
            continue
        rated.append(_candidate(problem, extents))
    better = sorted(
        (item for item in rated if item.cycles < 0.995 * below),
        key=lambda item: (item.cycles, math.prod(item.extents.values())),
    )
    return tuple(better[:count])


def _changes(workload: Workload, extents: Extents) -> int:
    """Return how many different extents are padded."""
    return len(
        {(extent, extents[dim]) for dim, extent in workload.dims.items()}
        - {(extent, extent) for extent in workload.dims.values()}
    )


def _may_help(workload: Workload, arch: Architecture, extents: Extents) -> bool:
    """Whether every padded dimension gains a factor that some fan-out can take."""
    return all(
        _unrollable(extents[dim], dim, arch) > _unrollable(extent, dim, arch)
        for dim, extent in workload.dims.items()
        if extents[dim] != extent
    )


def _unrollable(extent: int, dim: Dim, arch: Architecture) -> int:
    """Return the product of an extent's prime factors that some fan-out can take."""
    most = max(
        (
            item.size
            for item in arch.fanouts
            if dim in item.dims and (item.reduction or dim not in REDUCTION)
        ),
        default=1,
    )
    return math.prod(prime**many for prime, many in prime_factors(extent) if prime <= most)


def _candidate(problem: MappingProblem, extents: Extents) -> PaddedExtents:
    padded = problem.workload.resized(extents)
    bits = sum(compulsory_bits(padded, operand, problem.held) for operand in Operand)
    bandwidth = problem.arch.off_chip.read_bandwidth
    traffic = 0.0 if bandwidth is None else bits / (8 * bandwidth)
    return PaddedExtents(extents=extents, cycles=max(least_steps(problem, extents), traffic))


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
