"""CoSA's integer program as published: eqs. (1) to (12).

Every prime factor of every dimension gets one place: the temporal loops of a level, a rank in the
permutation of the level that feeds the network, or a fan-out. This is the reproduction and the
yardstick; :mod:`.formulation` is what accnn uses.

Deviation: eq. (3) as printed puts every factor on every level. What is meant (and Table III shows)
is one place per factor over all levels; so it is here. Levels that keep no tile have no loops.

Deviation: ranks hold one factor each (III-B1 says so, no equation does); ranks may be empty.

Deviation: eq. (1) adds up the levels below ``I``, but a level's own temporal loops run over parts
of its tile; they are included, as in the authors' Listing 1.

Deviation: a memory that several tensors share cannot be bounded by a sum of logarithms. It is
split evenly between them; the evaluation charges real sizes.

Deviation: matrix ``A`` (Table IV) knows neither halo nor stride: an input tile counts as large as
its outputs. A mapping whose real tiles do not fit is solved again with less capacity for inputs.

Deviation: precision, which the text adds to ``U``, is taken from the capacity instead: it is
counted in elements of each tensor, partial sums at their own width where they accumulate.

Deviation: in eq. (8), ``A`` tells unicast from multicast only; a fan-out that cannot multicast a
tensor multiplies its traffic by irrelevant factors, too.

Deviation: eq. (9) multiplies by ``B``, so ranks make only those tensors move again that the level
of the ranks keeps; the others would pass it at no cost however often. All tensors move here unless
``moved`` says otherwise. ``B`` itself is printed in two ways: in Table IV that level keeps inputs
and outputs, in the authors' talk weights and inputs. :func:`kept_at_network` has a machine's own.

Deviation: eq. (10) covers the ranks of one level. Loops further out multiply all traffic of all
tensors; they are added, for without them the program moves everything off chip at no cost.

Deviation: the product ``X * Y`` of eq. (10) is linearised: per tensor and rank, one continuous
variable that is at least the rank's logarithm where ``Y`` is one.

References:
    Q. Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators.
    ISCA 2021.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.mapping import Loop, LoopNest, SpatialLoop, even_nest
from ....ir.workload import RELEVANT, Dim, Operand
from ...mip.linear import ZERO, Linear, total
from ...mip.model import MipModel, Solver
from ..search.even.space import EvenSpace

_RELATED: Mapping[Operand, frozenset[Dim]] = {
    operand: dims - ({Dim.R, Dim.S} if operand is Operand.I else frozenset())
    for operand, dims in RELEVANT.items()
}
"""Matrix A, Table IV (and groups)."""

_ORDER = (Dim.G, Dim.N, Dim.K, Dim.C, Dim.P, Dim.Q, Dim.R, Dim.S)
"""Order of loops where the program decides on none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperWeights:
    """Weights of eq. (12).

    Attributes:
        utilization: ``w_U``.
        compute: ``w_C``.
        traffic: ``w_T``.
        balance: Whether ``|w_T Traf - w_C Comp|`` is minimised (III-D4), instead of the sum.
    """

    utilization: float = 1.0
    compute: float = 1.0
    traffic: float = 1.0
    balance: bool = False


