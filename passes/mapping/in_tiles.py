"""Mappers for whole networks: another mapper's nests, judged by the tiles that they make.

A mapper for one NPU minimises the cost model, in which a thousand small tiles cost as much as ten
large ones. Here its nest is improved step by step until instructions and transfers are few, too
(:mod:`..analysis.tile_batch`), and the better of it and of the greedy mapper's nest is taken.

What is minimised so is an estimate, and nothing is proven of estimates. The result tells the cost
model's value of the nest that was taken, beside the bound that the mapper proved of the same
function, and the estimate apart from them.

On several NPUs the mapper sees one of them with its share of the off-chip bandwidth: all of them
together are as fast as that one on its part of the work. Cycles are told for all of them.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError
from ...ir.mapping import LoopNest
from ...ir.workload import Operand, Workload
from ..analysis.batch import BatchCost, evaluate_batch
from ..analysis.nest_batch import NestBatch, batch_nests
from ..analysis.tile_batch import TileBatch
from .base import (
    NOTHING_RESIDENT,
    MapOptions,
    Mapper,
    MappingResult,
    MappingStatus,
    Objective,
    check_nest,
    held_resident,
    with_workspace,
)
from .measures import measure_of
from .output_stationary import OutputStationary
from .uneven_search import Judge, improve

_ROUNDS = 60
_SACRIFICE = 1.01
"""How much energy fewer cycles may cost where energy is the objective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InTiles:
    """A mapper whose nests make few tiles.

    Attributes:
        mapper: Who finds the nests.
        npus: Among how many NPUs the work is shared.
    """

    mapper: Mapper
    npus: int = 1

    @property
    def name(self) -> str:
        """Spelling on the command line."""
        return self.mapper.name

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return a nest of few tiles; see :class:`~.base.Mapper`."""
        shared = share_of(arch, self.npus)
        found = self.mapper.map(
            workload, shared, workspace=workspace, resident=resident, options=options
        )
        wall, cpu = time.perf_counter(), time.process_time()
        machine = with_workspace(shared, workspace)
        held = held_resident(shared, resident)
        judge = _judge(machine, held, self.npus, options.objective, found.objective)
        starts = [found.nest, *_greedy(workload, shared, workspace, resident)]
        nests = [improve(nest, machine, judge, placement=held, rounds=_ROUNDS) for nest in starts]
        nest = min(nests, key=lambda item: _value(item, machine, held, judge))
        check_nest(nest, machine, held)
        shares = Shares(machine, held, self.npus, options.objective)
        return replace(
            shares.restated(shares.divided(found), nest),
            seconds=found.seconds + time.perf_counter() - wall,
            cpu_seconds=found.cpu_seconds + time.process_time() - cpu,
        )


@dataclass(frozen=True, slots=True)
class Shares:
    """The figures of nests, of which NPUs work off a share each.

    Attributes:
        arch: The machine that one NPU sees, with its share of the bandwidth.
        held: Operands that lie whole in the scratchpad.
        npus: Number of NPUs.
        objective: What is minimised.
    """

    arch: Architecture
    held: frozenset[Operand]
    npus: int
    objective: Objective

    @property
    def _parts(self) -> int:
        """Among how many the objective is divided: energy is spent by all together."""
        return 1 if self.objective is Objective.ENERGY else self.npus

    def divided(self, found: MappingResult) -> MappingResult:
        """Return a mapper's result for one NPU with its figures divided among all."""
        return replace(
            found,
            objective=found.objective / self._parts,
            bound=None if found.bound is None else found.bound / self._parts,
        )

    def restated(self, found: MappingResult, nest: LoopNest) -> MappingResult:
        """Return a divided result with another nest: its own figures, beside the same bound.

        What was optimal stays so if the other nest is as good.
        """
        batch = batch_nests([nest])
        cost = evaluate_batch(batch, self.arch, placement=self.held)
        estimate = TileBatch(batch, self.arch, self.held, self.npus).estimate(cost)
        value = float(measure_of(self.objective)(cost)[0]) / self._parts
        status = found.status
        if status is MappingStatus.OPTIMAL and value > found.objective * (1.0 + 1e-9):
            status = MappingStatus.BOUNDED
        return replace(
            found,
            nest=nest,
            status=status,
            objective=value,
            estimate=float(estimate[0]) / self.npus,
        )


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


def _greedy(
    workload: Workload, arch: Architecture, workspace: int | None, resident: frozenset[Operand]
) -> tuple[LoopNest, ...]:
    try:
        found = OutputStationary().map(workload, arch, workspace=workspace, resident=resident)
    except InfeasibleError:
        return ()
    return (found.nest,)


def _judge(
    arch: Architecture,
    held: frozenset[Operand],
    npus: int,
    objective: Objective,
    least: float,
) -> Judge:
    def judge(batch: NestBatch, cost: BatchCost) -> NDArray[np.float64]:
        cycles = TileBatch(batch, arch, held, npus).estimate(cost)
        match objective:
            case Objective.LATENCY:
                return cycles
            case Objective.EDP:
                return cycles * cost.energy_pj
            case Objective.ENERGY:
                spare = cost.energy_pj <= _SACRIFICE * least
                return np.where(spare, cycles, 1e30 * cost.energy_pj)

    return judge


def _value(nest: LoopNest, arch: Architecture, held: frozenset[Operand], judge: Judge) -> float:
    batch = batch_nests([nest])
    return float(judge(batch, evaluate_batch(batch, arch, placement=held))[0])
