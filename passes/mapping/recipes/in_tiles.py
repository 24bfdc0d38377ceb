"""Mappers for whole networks: another mapper's nests, judged by the tiles that they make.

A mapper for one NPU minimises the cost model, in which a thousand small tiles cost as much as ten
large ones. Here its nest, those of the greedy mapper and promising ones of other unrollings
(:mod:`..search.filled`) are improved step by step until instructions and transfers are few, too
(:mod:`...analysis.tile_batch`), and the best one is taken: unrolling is kept, and which one leads
farthest does not show before. Where the greedy mapper itself was asked, the nest whose tiles take
the fewest cycles is taken as it is.

What is minimised so is an estimate, and nothing is proven of estimates. The result tells the cost
model's value of the nest that was taken, beside the bound that the mapper proved of the same
function, and the estimate apart from them.

On several NPUs the mapper sees one of them with its share of the off-chip bandwidth: all of them
together are as fast as that one on its part of the work. Cycles are given for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.mapping import LoopNest
from ...analysis.batches.batch import BatchCost, evaluate_batch
from ...analysis.batches.nest_batch import NestBatch, batch_nests
from ...analysis.batches.tile_batch import TRAFFIC_PRICE, TileBatch
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem, Objective
from ..search.filled import promising_nests
from ..search.uneven import Judge, improve_all
from .output_stationary import OutputStationary

_ROUNDS = 60
_ENERGY = 0.02
"""Power of energy beside cycles where latency is the objective: twice the energy counts 1.4 %."""

_OWN_TRAFFIC_PRICE = 0.2
"""What a cycle of transfers counts as for a mapper of whole networks.

Plans are made with nests of which it counts less. The search ends at other nests so, which are
tried beside those: schedules decide, in which bytes and cycles count alike.
"""

_SACRIFICE = 1.01
"""How much energy fewer cycles may cost where energy is the objective."""


@dataclass(frozen=True, kw_only=True)
class InTiles(Mapper):
    """A mapper whose nests make few tiles.

    Attributes:
        mapper: Who finds the nests.
        npus: Among how many NPUs the work is shared.
        promising: How many nests of other unrollings are improved, too.
        first_tile: Of a stripe whose weights remain, which part of what bringing one tile of them
            takes is counted.
        traffic_price: What a cycle of transfers counts as, beside the latency that it may hide in.
    """

    mapper: Mapper
    npus: int = 1
    promising: int = 4
    first_tile: float = 0.0
    traffic_price: float = TRAFFIC_PRICE
    name: str = field(init=False, default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.mapper.name)

    def prepare(self) -> None:
        """Do what the mapper does once."""
        self.mapper.prepare()

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return a nest of few tiles."""
        shared = Shared(problem, self.npus, self.first_tile, self.traffic_price)
        found = self.mapper.find(shared.problem)
        judge = shared.judge(found.objective)
        promising = promising_nests(shared.problem, judge, most=self.promising)
        starts = tuple(dict.fromkeys((found.nest, *_greedy(shared.problem), *promising)))
        nests = improve_all(starts, shared.problem, judge, rounds=_ROUNDS)
        nest = shared.best(nests, judge)
        shared.problem.check(nest)
        return shared.restated(shared.divided(found), nest)


