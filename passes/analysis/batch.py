"""The cost model over arrays of nests: the same figures as :mod:`.cost`, to the last digit.

Counts are integers and equal. Each float is formed by the same operations in the same order as in
the scalar model; a property test compares them for equality. Nothing is defined here: see
:mod:`.stages`, :mod:`.traffic` and :mod:`.latency` for what is counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ir.arch import Architecture, MemoryLevel
from ...ir.workload import DIMS, RELEVANT, Dim, Operand
from .batch_stages import RELEVANT_INDEX, Hops, Stage, readbacks, tile_elements
from .latency import FILL_ORDER
from .nest_batch import Bools, Floats, Ints, NestBatch
from .traffic import Direction

_Key = tuple[str, Operand, Direction]
_INPUTS = (Operand.W, Operand.I)


@dataclass(frozen=True, kw_only=True)
class BatchCost:
    """Figures of many nests; see :class:`~.cost.CostReport` for their meaning.

    Attributes:
        compute_cycles: ``[B]``.
        steady_cycles: ``[B]``.
        load_cycles: Steady load of all bounded ports and of compute, as an Euclidean-like norm of
            order eight: close to ``steady_cycles``, but it tells apart what a maximum does not;
            for searches, ``[B]``.
        fill_cycles: ``[B]``.
        drain_cycles: ``[B]``.
        energy_pj: ``[B]``.
        offchip_bytes: ``[B]``.
        fits: Whether tiles fit their memories and unrollings their fan-outs, and no partial sums
            come back to outputs that lie in the scratchpad, ``[B]``.
        overflow: How far the fullest memory or fan-out is exceeded, as a ratio; 1 fits, ``[B]``.
    """

    compute_cycles: Ints
    steady_cycles: Floats
    load_cycles: Floats
    fill_cycles: Floats
    drain_cycles: Floats
    energy_pj: Floats
    offchip_bytes: Floats
    fits: Bools
    overflow: Floats

    @cached_property
    def cycles(self) -> Floats:
        """Latency ``[B]``."""
        return self.steady_cycles + self.fill_cycles + self.drain_cycles

    @property
    def edp(self) -> Floats:
        """Energy-delay product ``[B]``."""
        return self.energy_pj * self.cycles


def evaluate_batch(
    batch: NestBatch,
    arch: Architecture,
    *,
    placement: frozenset[Operand] = frozenset(),
) -> BatchCost:
    """Return the cost of every nest of a batch on one NPU."""
    return _Evaluation(batch, arch, placement).cost()


class _Evaluation:
    """One evaluation; collects traffic as it goes through the stages."""

    def __init__(
        self,
        batch: NestBatch,
        arch: Architecture,
        placement: frozenset[Operand],
    ) -> None:
        self.batch = batch
        self.arch = arch
        self.placement = placement
        self.rows = np.arange(len(batch))
        self.one = np.ones(len(batch), np.int64)
        self.bits: dict[_Key, Ints] = {}
        self.busiest: dict[_Key, Ints] = {}
        self.psum_bits = max(arch.accumulator_bits, batch.workload.output_bits)
        ones = np.ones((len(batch), 1), np.int64)
        self.prefix = np.concatenate((ones, np.cumprod(batch.extents, axis=1)), axis=1)
        self.steps = self.prefix[:, -1]
        self.beneath = [self._unrolled_beneath(index) for index in range(len(arch.levels) + 1)]
        self.stages = {operand: self._stages(operand) for operand in Operand}

    # -- geometry ------------------------------------------------------------------------------

    def _unrolled_beneath(self, index: int) -> Ints:
        """Return unrolling per dimension beneath a level, ``[B, 8]``."""
        found = np.ones((len(self.batch), len(DIMS)), np.int64)
        for column, (name, dim) in enumerate(self.batch.unrolled):
            if self.arch.index(self.arch.fanout(name).below) >= index:
                found[:, DIMS.index(dim)] *= self.batch.unrolled_extents[:, column]
        return found

    def _hops(self, operand: Operand, top: int, bottom: int) -> Hops:
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
                    self._hops(operand, 0, top),
                    self._hops(operand, top, bottom),
                )
            )
        return tuple(found)

    def tile(self, operand: Operand, start: Ints, level: int) -> Ints:
        """Return the elements of tiles that start at given loops, in a level by index, ``[B]``."""
        extent = self.batch.inside(start) * self.beneath[level]
        return tile_elements(self.batch.workload, operand, extent)

    # -- traffic -------------------------------------------------------------------------------

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
            for stage in self.stages[operand]:
                self._input_stage(stage, self.batch.workload.bits(operand))
        stages = self.stages[Operand.O]
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
        psum, finished = self.psum_bits, self.batch.workload.output_bits
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
        tile = stage.elements * self.psum_bits
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
            starts, own_starts = macs.parents, self.one
        psum = self.psum_bits
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

    # -- figures -------------------------------------------------------------------------------

    def cost(self) -> BatchCost:
        """Return all figures."""
        self._count()
        dram = self.arch.off_chip.name
        moved = np.zeros(len(self.batch), np.int64)
        for (place, _, _), bits in self.bits.items():
            if place == dram:
                moved = moved + bits
        overflow = self._overflow()
        loads = np.stack(self._loads())
        return BatchCost(
            compute_cycles=self.steps,
            steady_cycles=loads.max(axis=0),
            load_cycles=_norm(loads),
            fill_cycles=self._fill(),
            drain_cycles=self._drain_cycles(),
            energy_pj=self._energy(),
            offchip_bytes=moved / 8,
            fits=overflow <= 1.0,
            overflow=overflow,
        )

    def _load(self, place: str, direction: Direction) -> Ints:
        total = np.zeros(len(self.batch), np.int64)
        for operand in Operand:
            if (place, operand, direction) in self.busiest:
                total = total + self.busiest[place, operand, direction]
        return total

    def _loads(self) -> list[Floats]:
        """Return the time that compute and each bounded port takes."""
        loads = [self.steps.astype(np.float64)]
        for level in self.arch.levels:
            read = self._load(level.name, Direction.READ)
            write = self._load(level.name, Direction.WRITE)
            if level.shared_port:
                read, write = read + write, read[:0]
            for bits, bandwidth in ((read, level.read_bandwidth), (write, level.write_bandwidth)):
                if bandwidth is not None and len(bits):
                    loads.append(bits / (8 * bandwidth))
        for fanout in self.arch.fanouts:
            if fanout.link_bandwidth is not None:
                loads += [
                    self._load(fanout.name, direction) / (8 * fanout.link_bandwidth)
                    for direction in (Direction.DOWN, Direction.UP)
                ]
        return loads

    def _fill(self) -> Floats:
        ready = {operand: np.zeros(len(self.batch)) for operand in FILL_ORDER}
        for level in self.arch.levels:
            sent = np.zeros(len(self.batch))
            for operand in FILL_ORDER:
                for stage in self.stages[operand][:-1]:
                    if stage.parent == level.name:
                        sent = np.maximum(sent, ready[operand]) + self._first_tile(level, stage)
                        ready[operand] = sent
        return np.maximum(*ready.values())

    def _first_tile(self, level: MemoryLevel, stage: Stage) -> Floats:
        assert stage.child is not None
        tile = stage.elements * self.batch.workload.bits(stage.operand)
        slowest = np.zeros(len(self.batch))
        slowest = _slower(slowest, tile, _write_bandwidth(self.arch.level(stage.child)))
        for position, fanout in enumerate(stage.hops.fanouts):
            if fanout.link_bandwidth is not None:
                crossing = tile * stage.hops[position + 1 :].copies
                slowest = _slower(slowest, crossing, fanout.link_bandwidth)
        return _slower(slowest, tile * stage.hops.copies, level.read_bandwidth)

    def _drain_cycles(self) -> Floats:
        psum, finished = self.psum_bits, self.batch.workload.output_bits
        stages = self.stages[Operand.O][:-1]
        total = np.zeros(len(self.batch))
        for stage in reversed(stages):
            assert stage.child is not None
            reduced = stage.above.reductions * stage.hops.reductions
            done = (reduced == 1) & (stage is not stages[-1])
            child = self.arch.level(stage.child)
            slowest = np.zeros(len(self.batch))
            width = np.where(done, finished, psum)
            slowest = _slower(slowest, stage.elements * width, child.read_bandwidth)
            reduced = stage.above.reductions
            for position, fanout in enumerate(stage.hops.fanouts):
                reduced = reduced * stage.hops.irrelevant[position]
                if fanout.link_bandwidth is not None:
                    width = np.where(reduced == 1, finished, psum)
                    bits = stage.elements * width * stage.hops[position + 1 :].relevants
                    slowest = _slower(slowest, bits, fanout.link_bandwidth)
            width = np.where(stage.above.reductions == 1, finished, psum)
            bits = stage.elements * width * stage.hops.relevants
            parent = self.arch.level(stage.parent)
            total = total + _slower(slowest, bits, _write_bandwidth(parent))
        return total

    def _energy(self) -> Floats:
        memory = np.zeros(len(self.batch))
        for level in self.arch.levels:
            for operand in Operand:
                for direction, energy in (
                    (Direction.READ, level.read_energy),
                    (Direction.WRITE, level.write_energy),
                ):
                    bits = self.bits.get((level.name, operand, direction))
                    if bits is not None and energy:
                        memory = memory + bits / level.word_bits * energy
        network = np.zeros(len(self.batch))
        for fanout in self.arch.fanouts:
            bits = np.zeros(len(self.batch), np.int64)
            for operand in Operand:
                for direction in (Direction.DOWN, Direction.UP):
                    found = self.bits.get((fanout.name, operand, direction))
                    bits = bits if found is None else bits + found
            if fanout.hop_energy:
                network = network + bits / 8 * fanout.hop_energy
        macs = self.steps * self.batch.unrolled_extents.prod(axis=1)
        return memory + network + macs * self.arch.mac_energy

    # -- capacity ------------------------------------------------------------------------------

    def _overflow(self) -> Floats:
        worst = np.zeros(len(self.batch))
        for index, level in enumerate(self.arch.levels):
            if level.usable is None:
                continue
            taken = np.zeros(len(self.batch), np.int64)
            for operand in Operand:
                if level.name in self.batch.levels[operand]:
                    taken = taken + self._bytes(operand, index)
            worst = np.maximum(worst, taken / (level.usable or 0.5))  # a byte is too much for none
        for names, limit in (
            *(((fanout.name,), fanout.size) for fanout in self.arch.fanouts),
            *((group.fanouts, group.limit) for group in self.arch.groups),
        ):
            used = self.one
            for column, (name, _) in enumerate(self.batch.unrolled):
                if name in names:
                    used = used * self.batch.unrolled_extents[:, column]
            worst = np.maximum(worst, used / limit)
        if Operand.O in self.placement and self.stages[Operand.O][0].child is not None:
            # Finished outputs lie in the scratchpad at their own width: no sums may come back.
            first = self.stages[Operand.O][0]
            worst = np.maximum(worst, np.where(first.visits > first.tiles, 2.0, 0.0))
        return worst

    def _bytes(self, operand: Operand, index: int) -> Ints:
        level = self.arch.levels[index].name
        position = self.batch.levels[operand].index(level)
        elements = self.tile(operand, self.batch.starts[operand][:, position], index)
        width: Ints | int = self.batch.workload.bits(operand)
        if operand is Operand.O:
            partial = self._holds_psums(position, index)
            width = np.where(partial, max(width, self.arch.accumulator_bits), width)
        return -(-(elements * width) // 8)

    def _holds_psums(self, position: int, index: int) -> Bools:
        """Mirror :meth:`~accnn.ir.mapping.LoopNest.holds_psums`."""
        levels = self.batch.levels[Operand.O]
        if position + 1 == len(levels):
            return np.ones(len(self.batch), np.bool_)
        above = self._hops(Operand.O, 0, index).reductions
        relevant = RELEVANT_INDEX[Operand.O][self.batch.dims]
        start = self.batch.starts[Operand.O][:, position + 1]
        turning = relevant & (self.batch.extents > 1)
        place: Ints = np.arange(int(turning.shape[1]), dtype=np.int64)
        outside = place < start[:, None]
        turn = np.where(turning & outside, place + 1, 0).max(axis=1, initial=0)
        reducing = ~relevant & (self.batch.extents > 1) & (place < turn[:, None])
        found: Bools = (above > 1) | reducing.any(axis=1)
        return found


def _norm(loads: Floats) -> Floats:
    top = loads.max(axis=0)
    eighth = (loads / top) ** 2
    eighth = eighth * eighth
    return top * np.sqrt(np.sqrt(np.sqrt((eighth * eighth).sum(axis=0))))


def _write_bandwidth(level: MemoryLevel) -> float | None:
    return level.read_bandwidth if level.shared_port else level.write_bandwidth


def _slower(slowest: Floats, bits: Ints, bandwidth: float | None) -> Floats:
    return slowest if bandwidth is None else np.maximum(slowest, bits / (8 * bandwidth))
