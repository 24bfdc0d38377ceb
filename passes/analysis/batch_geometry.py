"""Tiles and stages of many nests at once; see :mod:`.stages` and :mod:`.view` for the words."""

import numpy as np

from ...ir.arch import Architecture
from ...ir.workload import DIMS, RELEVANT, Dim, Operand
from .batch_stages import RELEVANT_INDEX, Hops, Stage, tile_elements
from .nest_batch import Ints, NestBatch


class Geometry:
    """What moves where, for every nest of a batch.

    Args:
        batch: The nests.
        arch: The machine.
        placement: Operands that lie whole in the scratchpad.
    """

    def __init__(self, batch: NestBatch, arch: Architecture, placement: frozenset[Operand]) -> None:
        self.batch = batch
        self.arch = arch
        self.placement = placement
        self.rows = np.arange(len(batch))
        self.one = np.ones(len(batch), np.int64)
        self.psum_bits = max(arch.accumulator_bits, batch.workload.output_bits)
        ones = np.ones((len(batch), 1), np.int64)
        self.prefix = np.concatenate((ones, np.cumprod(batch.extents, axis=1)), axis=1)
        self.steps = self.prefix[:, -1]
        self.beneath = [self._unrolled_beneath(index) for index in range(len(arch.levels) + 1)]
        self.stages = {operand: self._stages(operand) for operand in Operand}

    def _unrolled_beneath(self, index: int) -> Ints:
        """Return unrolling per dimension beneath a level, ``[B, 8]``."""
        found = np.ones((len(self.batch), len(DIMS)), np.int64)
        for column, (name, dim) in enumerate(self.batch.unrolled):
            if self.arch.index(self.arch.fanout(name).below) >= index:
                found[:, DIMS.index(dim)] *= self.batch.unrolled_extents[:, column]
        return found

    def hops(self, operand: Operand, top: int, bottom: int) -> Hops:
        """Return the fan-outs between two levels, by index, for one operand."""
        fanouts = tuple(
            item for item in self.arch.fanouts if top <= self.arch.index(item.below) < bottom
        )
        return Hops(
            fanouts,
            tuple(self._unrolled(item.name, RELEVANT[operand], True) for item in fanouts),
            tuple(self._unrolled(item.name, RELEVANT[operand], False) for item in fanouts),
            tuple(operand in item.multicast for item in fanouts),
            self.one,
        )

    def _unrolled(self, fanout: str, dims: frozenset[Dim], inside: bool) -> Ints:
        total = self.one
        for column, (name, dim) in enumerate(self.batch.unrolled):
            if name == fanout and (dim in dims) == inside:
                total = total * self.batch.unrolled_extents[:, column]
        return total

    def _chain(self, operand: Operand) -> tuple[tuple[str, ...], Ints]:
        levels, starts = self.batch.levels[operand], self.batch.starts[operand]
        if operand not in self.placement or operand not in self.arch.scratchpad_level.holds:
            return levels, starts
        inside = self.arch.index(self.arch.scratchpad)
        kept = [at for at, name in enumerate(levels) if self.arch.index(name) > inside]
        source = np.zeros((len(self.batch), 1), np.int64)
        chain = (self.arch.scratchpad, *(levels[at] for at in kept))
        return chain, np.concatenate((source, starts[:, kept]), axis=1)

    def _stages(self, operand: Operand) -> tuple[Stage, ...]:
        levels, starts = self._chain(operand)
        turning = RELEVANT_INDEX[operand][self.batch.dims] & (self.batch.extents > 1)
        count = turning.shape[1]
        turn = np.zeros((len(self.batch), count + 1), np.int64)
        place: Ints = np.arange(1, count + 1, dtype=np.int64)
        np.maximum.accumulate(np.where(turning, place, 0), axis=1, out=turn[:, 1:])
        own = np.ones((len(self.batch), count + 1), np.int64)
        np.cumprod(np.where(turning, self.batch.extents, 1), axis=1, out=own[:, 1:])
        found: list[Stage] = []
        for position, parent in enumerate(levels):
            top = self.arch.index(parent)
            inner = position + 1 < len(levels)
            child = levels[position + 1] if inner else None
            bottom = self.arch.index(levels[position + 1]) if inner else len(self.arch.levels)
            start = starts[:, position + 1] if inner else np.full(len(self.batch), count)
            visits = self.prefix[self.rows, turn[self.rows, start]] if inner else self.steps
            elements = self.tile(operand, start, bottom) if inner else self.one
            found.append(
                Stage(
                    operand,
                    parent,
                    child,
                    visits,
                    own[self.rows, start],
                    elements,
                    self.hops(operand, 0, top),
                    self.hops(operand, top, bottom),
                )
            )
        return tuple(found)

    def tile(self, operand: Operand, start: Ints, level: int) -> Ints:
        """Return the elements of tiles that start at given loops, in a level by index, ``[B]``."""
        extent = self.batch.inside(start) * self.beneath[level]
        return tile_elements(self.batch.workload, operand, extent)