@dataclass(frozen=True, kw_only=True)
class GreedyInTiles(Mapper):
    """The greedy mapper, its unrolling chosen by the tiles.

    Attributes:
        npus: Among how many NPUs the work is shared.
    """

    npus: int = 1
    name: str = field(init=False, default=OutputStationary.name, repr=False)

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the nest whose tiles are best."""
        shared = Shared(problem, self.npus)
        nests = OutputStationary().nests(shared.problem)
        least = min(shared.problem.values(nests))
        nest = shared.best(nests, shared.judge(least))
        found = MappingResult(
            nest=nest, mapper=self.name, status=MappingStatus.HEURISTIC, objective=least
        )
        return shared.restated(shared.divided(found), nest)


def in_tiles(mapper: Mapper, npus: int) -> Mapper:
    """Return a mapper as it is used in whole networks.

    Args:
        mapper: Who finds nests.
        npus: Among how many NPUs the work is shared.
    """
    if isinstance(mapper, OutputStationary):
        return GreedyInTiles(npus=npus)
    return InTiles(mapper=mapper, npus=npus, traffic_price=_OWN_TRAFFIC_PRICE)


def in_haste(mapper: Mapper) -> Mapper | None:
    """Return who answers in a mapper's place where no time is left, if anybody is faster.

    Args:
        mapper: As it is used in whole networks.
    """
    return GreedyInTiles(npus=mapper.npus) if isinstance(mapper, InTiles) else None


@dataclass(frozen=True)
class Shared:
    """A problem whose work several NPUs share.

    Attributes:
        whole: The problem.
        npus: Number of NPUs.
        first_tile: Which part of what bringing one tile of weights takes is counted in a stripe
            that keeps them.
        traffic_price: What a cycle of transfers counts as.
    """

    whole: MappingProblem
    npus: int
    first_tile: float = 0.0
    traffic_price: float = TRAFFIC_PRICE

    @cached_property
    def problem(self) -> MappingProblem:
        """What one of them is asked, with its share of the off-chip bandwidth.

        What only the estimate of tiles knows is left out: for mappers many problems are the same.
        """
        arch = share_of(self.whole.arch, self.npus)
        return replace(self.whole, arch=arch, kept_weights=None, windows=(1, 1))

    @property
    def _parts(self) -> int:
        """Among how many the objective is divided: energy is spent by all together."""
        return 1 if self.whole.objective is Objective.ENERGY else self.npus

    def divided(self, found: MappingResult) -> MappingResult:
        """Return a mapper's result for one NPU with its figures divided among all."""
        return replace(
            found,
            objective=found.objective / self._parts,
            bound=None if found.bound is None else found.bound / self._parts,
        )

    def restated(self, found: MappingResult, nest: LoopNest) -> MappingResult:
        """Return a divided result with another nest: its own figures, beside the same bound.

        What was optimal remains so if the other nest is as good.
        """
        batch = batch_nests([nest])
        cost = self._cost(batch)
        value = float(self.whole.objective.of(cost)[0]) / self._parts
        status = found.status
        if status is MappingStatus.OPTIMAL and value > found.objective * (1.0 + 1e-9):
            status = MappingStatus.BOUNDED
        return replace(
            found,
            nest=nest,
            status=status,
            objective=value,
            estimate=float(self._tiles(batch).estimate(cost)[0]) / self.npus,
        )

    def _cost(self, batch: NestBatch) -> BatchCost:
        return evaluate_batch(batch, self.problem.machine, placement=self.problem.held)

    def _tiles(self, batch: NestBatch) -> TileBatch:
        problem = self.problem
        return TileBatch(
            batch,
            problem.machine,
            problem.held,
            self.npus,
            self.whole.kept_weights,
            self.first_tile,
            self.traffic_price,
            self.whole.windows,
        )

    def judge(self, least: float) -> Judge:
        """Return what is minimised: the objective with tiles charged, and transfers a little.

        Args:
            least: The objective of the best nest in the cost model; energy may be a little more.
        """

        def judge(batch: NestBatch, cost: BatchCost) -> NDArray[np.float64]:
            cycles = self._tiles(batch).price(cost)
            match self.whole.objective:
                case Objective.LATENCY | Objective.NETWORK:
                    return cycles * np.maximum(1.0, cost.energy_pj) ** _ENERGY
                case Objective.EDP:
                    return cycles * cost.energy_pj
                case Objective.ENERGY:
                    spare = cost.energy_pj <= _SACRIFICE * least
                    return np.where(spare, cycles, 1e30 * cost.energy_pj)

        return judge

    def best(self, nests: Sequence[LoopNest], judge: Judge) -> LoopNest:
        """Return the nest that a judge likes best, the first one of equals."""
        batch = batch_nests(nests)
        return nests[int(judge(batch, self._cost(batch)).argmin())]


def share_of(arch: Architecture, npus: int) -> Architecture:
    """Return a machine with its share of the off-chip bandwidth."""
    if npus == 1:
        return arch
    dram = arch.off_chip
    part = replace(
        dram,
        read_bandwidth=None if dram.read_bandwidth is None else dram.read_bandwidth / npus,
        write_bandwidth=None if dram.write_bandwidth is None else dram.write_bandwidth / npus,
    )
    return replace(arch, levels=(part, *arch.levels[1:]))


def _greedy(problem: MappingProblem) -> tuple[LoopNest, ...]:
    plain = replace(problem, objective=Objective.LATENCY)
    try:
        return OutputStationary().nests(plain)
    except InfeasibleError:
        return ()
