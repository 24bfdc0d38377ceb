"""Spatial mappings to search orders for: by the machine's dataflow, or all maximal ones."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .....ir.arch import Architecture, Fanout, MemoryLevel
from .....ir.mapping import SpatialLoop
from .....ir.workload import DIMS, OPERANDS, REDUCTION, RELEVANT, Dim, Operand, Workload
from ....analysis.batches.nest_batch import Floats, Ints
from ...problem import MappingProblem, Objective
from ..kernel.unrolling import Ways, fill_ways

Unrolling = tuple[SpatialLoop, ...]

_MOST = 2**62
"""Beyond it numbers of 64 bits overflow, and no extent lies."""
_SPACE = 1 << 12
"""For how many ways to fill a fan-out there is space at first."""
_NUMBER = {dim: number for number, dim in enumerate(DIMS)}


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
        size = _left_of(arch, fanout, found)
        own = _usable(fanout)
        while own:
            best = max(own, key=lambda dim: _largest_divisor(left[dim], size))
            if own[0] is _usable(fanout)[0] and _largest_divisor(left[own[0]], size) > 1:
                best = own[0]
            extent = _largest_divisor(left[best], size)
            own.remove(best)
            if extent > 1:
                found.append(SpatialLoop(best, extent, fanout.name))
                left[best] //= extent
                size //= extent
    return tuple(found)


def all_unrollings(
    problem: MappingProblem, *, padding: bool = False, beam: int | None = None
) -> tuple[Unrolling, ...]:
    """Return the unrollings in which no loop can be made longer.

    They are sorted by the cost of the steps themselves, that is of the MACs and of the memories
    next to them, in what the problem minimises.

    Args:
        problem: What is mapped.
        padding: Whether extents need not divide their dimensions; of the extents with equal steps
            only the smallest counts.
        beam: How many partial unrollings to keep after each fan-out, cheapest first; ``None``
            keeps all.

    Returns:
        The cheapest first; ties in the order of dimensions and extents.
    """
    return tuple(unrolling for unrolling, _ in _unrollings_of(problem, padding, beam))


def least_price(
    problem: MappingProblem, *, padding: bool = False, beam: int | None = None
) -> float:
    """Return what the steps of the cheapest unrolling cost.

    Args:
        problem: What is mapped.
        padding: As in :func:`all_unrollings`.
        beam: As in :func:`all_unrollings`.
    """
    return _unrollings_of(problem, padding, beam)[0][1]


def _unrollings_of(
    problem: MappingProblem, padding: bool, beam: int | None
) -> Sequence[tuple[Unrolling, float]]:
    return _unrollings(problem.workload, problem.arch, problem.objective, padding, beam)


@lru_cache(maxsize=256)
def _unrollings(
    workload: Workload, arch: Architecture, objective: Objective, padding: bool, beam: int | None
) -> Sequence[tuple[Unrolling, float]]:
    """Return the unrollings in which no loop can be made longer and their prices, cheapest first.

    Problems that differ in capacities and resident operands alone have the same ones.
    """
    price = _Price(workload, arch, objective)
    kind = _integers(workload, arch)
    extents: Ints = np.ones((1, len(arch.fanouts), len(DIMS)), kind)
    left: Ints = np.array([[workload.dims[dim] for dim in DIMS]], kind)
    costs = price.of(extents, left)
    for number in reversed(range(len(arch.fanouts))):
        extents, left = _grown(arch, number, extents, left, padding)
        costs = price.of(extents, left)
        rows = _cheapest(costs, extents, arch, beam)
        extents, left, costs = extents[rows], left[rows], costs[rows]
    return [(_loops(arch, own), float(cost)) for own, cost in zip(extents, costs, strict=True)]


def _integers(workload: Workload, arch: Architecture) -> np.dtype[Any]:
    """Return the type of numbers that hold all steps of all children: Python's if need be."""
    steps = math.prod(workload.dims.values())
    children = math.prod(fanout.size for fanout in arch.fanouts)
    return np.dtype(np.int64 if steps * children < _MOST else object)