@dataclass(frozen=True, slots=True)
class _Factor:
    """One prime factor of a dimension."""

    dim: Dim
    prime: int

    @property
    def log(self) -> float:
        return math.log(self.prime)


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The three parts of eq. (12) for one mapping (Fig. 8)."""

    utilization: float
    compute: float
    traffic: float


class PaperFormulation:
    """The published program for one space.

    Args:
        space: What is mapped.
        weights: Of the objectives.
        input_share: Share of the inputs' capacity that may be used; less leaves space for halos.
        solver: Which solver will solve it.
        moved: Tensors that ranks make move again, eq. (9); all if ``None``.
    """

    def __init__(
        self,
        space: EvenSpace,
        weights: PaperWeights,
        input_share: float,
        solver: Solver = Solver.HIGHS,
        moved: Collection[Operand] | None = None,
    ) -> None:
        self.model = MipModel("cosa-paper", solver)
        self.space = space
        self.moved = frozenset(Operand) if moved is None else moved
        self.input_share = input_share
        self.factors = tuple(
            _Factor(dim, prime) for dim, prime, many in space.primes for _ in range(many)
        )
        fanouts = space.arch.fanouts
        self.network = space.arch.index(fanouts[0].below) if fanouts else 0
        self.ranks = range(len(self.factors))
        self.places: dict[tuple[int, int | str | tuple[str, int]], Linear] = {}
        self._add_places()
        self._add_fanouts()
        self._add_capacity()
        self.utilization = self._utilization()
        self.compute = self._compute()
        self.traffic = self._traffic()
        self.model.minimize(self._objective(weights))

    # -- X: places of factors (III-B1) -----------------------------------------------------------

    def _add_places(self) -> None:
        """Eq. (3): one place per factor; and one factor per rank."""
        for index, factor in enumerate(self.factors):
            for level in self.space.slots:
                if level != self.network:
                    self.places[index, level] = self.model.binary()
            for rank in self.ranks:
                self.places[index, ("rank", rank)] = self.model.binary()
            for name, dim in self.space.unrollable:
                if dim is factor.dim and factor.prime <= self.space.arch.fanout(name).size:
                    self.places[index, name] = self.model.binary()
            own = [flag for (which, _), flag in self.places.items() if which == index]
            self.model.add_equal(total(own), 1.0)
        for rank in self.ranks:
            filled = [self.places[index, ("rank", rank)] for index in range(len(self.factors))]
            self.model.add_at_most(total(filled), 1.0)

    def _log(self, place: int | str | tuple[str, int], dims: frozenset[Dim]) -> Linear:
        return total(
            self.places[index, place] * factor.log
            for index, factor in enumerate(self.factors)
            if factor.dim in dims and (index, place) in self.places
        )

    def _temporal(self, level: int, dims: frozenset[Dim]) -> Linear:
        if level != self.network:
            return self._log(level, dims)
        return total(self._log(("rank", rank), dims) for rank in self.ranks)

    # -- constraints (III-C) ---------------------------------------------------------------------

    def _add_fanouts(self) -> None:
        """Eq. (4)."""
        arch, every = self.space.arch, frozenset(Dim)
        limits = [((item.name,), item.size) for item in arch.fanouts]
        limits += [(group.fanouts, group.limit) for group in arch.groups]
        for names, limit in limits:
            used = total(self._log(name, every) for name in names)
            self.model.add_at_most(used, math.log(limit) + 1e-7)

    def _tile(self, operand: Operand, level: int) -> Linear:
        """Logarithm of a tile, eq. (2): temporal loops from a level inwards, fan-outs beneath."""
        dims = _RELATED[operand]
        beneath = self.space.arch.fanouts_beneath(self.space.arch.levels[level].name)
        temporal = (
            self._temporal(inner, dims) for inner in range(level, len(self.space.arch.levels))
        )
        return total([*temporal, *(self._log(item.name, dims) for item in beneath)])

    def _kept(self) -> list[tuple[Operand, int]]:
        return [(item, level) for item in Operand for level in self.space.chains[item][1:]]

    def _add_capacity(self) -> None:
        """Eq. (2)."""
        arch = self.space.arch
        for operand, level in self._kept():
            usable = arch.levels[level].usable
            if usable is None:
                continue
            sharing = sum(level in chain[1:] for chain in self.space.chains.values())
            bits = self.space.workload.bits(operand)
            if operand is Operand.O:
                bits = max(bits, arch.accumulator_bits)
            limit = 8 * usable / sharing / bits
            if operand is Operand.I:
                limit = max(1.0, limit * self.input_share)
            self.model.add_at_most(self._tile(operand, level), math.log(max(1.0, limit)) + 1e-7)

    # -- objectives (III-D) ----------------------------------------------------------------------

    def _utilization(self) -> Linear:
        """Eq. (5)."""
        return total(self._tile(operand, level) for operand, level in self._kept())

    def _compute(self) -> Linear:
        """Eq. (6)."""
        every = frozenset(Dim)
        return total(self._temporal(level, every) for level in range(len(self.space.arch.levels)))

    def _traffic(self) -> Linear:
        """Eq. (11): size, spatial factor and iterations of each tensor."""
        return total(
            part
            for operand in Operand
            for part in (self._size(operand), self._spread(operand), self._iterations(operand))
        )

    def _size(self, operand: Operand) -> Linear:
        """Eq. (7): what one transfer over the network carries."""
        inner = self.network + 1
        if inner >= len(self.space.arch.levels):
            return ZERO
        return self._tile(operand, inner)

    def _spread(self, operand: Operand) -> Linear:
        """Eq. (8): unicast factors of the network."""
        arch = self.space.arch
        name = arch.levels[self.network].name
        return total(
            self._log(
                item.name,
                _RELATED[operand]
                if operand is Operand.O or operand in item.multicast
                else frozenset(Dim),
            )
            for item in arch.fanouts
            if item.below == name
        )

    def _iterations(self, operand: Operand) -> Linear:
        """Eqs. (9) and (10): ranks that make the tensor move again, and all loops further out."""
        every, related = frozenset(Dim), _RELATED[operand]
        outside = [self._temporal(level, every) for level in range(self.network)]
        if operand not in self.moved:
            return total(outside)
        most = max((factor.log for factor in self.factors), default=0.0)
        parts: list[Linear] = []
        moved: Linear | None = None
        for rank in self.ranks:
            moves = self.model.binary()
            present = [
                self.places[index, ("rank", rank)]
                for index, factor in enumerate(self.factors)
                if factor.dim in related
            ]
            self.model.add_at_least(moves, total(present))
            if moved is not None:
                self.model.add_at_least(moves, moved)
            moved = moves
            steps = self.model.continuous(0.0, most)
            own = self._log(("rank", rank), every)
            self.model.add_at_least(steps, own + most * moves - most)
            parts.append(steps)
        return total([*parts, *outside])

    def _objective(self, weights: PaperWeights) -> Linear:
        """Eq. (12), or the balance of traffic and compute."""
        if not weights.balance:
            return (
                -weights.utilization * self.utilization
                + weights.compute * self.compute
                + weights.traffic * self.traffic
            )
        difference = weights.traffic * self.traffic - weights.compute * self.compute
        size = self.model.continuous()
        self.model.add_at_least(size, difference)
        self.model.add_at_least(size, -difference)
        return size

    # -- solutions -------------------------------------------------------------------------------

    def decode(self, values: Sequence[float]) -> LoopNest:
        """Return the nest of a solution; ranks from the highest (outermost) to the lowest."""
        arch = self.space.arch
        extents: dict[tuple[int | str, Dim], int] = {}
        ranked: dict[int, Loop] = {}
        for (index, place), flag in self.places.items():
            if round(sum(values[at] * weight for at, weight in flag.terms.items())) == 0:
                continue
            factor = self.factors[index]
            if isinstance(place, tuple):
                ranked[place[1]] = Loop(factor.dim, factor.prime)
            else:
                key = (place, factor.dim)
                extents[key] = extents.get(key, 1) * factor.prime
        temporal = {
            level.name: [Loop(dim, extents.get((at, dim), 1)) for dim in _ORDER]
            for at, level in enumerate(arch.levels)
        }
        temporal[arch.levels[self.network].name] = [
            ranked[rank] for rank in sorted(ranked, reverse=True)
        ]
        spatial = [
            SpatialLoop(dim, extent, place)
            for (place, dim), extent in extents.items()
            if isinstance(place, str)
        ]
        bypass = self.space.problem.bypassed
        return even_nest(self.space.workload, arch, temporal, spatial, bypass)


def kept_at_network(arch: Architecture) -> tuple[Operand, ...]:
    """Return the tensors that the level of the ranks keeps: its row of matrix B."""
    level = arch.index(arch.fanouts[0].below) if arch.fanouts else 0
    return tuple(item for item in Operand if item in arch.levels[level].holds)


def breakdown(nest: LoopNest, space: EvenSpace) -> Breakdown:
    """Return the three objectives of any even nest, by the equations (Fig. 8)."""
    arch = space.arch
    network = arch.index(arch.fanouts[0].below) if arch.fanouts else 0
    utilization = 0.0
    for operand in Operand:
        for item in nest.of(operand)[1:]:
            tile = nest.tile(arch, item)
            utilization += math.fsum(math.log(tile[dim]) for dim in _RELATED[operand])
    compute = math.fsum(math.log(loop.extent) for loop in nest.temporal)
    traffic = math.fsum(_traffic_of(nest, arch, operand, network) for operand in Operand)
    return Breakdown(utilization, compute, traffic)


def _traffic_of(nest: LoopNest, arch: Architecture, operand: Operand, network: int) -> float:
    """Return eq. (11) of one tensor: all loops but innermost unrelated ones of the network."""
    dims = _RELATED[operand]
    inner = [item.start for item in nest.allocations if arch.index(item.level) > network]
    start = min(inner, default=len(nest.temporal))
    outer = [item.start for item in nest.allocations if arch.index(item.level) == network]
    turn = start
    while turn > max(outer, default=0) and nest.temporal[turn - 1].dim not in dims:
        turn -= 1
    size = [loop.extent for loop in nest.temporal[start:] if loop.dim in dims]
    spread = [
        loop.extent
        for loop in nest.spatial
        if loop.dim in dims or operand not in _shared(arch, loop.fanout, network)
    ]
    moves = [loop.extent for loop in nest.temporal[:turn]]
    return math.fsum(math.log(extent) for extent in (*size, *spread, *moves))


def _shared(arch: Architecture, fanout: str, network: int) -> frozenset[Operand]:
    """Return the tensors whose unrelated factors of a fan-out cost nothing."""
    own = arch.fanout(fanout)
    if arch.index(own.below) != network:
        return frozenset(Operand)
    return frozenset({*own.multicast, Operand.O})
