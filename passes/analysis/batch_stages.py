"""Stages of many nests at once: the arrays behind :mod:`.batch`; see :mod:`.stages` for words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ir.arch import Fanout
from ...ir.workload import DIMS, RELEVANT, Dim, Operand, Workload
from .nest_batch import Ints

RELEVANT_INDEX = {
    operand: np.array([dim in RELEVANT[operand] for dim in DIMS]) for operand in Operand
}
"""Which dimensions index an operand, by position in ``DIMS``."""


@dataclass(frozen=True)
class Hops:
    """Unrolling over consecutive fan-outs, for one operand; see :class:`~.stages.Hop`."""

    fanouts: tuple[Fanout, ...]
    relevant: tuple[Ints, ...]
    irrelevant: tuple[Ints, ...]
    multicast: tuple[bool, ...]
    one: Ints

    def __getitem__(self, part: slice) -> "Hops":
        return Hops(
            self.fanouts[part],
            self.relevant[part],
            self.irrelevant[part],
            self.multicast[part],
            self.one,
        )

    @property
    def relevants(self) -> Ints:
        """Unrolling along relevant dimensions."""
        return math.prod(self.relevant, start=self.one)

    @property
    def reductions(self) -> Ints:
        """Unrolling along irrelevant dimensions."""
        return math.prod(self.irrelevant, start=self.one)

    @property
    def children(self) -> Ints:
        """Children that take part."""
        return self.relevants * self.reductions

    @property
    def copies(self) -> Ints:
        """Transfers that leave the top for one visit."""
        total = self.relevants
        for irrelevant, multicast in zip(self.irrelevant, self.multicast, strict=True):
            if not multicast:
                total = total * irrelevant
        return total


@dataclass(frozen=True)
class Stage:
    """See :class:`~.stages.Stage`; arrays are ``[B]``."""

    operand: Operand
    parent: str
    child: str | None
    visits: Ints
    tiles: Ints
    elements: Ints
    above: Hops
    hops: Hops

    @cached_property
    def parents(self) -> Ints:
        """Instances of the parent."""
        return self.above.children

    @cached_property
    def children(self) -> Ints:
        """Instances of the child."""
        return self.parents * self.hops.children


def tile_elements(workload: Workload, operand: Operand, extent: Ints) -> Ints:
    """Return the elements of tiles of given extents ``[B, 8]``; halo as in ``Workload``."""
    if operand is not Operand.I:
        return extent[:, RELEVANT_INDEX[operand]].prod(axis=1)
    at = {dim: extent[:, index] for index, dim in enumerate(DIMS)}
    rows = touched(at[Dim.P], at[Dim.R], workload.stride[0], workload.dilation[0])
    columns = touched(at[Dim.Q], at[Dim.S], workload.stride[1], workload.dilation[1])
    return rows * columns * at[Dim.C] * at[Dim.N] * at[Dim.G]


def touched(outputs: Ints, taps: Ints, stride: int, dilation: int) -> Ints:
    """Vectorise :func:`accnn.ir.workload.touched`."""
    common = math.gcd(stride, dilation)
    step_p, step_r = dilation // common, stride // common
    overlap = np.maximum(0, outputs - step_p) * np.maximum(0, taps - step_r)
    return outputs * taps - overlap


def readbacks(stages: Sequence[Stage]) -> Ints:
    """Vectorise the count of tiles that all children read back; see :mod:`.traffic`."""
    *outer, last = stages
    first_children = math.prod((stage.hops.relevants for stage in stages), start=last.hops.one)
    total = first_children * (last.visits - last.tiles)
    others = first_children
    for stage in reversed(outer):
        reduced = stage.hops.reductions
        restarts = stage.visits * (last.tiles // stage.tiles)
        total = total + others * (reduced - 1) * (last.visits - restarts)
        others = others * reduced
    return total
