"""Nests of several unrollings whose tiles are as large as fit, to search on from.

Where all multipliers are busy they may wait for the memories next to them: in a depthwise
convolution each of them reads an input of its own. So unrollings are taken whose steps cost least
with these memories (:mod:`.orders.spatial`), and a judge says which of their nests promise most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, OPERANDS, Dim, Operand
from ...analysis.batches.coefficients import widths_of
from ...analysis.batches.counts import bytes_from
from ...analysis.batches.nest_batch import Ints, NestBatch, batch_nests, unrollings_of
from ..problem import MappingProblem, OfProblem
from .orders.machine import UnrolledProblem
from .orders.spatial import Unrolling, all_unrollings
from .uneven import FittingNests, Judge, fitting

_BEAM = 24
"""Unrollings that are looked at."""

_ORDER = (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q, Dim.C, Dim.R, Dim.S)
"""Loops, outermost first: a sum is finished before the next one begins."""


def promising_nests(problem: MappingProblem, judge: Judge, *, most: int) -> tuple[LoopNest, ...]:
    """Return the nests that a judge likes best, each of another unrolling.

    Args:
        problem: What is mapped.
        judge: Says what is minimised.
        most: How many nests to return.

    Returns:
        The best first; fewer where not so many fit.
    """
    if not most:
        return ()
    batch, own = _filled(problem)
    values = own.values(judge)
    best = np.argsort(values, kind="stable")[:most]
    return tuple(batch.nest(int(row)) for row in best if np.isfinite(values[row]))


@lru_cache(maxsize=64)
def _filled(problem: MappingProblem) -> tuple[NestBatch, FittingNests]:
    """Return a nest of each unrolling, and those that fit; judges of one problem differ."""
    batch = _Filled(problem=problem).batch(all_unrollings(problem, padding=True, beam=_BEAM))
    return batch, fitting(batch, problem)


@dataclass(frozen=True, kw_only=True)
class _Filled(OfProblem):
    """Fills each memory with tiles that start at the outermost loop from which on they fit."""

    def batch(self, unrollings: Sequence[Unrolling]) -> NestBatch:
        """Return a nest of each unrolling.

        Operands share a memory in equal parts. A nest does not fit where one element is more.

        Args:
            unrollings: One for each nest.
        """
        own, which = unrollings_of(unrollings)
        extents = [-(-self.workload.dims[dim] // own.steps(dims=(dim,))) for dim in _ORDER]
        nests = replace(
            batch_nests([self._whole]),
            dims=np.tile([DIMS.index(dim) for dim in _ORDER], (len(which), 1)),
            extents=np.stack(extents, axis=1)[which],
            unrollings=own,
            which=which,
        )
        return replace(nests, starts={item: self._starts(nests, item) for item in OPERANDS})

    @property
    def _whole(self) -> LoopNest:
        """A nest that keeps operands in every memory."""
        nowhere = UnrolledProblem(problem=self.problem, spatial=())
        return nowhere.nest((), [[0] * len(chain) for chain in nowhere.chains])

    def _starts(self, batch: NestBatch, operand: Operand) -> Ints:
        """Return where the tiles of an operand start, ``[B, levels]``."""
        starts = np.zeros((len(batch), len(batch.levels[operand])), np.int64)
        for column, name in enumerate(batch.levels[operand][1:], start=1):
            capacity = self.arch.level(name).usable
            if capacity is None:
                continue
            sharing = sum(name in levels for levels in batch.levels.values())
            beneath = [fanout.name for fanout in self.arch.fanouts_beneath(name)]
            fits = bytes_from(batch, operand, beneath, self._bits(operand)) <= capacity // sharing
            last = batch.extents.shape[1]
            starts[:, column] = np.where(fits.any(axis=1), fits.argmax(axis=1), last)
        return np.maximum.accumulate(starts, axis=1)

    def _bits(self, operand: Operand) -> int:
        is_sum = operand is Operand.O
        return widths_of(self.workload, self.arch).psum if is_sum else self.workload.bits(operand)
