"""The cost model: accesses, latency and energy of many nests at once, each on one NPU.

What is counted is defined where it is counted:

- which tiles move, how often, and to how many: :mod:`.flows`, filled in by :mod:`.counts`;
- cycles of compute and of every port, fill and drain: :mod:`.latency`;
- lower bounds: :mod:`.bounds`.

*Energy* is the sum over memories of (bits accessed / word width) x energy per word, over links of
bytes x energy per hop (a transfer over one fan-out is one hop for each child that it reaches), and
of executed MACs x energy per MAC. *Padding* is executed, moved and paid for like everything else.
*Operands of the placement* lie whole in the scratchpad: no off-chip traffic for them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import Operand
from .capacity import overflow
from .counts import Counts
from .kernel.moving import add_energies
from .latency import end_cycles, load_cycles, ports_of
from .nest_batch import Bools, Floats, Ints, NestBatch


@dataclass(frozen=True)
class BatchCost:
    """Figures of many nests, each worked out when it is asked for; see :class:`~.cost.CostReport`.

    Attributes:
        counts: What moves.
    """

    counts: Counts

    @cached_property
    def compute_cycles(self) -> Ints:
        """Steps of the array ``[B]`` [cycle]."""
        return self.counts.batch.steps

    @cached_property
    def _loads(self) -> Floats:
        """Of compute and of every bounded port, ``[1 + ports, B]`` [cycle]."""
        return load_cycles(self.counts)

    @cached_property
    def steady_cycles(self) -> Floats:
        """The slowest of compute and every port ``[B]``."""
        found: Floats = self._loads.max(axis=0)
        return found

    def busy_cycles(self, place: str) -> Floats:
        """Return how long the busiest bounded port of a place takes, 0 where none is ``[B]``.

        Args:
            place: Name of a memory or of a fan-out.
        """
        own = self._loads[ports_of(self.counts.index, place)]
        found: Floats = own.max(axis=0, initial=0.0)
        return found

    @cached_property
    def load_cycles(self) -> Floats:
        """Load of compute and all ports, as an Euclidean-like norm of order eight ``[B]``.

        It is close to ``steady_cycles``, but tells apart what a maximum does not; for searches.
        """
        return _norm(self._loads)

    @cached_property
    def _ends(self) -> Floats:
        """Before the first step, and after the last one ``[2, B]``."""
        return end_cycles(self.counts)

    @property
    def fill_cycles(self) -> Floats:
        """Until the first tiles have arrived ``[B]``."""
        found: Floats = self._ends[0]
        return found

    @property
    def drain_cycles(self) -> Floats:
        """From the last step until the last outputs have arrived ``[B]``."""
        found: Floats = self._ends[1]
        return found

    @cached_property
    def energy_pj(self) -> Floats:
        """Of memories, links and MACs ``[B]``."""
        counts = self.counts
        return memory_energy(counts) + network_energy(counts) + mac_energy(counts)

    @cached_property
    def offchip_bytes(self) -> Floats:
        """What passes the outermost memory ``[B]``."""
        return offchip_bits(self.counts) / 8

    @cached_property
    def fits(self) -> Bools:
        """Whether tiles fit their memories and unrollings their fan-outs ``[B]``.

        Nor may partial sums come back to outputs that lie in the scratchpad.
        """
        return self.overflow <= 1.0

    @cached_property
    def overflow(self) -> Floats:
        """How far the fullest memory or fan-out is exceeded, as a ratio; 1 fits ``[B]``."""
        return overflow(self.counts)

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
    """Return the cost of every nest of a batch on one NPU.

    Args:
        batch: The nests.
        arch: The machine; of several NPUs, one is looked at.
        placement: Operands that lie whole in the scratchpad.
    """
    return BatchCost(Counts(batch, arch, placement))


def mac_energy(counts: Counts) -> Floats:
    """Return the energy of all executed MACs, padding included ``[B]`` [pJ]."""
    macs = (counts.batch.steps * counts.batch.unrolled_in()).astype(np.float64)
    return macs * counts.arch.mac_energy


def memory_energy(counts: Counts) -> Floats:
    """Return the energy of all accesses, added level by level, W I O, reads first ``[B]`` [pJ]."""
    found = np.zeros(len(counts.batch))
    add_energies(counts.bits, *counts.index.prices, found)
    return found


def network_energy(counts: Counts) -> Floats:
    """Return the energy of all links, added fan-out by fan-out ``[B]`` [pJ]."""
    total = np.zeros(len(counts.batch))
    for fanout in counts.arch.fanouts:
        if fanout.hop_energy:
            total = total + _bits_at(counts, fanout.name) / 8 * fanout.hop_energy
    return total


def offchip_bits(counts: Counts) -> Ints:
    """Return what passes the outermost memory ``[B]`` [bit]."""
    return _bits_at(counts, counts.arch.off_chip.name)


def _bits_at(counts: Counts, place: str) -> Ints:
    found: Ints = counts.bits[counts.index.groups_at(place)].sum(axis=0)
    return found


def _norm(loads: Floats) -> Floats:
    top = loads.max(axis=0)
    eighth = (loads / top) ** 2
    eighth = eighth * eighth
    return top * np.sqrt(np.sqrt(np.sqrt((eighth * eighth).sum(axis=0))))
