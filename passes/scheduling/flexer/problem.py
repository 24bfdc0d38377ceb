"""From a tiling to the compact arrays that the compiled scheduler works on."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....ir.arch import Architecture
from ....ir.isa.latency import port_cycles
from ....ir.workload import Dim, Operand
from ...tiling.mac_tiles import in_steps
from ..timing.ports import Ports
from ..timing.work import on_vector_unit, through_scratchpad
from .kernel.arrays import Ints, TilingArrays
from .latency import TileTimer, TimedNest
from .site import Site
from .tilings import Tiling

LOOPS: dict[str, tuple[Dim, ...]] = {"spatial": (Dim.P, Dim.Q), "K": (Dim.K,), "C": (Dim.C,)}
"""Loops that dataflows permute; groups and batch stand outside of them."""


@dataclass(frozen=True)
class Dataflow:
    """An order of the loops over tiles, outermost first.

    Attributes:
        loops: Names out of :data:`LOOPS`.
    """

    loops: tuple[str, ...]

    @property
    def stationary(self) -> str:
        """The operand that remains longest: the one that the innermost loop leaves alone."""
        return {"spatial": "W", "K": "I", "C": "O"}[self.loops[-1]]

    def __str__(self) -> str:
        return "-".join(self.loops)


CANONICAL = Dataflow(("spatial", "K", "C"))
"""The order in which operations are numbered."""


def dataflows(tiling: Tiling) -> Iterator[Dataflow]:
    """Yield the distinct loop orders of a tiling; loops of one step stand outside."""
    turning = [name for name, dims in LOOPS.items() if any(tiling.trips[dim] > 1 for dim in dims)]
    still = tuple(name for name in LOOPS if name not in turning)
    for order in itertools.permutations(turning):
        yield Dataflow((*still, *order))


@dataclass(frozen=True)
class TimedTiling:
    """A tiling whose operations have their time on every NPU.

    Attributes:
        tiling: The tiling.
        nests: For each distinct shape what every NPU runs.
    """

    tiling: Tiling
    nests: tuple[tuple[TimedNest, ...], ...]

    @property
    def site(self) -> Site:
        """The operator."""
        return self.tiling.site

    @cached_property
    def latency(self) -> Ints:
        """Of every operation on every NPU, sums from zero, in canonical order ``[ops, npus]``."""
        return self._of_operations(lambda item: item.fresh.steady_cycles)

    def _of_operations(self, figure: Callable[[TimedNest], int]) -> Ints:
        """Return a figure of every operation on every NPU, in canonical order ``[ops, npus]``."""
        table = np.array([[figure(item) for item in row] for row in self.nests], np.int64)
        return table[self.tiling.shapes[1]]

    @cached_property
    def problem(self) -> TilingArrays:
        """The arrays, operations in canonical order."""
        tiling, arch = self.tiling, self.site.arch
        size = tiling.tile_bytes
        inputs, weights, accs = tiling.counts
        resident = np.zeros(len(size), np.bool_)
        resident[:inputs] = self.site.resident[Operand.I]
        resident[inputs : inputs + weights] = self.site.resident[Operand.W]
        resident[len(size) - accs :] = self.site.resident[Operand.O]
        keys, tensors = self._parameters()
        slots = self._slots(tensors)
        return TilingArrays(
            capacity=self.site.place.workspace_bytes,
            channels=arch.dma.channels,
            reads=tiling.reads,
            latency=self.latency,
            adding=self._of_operations(lambda item: item.adding.steady_cycles),
            fill=self._of_operations(lambda item: item.fresh.fill_cycles),
            drain=self._of_operations(lambda item: item.fresh.drain_cycles),
            size=size,
            startup=arch.dma.startup,
            sides=1 if arch.off_chip.shared_port else 2,
            xfer=np.where(resident, 0, self._moving(size)),
            resident=resident,
            finish=_mapped(tiling.acc_elements, self._finishing),
            first_acc=inputs + weights,
            params=keys,
            param_bytes=tensors,
            param_xfer=self._moving(tensors),
            slots=slots,
            commute=True,
        )

    def in_order(self, dataflow: Dataflow) -> tuple[TilingArrays, Ints]:
        """Return the arrays with operations in loop order, and that order."""
        order = loop_order(self.tiling, dataflow)
        base = self.problem
        ordered = base._replace(
            reads=base.reads[order],
            latency=base.latency[order],
            adding=base.adding[order],
            fill=base.fill[order],
            drain=base.drain[order],
        )
        return ordered, order

    def _moving(self, size: Ints) -> Ints:
        """Return what moving takes of the off-chip port, start-up left out [cycle]."""
        bandwidth = off_chip_bandwidth(self.site.arch)
        return _mapped(size, lambda count: port_cycles(count, bandwidth))

    def _finishing(self, elements: int) -> int:
        """Return what finishing takes on the vector unit, or at the scratchpad's ports [cycle]."""
        arch, site, ports = self.site.arch, self.site, Ports(self.site.arch)
        read = elements * arch.accumulator_bytes
        written = elements * site.graph.types[site.op.name].dtype.bytes
        work = on_vector_unit(arch, elements, through_scratchpad(ports, 0, read, written))
        return work.lead + work.length(ports.bandwidths)

    def _parameters(self) -> tuple[Ints, Ints]:
        """Return which parameters each accumulator tile needs, and their sizes [byte]."""
        tiling, names = self.tiling, len(self.site.parameters)
        work = self.site.workload
        if 4 * work.G * work.K * names <= self.site.parameter_range[1]:
            whole = np.full((1, names), 4 * work.G * work.K, np.int64)
            return np.zeros(tiling.counts[2], np.int64), whole
        groups, channels = tiling.acc_channels
        sizes = [
            4 * group.size * channel.size
            for group in tiling.ranges[Dim.G]
            for channel in tiling.ranges[Dim.K]
        ]
        bytes = np.repeat(np.array(sizes, np.int64)[:, None], names, axis=1)
        return groups * tiling.trips[Dim.K] + channels, bytes

    def _slots(self, tensors: Ints) -> int:
        if tensors.size == 0:
            return 1
        wanted = int(tensors.max()) * tensors.shape[1]
        return max(1, min(len(tensors), self.site.parameter_range[1] // wanted))


def off_chip_bandwidth(arch: Architecture) -> float | None:
    """Return that of the faster direction of off-chip memory; unbounded if one is [byte/cycle]."""
    off_chip = arch.off_chip
    if off_chip.shared_port or off_chip.read_bandwidth is None or off_chip.write_bandwidth is None:
        return off_chip.read_bandwidth if off_chip.shared_port else None
    return max(off_chip.read_bandwidth, off_chip.write_bandwidth)


def _mapped(values: Ints, function: Callable[[int], int]) -> Ints:
    """Return a function of every value; each distinct one is worked out once."""
    found, inverse = np.unique(values, return_inverse=True)
    table = np.array([function(item) for item in found.tolist()], np.int64)
    return table[inverse].reshape(values.shape) if len(found) else values.copy()


def timed(tiling: Tiling, timer: TileTimer) -> TimedTiling:
    """Return a tiling with the time of its operations."""
    shapes, _ = tiling.shapes
    full = tuple(max(row[k] for row in shapes) for k in range(len(shapes[0])))
    work = tiling.site.workload
    if not tiling.site.resident[Operand.I]:  # tiles have only the rows and columns that are read
        work = in_steps(work, tiling.site.tiler.inputs(next(tiling.boxes(()))))
    return TimedTiling(tiling, tuple(timer.timed(work, full, own) for own in shapes))


def loop_order(tiling: Tiling, dataflow: Dataflow) -> Ints:
    """Return the canonical numbers of operations in the order of a dataflow ``[ops]``."""
    dims: list[Dim] = [Dim.G, Dim.N]
    for name in dataflow.loops:
        dims += LOOPS[name]
    return np.lexsort([tiling.indices[dim] for dim in reversed(dims)]).astype(np.int64)


def unrolled(reads: Ints, npus: int) -> tuple[Ints, Ints]:
    """Return an order with its innermost loop unrolled over the NPUs, and the sets.

    Operations of a set add into different tiles. Where the loops inside of the reduction are too
    short for that, whole accumulations are dealt out in turn, which unrolls the next loop further
    out that changes the output.

    Args:
        reads: Of every operation in loop order ``[ops, 3]``.
        npus: Number of NPUs.
    """
    plain = _greedy_sets(reads[:, 2], npus)
    if len(plain) * npus < len(reads) + npus:  # no order has fewer sets
        return np.arange(len(reads), dtype=np.int64), plain
    dealt = _dealt_out(reads[:, 2], npus)
    groups = _greedy_sets(reads[dealt, 2], npus)
    if len(groups) < len(plain):
        return dealt, groups
    return np.arange(len(reads), dtype=np.int64), plain


def _greedy_sets(accs: Ints, npus: int) -> Ints:
    """Return sizes of sets of neighbours with different accumulators, as large as possible."""
    sizes: list[int] = []
    members: set[int] = set()
    for acc in accs.tolist():
        if acc in members or len(members) == npus:
            sizes.append(len(members))
            members = set()
        members.add(acc)
    return np.array([*sizes, len(members)], np.int64)


def _dealt_out(accs: Ints, npus: int) -> Ints:
    """Return the order that interleaves the accumulations of ``npus`` tiles at a time."""
    chains: dict[int, list[int]] = {}
    for number, acc in enumerate(accs.tolist()):
        chains.setdefault(acc, []).append(number)
    every: Sequence[list[int]] = list(chains.values())
    order: list[int] = []
    for first in range(0, len(every), npus):
        rows = itertools.zip_longest(*every[first : first + npus])
        order += [number for row in rows for number in row if number is not None]
    return np.array(order, np.int64)
