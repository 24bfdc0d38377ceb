"""The cost model over arrays of nests: the same figures as :mod:`.cost`, to the last digit.

Counts are integers and equal. Each float is formed by the same operations in the same order as in
the scalar model; a property test compares them for equality. Nothing is defined here: see
:mod:`.stages`, :mod:`.traffic` and :mod:`.latency` for what is counted.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ir.arch import Architecture
from ...ir.workload import Operand
from .batch_geometry import Geometry
from .batch_latency import drain_cycles, fill_cycles, port_loads
from .batch_room import overflow
from .batch_traffic import Counted
from .nest_batch import Bools, Floats, Ints, NestBatch
from .traffic import Direction


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
    geometry = Geometry(batch, arch, placement)
    counted = Counted(geometry)
    exceeded = overflow(geometry)
    loads = np.stack(port_loads(counted))
    return BatchCost(
        compute_cycles=geometry.steps,
        steady_cycles=loads.max(axis=0),
        load_cycles=_norm(loads),
        fill_cycles=fill_cycles(geometry),
        drain_cycles=drain_cycles(geometry),
        energy_pj=_energy(counted),
        offchip_bytes=_offchip_bits(counted) / 8,
        fits=exceeded <= 1.0,
        overflow=exceeded,
    )


def _offchip_bits(counted: Counted) -> Ints:
    dram = counted.geometry.arch.off_chip.name
    moved = np.zeros(len(counted.geometry.batch), np.int64)
    for (place, _, _), bits in counted.bits.items():
        if place == dram:
            moved = moved + bits
    return moved


def _energy(counted: Counted) -> Floats:
    batch, arch = counted.geometry.batch, counted.geometry.arch
    memory = np.zeros(len(batch))
    for level in arch.levels:
        for operand in Operand:
            for direction, energy in (
                (Direction.READ, level.read_energy),
                (Direction.WRITE, level.write_energy),
            ):
                bits = counted.bits.get((level.name, operand, direction))
                if bits is not None and energy:
                    memory = memory + bits / level.word_bits * energy
    network = np.zeros(len(batch))
    for fanout in arch.fanouts:
        bits = np.zeros(len(batch), np.int64)
        for operand in Operand:
            for direction in (Direction.DOWN, Direction.UP):
                found = counted.bits.get((fanout.name, operand, direction))
                bits = bits if found is None else bits + found
        if fanout.hop_energy:
            network = network + bits / 8 * fanout.hop_energy
    macs = counted.geometry.steps * batch.unrolled_extents.prod(axis=1)
    return memory + network + macs * arch.mac_energy


def _norm(loads: Floats) -> Floats:
    top = loads.max(axis=0)
    eighth = (loads / top) ** 2
    eighth = eighth * eighth
    return top * np.sqrt(np.sqrt(np.sqrt((eighth * eighth).sum(axis=0))))
