"""Latency of nests: the slowest of compute and every port, plus fill and drain.

- *Compute*: one cycle per step of the temporal loops.
- *Port*: the bits that the busiest instance of a memory reads (or writes, or both, where they
  share one port) over its bandwidth; the bits that cross the busiest link of a fan-out in one
  direction over the link's bandwidth. All ports work at the same time as the array, for tiles are
  double buffered; so the steady state takes as long as the slowest of them.
- *Fill*: before the first step, the first tiles of inputs and weights travel inwards, memory by
  memory. A memory sends a tile on when it has it whole; one that feeds both operands sends the
  inputs first, for they usually have the longer way. Sending takes as long as the slowest of the
  parent's read port, the links below it and the child's write port. The way to the MACs is part of
  the first step.
- *Drain*: after the last step, the last output tiles travel outwards in the same manner.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....ir.workload import Operand
from ..flows import Kind
from ..traffic import bandwidth_of, bounded_ports
from .coefficients import FlowCoefficients, Index
from .counts import Counts
from .nest_batch import Floats, Ints

FILL_ORDER = (Operand.I, Operand.W, Operand.O)
"""Which operand's first tile a memory sends first; sums that are added to come last."""

_FIRST = {Operand.W: Kind.MOVE, Operand.I: Kind.MOVE, Operand.O: Kind.BACK}
"""What travels inwards before the first step."""

Crossing = tuple[Operand, int, Kind]
"""Operand, position of its boundary, and what crosses there."""


def port_bits(counts: Counts) -> Ints:
    """Return what passes each bounded port of the busiest instance, ``[ports, B]`` [bit]."""
    groups = _groups_of_ports(counts.index)
    found = np.zeros((len(groups), len(counts.batch)), np.int64)
    for port, own in enumerate(groups):
        for group in own:
            found[port] += counts.busiest_bits[group]
    return found


@lru_cache(maxsize=64)
def _groups_of_ports(index: Index) -> tuple[tuple[int, ...], ...]:
    """Return the groups of flows that pass each bounded port."""
    return tuple(
        tuple(
            at
            for at, (place, _, direction) in enumerate(index.groups)
            if place == port.place and direction in port.directions
        )
        for port in bounded_ports(index.table.arch)
    )


def port_cycles(counts: Counts) -> Floats:
    """Return how long each bounded port is busy, ``[ports, B]`` [cycle]."""
    return port_bits(counts) / _widths_of_ports(counts.index)


@lru_cache(maxsize=64)
def _widths_of_ports(index: Index) -> Floats:
    """Return what each bounded port passes in a cycle ``[ports, 1]`` [bit/cycle]."""
    return np.array([8 * port.bandwidth for port in bounded_ports(index.table.arch)])[:, None]


def fill_cycles(counts: Counts, times: Mapping[Crossing, Floats]) -> Floats:
    """Return the time until the first tiles have reached the innermost memories ``[B]`` [cycle].

    Args:
        counts: What moves.
        times: How long single tiles take to cross; see ``crossing_cycles``.
    """
    order = FILL_ORDER if counts.has_sums else FILL_ORDER[:2]
    zero = np.zeros(len(counts.batch))
    ready = dict.fromkeys(order, zero)
    for sendings in _sendings(counts.index, order):
        sent = zero
        for crossing in sendings:
            operand, _, _ = crossing
            sent = np.maximum(sent, ready[operand]) + times.get(crossing, zero)
            ready[operand] = sent
    return np.maximum.reduce(list(ready.values()))


@lru_cache(maxsize=64)
def _sendings(index: Index, order: tuple[Operand, ...]) -> tuple[tuple[Crossing, ...], ...]:
    """Return what each memory sends inwards before the first step, in its order.

    Args:
        index: Of the flows.
        order: Which operand's tile comes first.
    """
    return tuple(
        tuple(
            (operand, boundary.position, _FIRST[operand])
            for operand in order
            for boundary in index.table.of(operand)[:-1]
            if boundary.parent == level.name
        )
        for level in index.table.arch.levels
    )


def drain_cycles(counts: Counts, times: Mapping[Crossing, Floats]) -> Floats:
    """Return the time from the last step until the last outputs have arrived ``[B]`` [cycle].

    Args:
        counts: What moves.
        times: How long single tiles take to cross; see ``crossing_cycles``.
    """
    total = np.zeros(len(counts.batch))
    for boundary in reversed(counts.index.table.of(Operand.O)[:-1]):
        total = total + times.get((Operand.O, boundary.position, Kind.DRAIN), 0.0)
    return total


@dataclass(frozen=True)
class _Passages:
    """Flows through bounded ports, sorted by crossing.

    Attributes:
        flows: The flows ``[passages]``.
        bandwidths: Eight times the bandwidth of each [bit/cycle] ``[passages, 1]``.
        first: The first passage of each crossing.
        crossings: Where they are.
    """

    flows: Ints
    bandwidths: Floats
    first: Ints
    crossings: tuple[Crossing, ...]


@lru_cache(maxsize=64)
def _passages(index: Index) -> _Passages:
    found: list[tuple[Crossing, int, float]] = []
    for at, flow in enumerate(index.flows):
        bandwidth = bandwidth_of(index.table.arch, flow.place, flow.direction)
        if bandwidth is not None and not flow.at_macs and flow.kind is not Kind.START:
            crossing = (flow.operand, flow.boundary.position, flow.kind)
            found.append((crossing, at, 8 * bandwidth))
    found.sort()
    keys = [crossing for crossing, _, _ in found]
    crossings = tuple(dict.fromkeys(keys))
    return _Passages(
        flows=np.array([at for _, at, _ in found], np.int64),
        bandwidths=np.array([[bandwidth] for _, _, bandwidth in found]),
        first=np.array([keys.index(crossing) for crossing in crossings], np.int64),
        crossings=crossings,
    )


def crossing_cycles(counts: Counts) -> Mapping[Crossing, Floats]:
    """Return how long the tiles of each nest take to cross, ``[B]`` each [cycle].

    A tile takes as long as at the slowest of the bounded ports that it passes. Outputs that leave
    are the last ones. Crossings without a bounded port take no time and are left out.
    """
    flows = _passages(counts.index).flows
    last = counts.coefficients.last[flows][:, counts.batch.which]
    return _slowest(counts.index, last * counts.elements[counts.index.boundary[flows]])


def element_cycles(coefficients: FlowCoefficients) -> Mapping[Crossing, Floats]:
    """Return the same of tiles of one element, ``[U]`` each [cycle]."""
    index = coefficients.index
    return _slowest(index, coefficients.last[_passages(index).flows])


def _slowest(index: Index, bits: Ints) -> Mapping[Crossing, Floats]:
    """Return how long the slowest passage of each crossing takes [cycle].

    Args:
        index: Of the flows.
        bits: Of one tile at each passage.
    """
    passages = _passages(index)
    if not len(passages.flows):
        return {}
    times = np.maximum.reduceat(bits / passages.bandwidths, passages.first, axis=0)
    return dict(zip(passages.crossings, times, strict=True))