def _grown(
    arch: Architecture, number: int, extents: Ints, left: Ints, padding: bool
) -> tuple[Ints, Ints]:
    """Return the ways to unroll one more fan-out, and what they leave.

    Args:
        arch: The machine.
        number: Of the fan-out.
        extents: Of loops that are unrolled already, ``[states, fanouts, dims]``.
        left: Extents that these leave, ``[states, dims]``.
        padding: As in :func:`all_unrollings`.
    """
    fanout = arch.fanouts[number]
    usable = [_NUMBER[dim] for dim in _usable(fanout)]
    if not usable:
        return extents, left
    ways = _maximal(
        np.ascontiguousarray(left[:, usable], np.int64), _sizes(arch, fanout, extents), padding
    )
    extents, left = extents[ways.state], left[ways.state]
    extents[:, number, usable] = ways.extents
    left[:, usable] = -(-left[:, usable] // ways.extents)
    return extents, left


def _sizes(arch: Architecture, fanout: Fanout, extents: Ints) -> Ints:
    """Return the children of a fan-out that its groups leave to each state."""
    if not arch.groups:
        return np.full(len(extents), fanout.size)
    return np.array([_left_of(arch, fanout, _loops(arch, own)) for own in extents], np.int64)


def _maximal(left: Ints, size: Ints, padding: bool) -> Ways:
    """Return the ways to fill a fan-out in which no extent can grow.

    Args:
        left: Extents of the dimensions that it unrolls, ``[states, D]``.
        size: Its children, ``[states]``.
        padding: As in :func:`all_unrollings`.
    """
    space = _SPACE
    while True:
        found = Ways(np.empty(space, np.int64), np.empty((space, left.shape[1]), np.int64))
        count = fill_ways(left, size, padding, found)
        if count <= space:
            return Ways(*(item[:count] for item in found))
        space = count


def _loops(arch: Architecture, extents: Ints) -> Unrolling:
    """Return the loops of extents above one, ``[fanouts, dims]``, outermost fan-out first."""
    return tuple(
        _loop(dim, extent, fanout.name)
        for fanout, own in zip(arch.fanouts, extents.tolist(), strict=True)
        for dim in fanout.dims
        if (extent := own[_NUMBER[dim]]) > 1
    )


@lru_cache(maxsize=1024)
def _loop(dim: Dim, extent: int, fanout: str) -> SpatialLoop:
    """Return an unrolled loop; of equal ones there are many."""
    return SpatialLoop(dim, extent, fanout)


def _cheapest(costs: Floats, extents: Ints, arch: Architecture, beam: int | None) -> list[int]:
    """Return the cheapest rows in order, ties by dimensions and extents; only few are sorted."""
    most = np.sort(costs)[:beam][-1]
    keys = {row: _key(_loops(arch, extents[row])) for row in np.flatnonzero(costs <= most).tolist()}
    return sorted(keys, key=lambda row: (costs[row], keys[row]))[:beam]


class _Price:
    """What the steps of an unrolling cost, memories further out left aside."""

    def __init__(self, workload: Workload, arch: Architecture, objective: Objective) -> None:
        self.arch = arch
        self.objective = objective
        innermost = {
            operand: [level for level in arch.levels if operand in level.holds][-1]
            for operand in OPERANDS
        }
        self.bits = {operand: workload.bits(operand) for operand in OPERANDS}
        self.bits[Operand.O] = max(self.bits[Operand.O], arch.accumulator_bits)
        self.energy = [self._energy(*item) for item in innermost.items()]
        self.cycles = [self._cycles(*item) for item in innermost.items()]
        shape = len(OPERANDS), len(arch.fanouts), len(DIMS)
        self.copies, self.sharing = np.zeros(shape, bool), np.zeros(shape, bool)
        for number, (operand, level) in enumerate(innermost.items()):
            for fanout in arch.fanouts_beneath(level.name):
                at = number, arch.fanouts.index(fanout)
                shared = [dim not in RELEVANT[operand] and _joins(operand, fanout) for dim in DIMS]
                self.sharing[at], self.copies[at] = shared, np.logical_not(shared)

    def of(self, extents: Ints, left: Ints) -> Floats:
        """Return cycles, energy or their product; a lower bound where all fan-outs are decided.

        Args:
            extents: Of unrolled loops, ``[B, fanouts, dims]``.
            left: Extents that these leave, ``[B, dims]``.
        """
        steps, width = left.prod(axis=1), extents.prod(axis=(1, 2))
        slowest: Floats = np.ones(len(left))
        energy: Floats = np.full(len(left), self.arch.mac_energy)
        for number in range(len(OPERANDS)):
            copies, sharing = (
                np.where(counted[number], extents, 1).prod(axis=(1, 2))
                for counted in (self.copies, self.sharing)
            )
            slowest = np.maximum(slowest, copies * self.cycles[number])
            energy = energy + self.energy[number] / sharing
        match self.objective:
            case Objective.LATENCY | Objective.NETWORK:
                cost = steps * slowest
            case Objective.ENERGY:
                cost = steps * width * energy
            case Objective.EDP:
                cost = steps * slowest * steps * width * energy
        return cost.astype(float)

    def _energy(self, operand: Operand, level: MemoryLevel) -> float:
        energy = level.read_energy + (level.write_energy if operand is Operand.O else 0.0)
        return energy * self.bits[operand] / level.word_bits

    def _cycles(self, operand: Operand, level: MemoryLevel) -> float:
        bandwidths = [level.read_bandwidth]
        if operand is Operand.O and not level.shared_port:
            bandwidths.append(level.write_bandwidth)
        ways = 2 if operand is Operand.O and level.shared_port else 1
        least = min((item for item in bandwidths if item is not None), default=math.inf)
        return ways * self.bits[operand] / (8 * least)


def _joins(operand: Operand, fanout: Fanout) -> bool:
    """Whether children with equal contents (or parts of one sum) share an access."""
    return operand is Operand.O or operand in fanout.multicast


def _key(unrolling: Unrolling) -> tuple[tuple[str, int, int], ...]:
    return tuple((loop.fanout, _NUMBER[loop.dim], loop.extent) for loop in unrolling)


def _usable(fanout: Fanout) -> list[Dim]:
    return [dim for dim in fanout.dims if fanout.reduction or dim not in REDUCTION]


def _left_of(arch: Architecture, fanout: Fanout, unrolled: Sequence[SpatialLoop]) -> int:
    """Return the children of a fan-out that its groups leave."""
    size = fanout.size
    for group in arch.groups:
        if fanout.name in group.fanouts:
            used = math.prod(loop.extent for loop in unrolled if loop.fanout in group.fanouts)
            size = min(size, group.limit // used)
    return size


def _largest_divisor(extent: int, size: int) -> int:
    return max(item for item in range(1, min(extent, size) + 1) if extent % item == 0)
