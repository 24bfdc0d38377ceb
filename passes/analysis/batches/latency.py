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

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from ....ir.workload import OPERANDS, Operand
from ..flows import Kind
from ..traffic import bandwidth_of, bounded_ports
from .coefficients import FlowCoefficients, Index
from .counts import Counts
from .kernel.crossing import Passages, Sendings, fill_crossings, fill_ends
from .kernel.moving import Flows, fill_bits
from .nest_batch import Floats, Ints

FILL_ORDER = (Operand.I, Operand.W, Operand.O)
"""Which operand's first tile a memory sends first; sums that are added to come last."""

_FIRST = {Operand.W: Kind.MOVE, Operand.I: Kind.MOVE, Operand.O: Kind.BACK}
"""What travels inwards before the first step."""

Crossing = tuple[Operand, int, Kind]
"""Operand, position of its boundary, and what crosses there."""


def port_bits(counts: Counts) -> Ints:
    """Return what passes each bounded port of the busiest instance, ``[ports, B]`` [bit]."""
    index, own = counts.index, counts.coefficients
    found = np.zeros((len(_widths_of_ports(index)), len(counts.batch)), np.int64)
    flows = Flows(own.visit, own.tile, index.boundary, _port_of_flows(index))
    fill_bits(counts.batch.which, flows, counts.counted, counts.moved, found)
    return found


@lru_cache(maxsize=64)
def _port_of_flows(index: Index) -> Ints:
    """Return which bounded port each flow passes, -1 where none bounds it ``[F]``."""
    ports = bounded_ports(index.table.arch)
    found: list[int] = []
    for flow in index.flows:
        own = (
            at
            for at, port in enumerate(ports)
            if flow.place == port.place and flow.direction in port.directions
        )
        found.append(next(own, -1))
    return np.array(found, np.int64)


def load_cycles(counts: Counts) -> Floats:
    """Return how long the array and each bounded port are busy, ``[1 + ports, B]`` [cycle]."""
    widths = _widths_of_ports(counts.index)
    found = np.empty((1 + len(widths), len(counts.batch)))
    found[0] = counts.batch.steps
    np.divide(port_bits(counts), widths, out=found[1:])
    return found


@lru_cache(maxsize=256)
def ports_of(index: Index, place: str) -> Ints:
    """Return the rows of ``load_cycles`` that tell of a place.

    Args:
        index: Of the flows.
        place: Name of a memory or of a fan-out.
    """
    ports = bounded_ports(index.table.arch)
    own = [at for at, port in enumerate(ports, start=1) if port.place == place]
    return np.array(own, np.int64)


@lru_cache(maxsize=64)
def _widths_of_ports(index: Index) -> Floats:
    """Return what each bounded port passes in a cycle ``[ports, 1]`` [bit/cycle]."""
    return np.array([8 * port.bandwidth for port in bounded_ports(index.table.arch)])[:, None]


def end_cycles(counts: Counts) -> Floats:
    """Return what comes before the first step, and after the last one ``[2, B]`` [cycle].

    That is, until the first tiles have reached the innermost memories, and until the last outputs
    have arrived. A tile takes as long as at the slowest of the bounded ports that it passes;
    outputs that leave are the last ones. Crossings without a bounded port take no time.
    """
    order = FILL_ORDER if counts.has_sums else FILL_ORDER[:2]
    found = np.empty((2, len(counts.batch)))
    passages, sendings = _passages(counts.coefficients), _sendings(counts.index, order)
    fill_ends(counts.batch.which, passages, sendings, counts.elements, found)
    return found


@lru_cache(maxsize=64)
def _sendings(index: Index, order: tuple[Operand, ...]) -> Sendings:
    """Return what memories send inwards before the first step, and outwards after the last one.

    Args:
        index: Of the flows.
        order: Which operand's tile comes first.
    """
    sent = [
        (memory, OPERANDS.index(operand), (operand, boundary.position, _FIRST[operand]))
        for memory, level in enumerate(index.table.arch.levels)
        for operand in order
        for boundary in index.table.of(operand)[:-1]
        if boundary.parent == level.name
    ]
    drains = [
        (Operand.O, boundary.position, Kind.DRAIN)
        for boundary in reversed(index.table.of(Operand.O)[:-1])
    ]
    return Sendings(
        memory=np.array([memory for memory, _, _ in sent], np.int64),
        operand=np.array([operand for _, operand, _ in sent], np.int64),
        crossing=_numbers_of(index, [crossing for _, _, crossing in sent]),
        drains=_numbers_of(index, drains),
    )


def _numbers_of(index: Index, crossings: Sequence[Crossing]) -> Ints:
    """Return the numbers of crossings, -1 for those that no bounded port slows down."""
    known = {crossing: number for number, crossing in enumerate(_crossings(index))}
    return np.array([known.get(crossing, -1) for crossing in crossings], np.int64)


@lru_cache(maxsize=64)
def _crossings(index: Index) -> tuple[Crossing, ...]:
    """Return the crossings that bounded ports slow down."""
    return tuple(dict.fromkeys(crossing for crossing, _, _ in _passing(index)))


@lru_cache(maxsize=64)
def _passing(index: Index) -> Sequence[tuple[Crossing, int, float]]:
    """Return the flows through bounded ports, and their widths [bit/cycle], by crossings."""
    found: list[tuple[Crossing, int, float]] = []
    for at, flow in enumerate(index.flows):
        bandwidth = bandwidth_of(index.table.arch, flow.place, flow.direction)
        if bandwidth is not None and not flow.at_macs and flow.kind is not Kind.START:
            crossing = (flow.operand, flow.boundary.position, flow.kind)
            found.append((crossing, at, 8 * bandwidth))
    return sorted(found)


@lru_cache(maxsize=256)
def _passages(coefficients: FlowCoefficients) -> Passages:
    """Return the flows through bounded ports with the bits of the last visit."""
    index = coefficients.index
    passing = _passing(index)
    rows = np.array([at for _, at, _ in passing], np.int64)
    return Passages(
        bits=coefficients.last[rows],
        boundary=index.boundary[rows],
        widths=np.array([width for _, _, width in passing], np.float64),
        crossing=_numbers_of(index, [crossing for crossing, _, _ in passing]),
    )


def element_cycles(coefficients: FlowCoefficients) -> Mapping[Crossing, Floats]:
    """Return how long tiles of one element take to cross, ``[U]`` each [cycle].

    Crossings without a bounded port are left out.
    """
    index = coefficients.index
    count = coefficients.last.shape[1]
    found = np.zeros((count, len(_crossings(index))))
    elements = np.ones((len(index.operands), count), np.int64)
    fill_crossings(np.arange(count, dtype=np.int64), _passages(coefficients), elements, found)
    return dict(zip(_crossings(index), found.T, strict=True))
