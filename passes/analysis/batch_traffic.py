"""Traffic of many nests at once; see :mod:`.traffic` for what is counted."""

from collections.abc import Sequence

import numpy as np

from ...ir.workload import Operand
from .batch_geometry import Geometry
from .batch_stages import Stage, readbacks
from .nest_batch import Bools, Ints
from .traffic import Direction

_Key = tuple[str, Operand, Direction]
_INPUTS = (Operand.W, Operand.I)


class Counted:
    """Bits by place, operand and direction.

    Args:
        geometry: The nests.

    Attributes:
        bits: Through all instances, ``[B]`` each.
        busiest: Through the busiest instance, ``[B]`` each.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.bits: dict[_Key, Ints] = {}
        self.busiest: dict[_Key, Ints] = {}
        self._count()

    def _add(
        self,
        place: str,
        operand: Operand,
        direction: Direction,
        bits: Ints,
        busiest: Ints,
    ) -> None:
        key = (place, operand, direction)
        self.bits[key] = self.bits[key] + bits if key in self.bits else bits
        self.busiest[key] = self.busiest[key] + busiest if key in self.busiest else busiest

    def _count(self) -> None:
        for operand in _INPUTS:
            for stage in self.geometry.stages[operand]:
                self._input_stage(stage, self.geometry.batch.workload.bits(operand))
        stages = self.geometry.stages[Operand.O]
        for position, stage in enumerate(stages[:-1]):
            self._drain(stage, innermost=position == len(stages) - 2)
            self._read_back(stage, readbacks(stages[: position + 1]))
        self._accumulate(stages)

    def _input_stage(self, stage: Stage, bits: int) -> None:
        moved = stage.visits * stage.elements * bits
        each = moved * stage.hops.copies
        self._add(stage.parent, stage.operand, Direction.READ, stage.parents * each, each)
        if stage.child is not None:
            self._add(stage.child, stage.operand, Direction.WRITE, stage.children * moved, moved)
        links = stage.parents
        for position, fanout in enumerate(stage.hops.fanouts):
            links = links * stage.hops[position : position + 1].children
            if fanout.link_bandwidth is not None or fanout.hop_energy:
                each = moved * stage.hops[position + 1 :].copies
                self._add(fanout.name, stage.operand, Direction.DOWN, links * each, each)

    def _visit_bits(self, stage: Stage, done: Bools) -> Ints:
        psum, finished = self.geometry.psum_bits, self.geometry.batch.workload.output_bits
        last = np.where(done, stage.tiles, 0)
        return (stage.visits * psum - last * (psum - finished)) * stage.elements

    def _drain(self, stage: Stage, *, innermost: bool) -> None:
        assert stage.child is not None
        done = (stage.above.reductions * stage.hops.reductions == 1) & (not innermost)
        each = self._visit_bits(stage, done)
        self._add(stage.child, Operand.O, Direction.READ, stage.children * each, each)
        links, reduced = stage.parents, stage.above.reductions
        for position, fanout in enumerate(stage.hops.fanouts):
            links = links * stage.hops[position : position + 1].children
            reduced = reduced * stage.hops.irrelevant[position]
            if fanout.link_bandwidth is not None or fanout.hop_energy:
                each = self._visit_bits(stage, reduced == 1)
                each = each * stage.hops[position + 1 :].relevants
                self._add(fanout.name, Operand.O, Direction.UP, links * each, each)
        each = self._visit_bits(stage, stage.above.reductions == 1) * stage.hops.relevants
        self._add(stage.parent, Operand.O, Direction.WRITE, stage.parents * each, each)

    def _read_back(self, stage: Stage, total: Ints) -> None:
        assert stage.child is not None
        tile = stage.elements * self.geometry.psum_bits
        each = (stage.visits - stage.tiles) * tile
        bits = total * tile
        self._add(stage.parent, Operand.O, Direction.READ, bits, stage.hops.relevants * each)
        for position, fanout in enumerate(stage.hops.fanouts):
            if fanout.link_bandwidth is not None or fanout.hop_energy:
                inner = stage.hops[position + 1 :].relevants
                self._add(fanout.name, Operand.O, Direction.DOWN, bits, inner * each)
        self._add(stage.child, Operand.O, Direction.WRITE, bits, each)

    def _accumulate(self, stages: Sequence[Stage]) -> None:
        macs = stages[-1]
        updates = macs.visits * macs.hops.relevants
        if len(stages) > 1:
            elements, own_starts = stages[-2].elements, stages[-2].tiles
            starts = stages[-2].children * stages[-2].visits - readbacks(stages[:-1])
        else:
            elements = macs.tiles * macs.hops.relevants
            starts, own_starts = macs.parents, self.geometry.one
        psum = self.geometry.psum_bits
        reads = (macs.parents * updates - starts * elements) * psum
        busiest = (updates - own_starts * elements) * psum
        self._add(macs.parent, Operand.O, Direction.READ, reads, busiest)
        writes = macs.parents * updates * psum
        self._add(macs.parent, Operand.O, Direction.WRITE, writes, updates * psum)
        links = macs.parents
        for position, fanout in enumerate(macs.hops.fanouts):
            links = links * macs.hops[position : position + 1].children
            if fanout.link_bandwidth is not None or fanout.hop_energy:
                each = macs.visits * macs.hops[position + 1 :].relevants * psum
                self._add(fanout.name, Operand.O, Direction.UP, links * each, each)
