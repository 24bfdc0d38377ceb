"""Spatial mappings to search orders for: by the machine's dataflow, or all maximal ones."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from .....ir.arch import Architecture, Fanout, MemoryLevel
from .....ir.mapping import SpatialLoop
from .....ir.workload import DIMS, OPERANDS, REDUCTION, RELEVANT, Dim, Operand, Workload
from ...problem import MappingProblem, Objective

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
    price = _Price(problem.workload, problem.arch, problem.objective)
    return price.of(*_unrollings_of(problem, padding, beam)[0])


def _unrollings_of(
    problem: MappingProblem, padding: bool, beam: int | None
) -> Sequence[tuple[Unrolling, _Left]]:
    return _unrollings(problem.workload, problem.arch, problem.objective, padding, beam)


@lru_cache(maxsize=64)
def _unrollings(
    workload: Workload, arch: Architecture, objective: Objective, padding: bool, beam: int | None
) -> Sequence[tuple[Unrolling, _Left]]:
    """Return the unrollings in which no loop can be made longer, cheapest first.

    Problems that differ in capacities and resident operands alone have the same ones.
    """
    price = _Price(workload, arch, objective)
    states: list[tuple[Unrolling, _Left]] = [((), dict(workload.dims))]
    for fanout in reversed(arch.fanouts):
        grown: dict[Unrolling, _Left] = {}
        for unrolling, left in states:
            size = _left_of(arch, fanout, unrolling)
            for own in _maximal(left, fanout, size, padding):
                loops = tuple(_loop(dim, extent, fanout.name) for dim, extent in own.items())
                rest = left | {dim: -(-left[dim] // extent) for dim, extent in own.items()}
                grown[loops + unrolling] = rest
        states = _cheapest(grown, price, beam)
    return states


@lru_cache(maxsize=1024)
def _loop(dim: Dim, extent: int, fanout: str) -> SpatialLoop:
    """Return an unrolled loop; of equal ones there are many."""
    return SpatialLoop(dim, extent, fanout)


def _cheapest(
    states: Mapping[Unrolling, _Left], price: "_Price", beam: int | None
) -> list[tuple[Unrolling, _Left]]:
    """Return the cheapest states in order, ties by dimensions and extents; only few are sorted."""
    prices = [price.of(*item) for item in states.items()]
    most = sorted(prices)[:beam][-1]
    some = ((cost, item) for cost, item in zip(prices, states.items(), strict=True) if cost <= most)
    ordered = sorted(some, key=lambda pair: (pair[0], _key(pair[1][0])))
    return [item for _, item in ordered[:beam]]


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
        self.joined = {
            (fanout.name, dim): tuple(
                (number, dim not in RELEVANT[operand] and _joins(operand, fanout))
                for number, (operand, level) in enumerate(innermost.items())
                if fanout in arch.fanouts_beneath(level.name)
            )
            for fanout in arch.fanouts
            for dim in DIMS
        }

    def of(self, unrolling: Unrolling, left: _Left) -> float:
        """Return cycles, energy or their product; a lower bound where all fan-outs are decided."""
        steps, width = math.prod(left.values()), 1
        copies, sharing = [1] * len(OPERANDS), [1] * len(OPERANDS)
        for loop in unrolling:
            width *= loop.extent
            for number, joins in self.joined[loop.fanout, loop.dim]:
                counted = sharing if joins else copies
                counted[number] *= loop.extent
        slowest = max(1.0, *(many * own for many, own in zip(copies, self.cycles, strict=True)))
        each = (own / many for own, many in zip(self.energy, sharing, strict=True))
        energy = sum(each, start=self.arch.mac_energy)
        match self.objective:
            case Objective.LATENCY | Objective.NETWORK:
                return steps * slowest
            case Objective.ENERGY:
                return steps * width * energy
            case Objective.EDP:
                return steps * slowest * steps * width * energy

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
    return tuple((loop.fanout, DIMS.index(loop.dim), loop.extent) for loop in unrolling)


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


def _extents(extent: int, size: int, padding: bool) -> tuple[int, ...]:
    """Return the extents of a loop that make sense, ascending; one is always among them."""
    most = min(extent, size)
    if not padding:
        return tuple(item for item in range(1, most + 1) if extent % item == 0)
    return tuple(sorted({_least(extent, item) for item in range(1, most + 1)}))


def _least(extent: int, unrolled: int) -> int:
    """Return the smallest unrolling with the same number of steps."""
    return math.ceil(extent / math.ceil(extent / unrolled))


def _maximal(
    left: Mapping[Dim, int], fanout: Fanout, size: int, padding: bool
) -> Iterator[Mapping[Dim, int]]:
    """Yield the ways to fill a fan-out in which no extent can grow.

    What is left to a dimension is rounded down dimension by dimension, so that a few ways are
    among them that could still grow: for energy, these are often better than those that cannot.
    """
    dims = [dim for dim in _usable(fanout) if left[dim] > 1]
    choices = {dim: _extents(left[dim], size, padding) for dim in dims}
    longer = {
        (dim, extent): following
        for dim, own in choices.items()
        for extent, following in itertools.pairwise(own)
    }

    def extend(
        rest: Sequence[Dim], chosen: tuple[tuple[Dim, int], ...], space: int
    ) -> Iterator[Mapping[Dim, int]]:
        if not rest:
            if all(longer.get(item, math.inf) > item[1] * space for item in chosen):
                yield {dim: extent for dim, extent in chosen if extent > 1}
            return
        for extent in itertools.takewhile(lambda item: item <= space, choices[rest[0]]):
            yield from extend(rest[1:], (*chosen, (rest[0], extent)), space // extent)

    yield from extend(dims, (), size)
