"""What tiles cost beyond the cost model, over arrays of nests.

The cost model charges bytes; machines charge instructions and transfers as well. A nest is cut
into operations of the MAC array, one instruction each (see ``passes/tiling/mac.py``), and:

- every transfer to or from off-chip memory takes the start-up of its DMA channel;
- every finished accumulation takes the vector unit, which has a start-up of its own, and the
  scratchpad's ports;
- between operations some cycles go by, for durations are whole and engines wait for each other;
- an operation fills its buffers once the sums that lay in the place of its own ones are finished;
- several NPUs share the off-chip port, and whole accumulations are dealt out to them, so the last
  round may leave some of them idle.

``estimate`` is an estimate: it tells many small tiles from few large ones, which cost the same in
the cost model.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import OPERANDS, RELEVANT, Dim, Operand
from .batch import BatchCost, evaluate_batch
from .kernel.cutting import Cuts, fill_cuts
from .kernel.estimating import Estimates, Operations, fill_estimates
from .kernel.transfers import TileTransfers, fill_transfers
from .nest_batch import Bools, Floats, Ints, NestBatch, columns_of, in_rows
from .tile_setting import TileSetting, tile_setting

_TOGETHER = 2
"""NPUs that work at a time where each window of a pool lies in tiles of several."""

TRAFFIC_PRICE = 0.05
"""What a cycle of transfers mostly counts as.

Of two ways that take as long, the one that moves less leaves the channels to its neighbours.
"""

PORT_PRICE = 0.3
"""What a cycle of the scratchpad's ports counts as in stripes, beside the array's [cycle].

The vector unit and copies of other members use these ports while the array works.
"""


@dataclass(frozen=True)
class TileBatch:
    """The tiles of many nests.

    Attributes:
        batch: The nests.
        arch: The machine that one NPU sees, with its share of the off-chip bandwidth.
        placement: Operands that lie whole in the scratchpad.
        npus: Number of NPUs.
        kept_weights: Of what a stripe of a fused group makes of an operator: bytes of the weights'
            memory that its weights may take from stripe to stripe; ``None``: it is no such part.
        first_tile: Where all weights remain from stripe to stripe, which part of what bringing one
            tile of them takes is counted in a stripe: nothing hides the first one of a group.
        traffic_price: What a cycle of transfers counts as, beside the latency that it may hide in
            [cycle].
        windows: Rows and columns of the windows of a pool that finishes the tiles.
    """

    batch: NestBatch
    arch: Architecture
    placement: frozenset[Operand]
    npus: int = 1
    kept_weights: int | None = None
    first_tile: float = 0.0
    traffic_price: float = TRAFFIC_PRICE
    windows: tuple[int, int] = (1, 1)

    @cached_property
    def _setting(self) -> TileSetting:
        """What all of them find alike."""
        batch = self.batch
        return tile_setting(
            batch.workload,
            self.arch,
            tuple([batch.levels[operand] for operand in OPERANDS]),
            batch.unrollings,
            self.placement,
            self.npus,
            self.kept_weights,
            self.first_tile,
        )

    @cached_property
    def cuts(self) -> Cuts:
        """Where nests are cut into operations."""
        batch, count = self.batch, len(self.batch)
        W, I, O = (in_rows(batch.starts[operand]) for operand in OPERANDS)  # noqa: E741
        found = Cuts(
            home=np.empty((len(OPERANDS), count), np.int64),
            accumulators=np.empty(count, np.int64),
            boundary=np.empty(count, np.int64),
            is_inside=np.empty(count, np.bool_),
            spills_sums=np.empty(count, np.bool_),
            operations=np.empty(count, np.int64),
            accumulations=np.empty(count, np.int64),
        )
        outputs = columns_of(RELEVANT[Operand.O])
        fill_cuts(batch.loops, outputs, self._setting.columns, (W, I, O), found)
        return found

    @property
    def operations(self) -> Ints:
        """Operations of the MAC array, ``[B]``."""
        return self.cuts.operations

    @property
    def accumulations(self) -> Ints:
        """Accumulations that are finished by the vector unit, ``[B]``."""
        return self.cuts.accumulations

    # -- the array -----------------------------------------------------------------------------

    @cached_property
    def operation(self) -> Operations:
        """What one operation takes."""
        found = Operations(*(np.empty(len(self.batch)) for _ in range(3)))
        for rows, cost in self._operation_costs:
            found.cycles[rows] = np.ceil(cost.steady_cycles)
            found.ends[rows] = cost.fill_cycles + cost.drain_cycles
            found.ports[rows] = cost.busy_cycles(self.arch.scratchpad)
        return found

    @cached_property
    def _operation_costs(self) -> tuple[tuple[Ints | slice, BatchCost], ...]:
        """Nests whose sums remain in the array, and others, with the cost of one operation each."""
        is_inside = self.cuts.is_inside
        if is_inside.all() or not is_inside.any():
            return ((slice(None), self._operation_cost(slice(None), inside=bool(is_inside[0]))),)
        groups = ((np.flatnonzero(is_inside == inside), inside) for inside in (True, False))
        return tuple((rows, self._operation_cost(rows, inside=inside)) for rows, inside in groups)

    def _operation_cost(self, rows: Ints | slice, *, inside: bool) -> BatchCost:
        """Return what one operation of some nests costs if sums remain in the array, or leave it.

        They are as wide as accumulators: finishing them is another instruction's work.
        """
        place: Ints = np.arange(self.batch.extents.shape[1], dtype=np.int64)
        outside: Bools = place < self.cuts.boundary[rows][:, None]
        levels: dict[Operand, tuple[str, ...]] = {}
        starts: dict[Operand, Ints] = {}
        for operand in Operand:
            first, levels[operand] = self._setting.from_home(operand)
            if operand is Operand.O and inside:
                levels[operand] = self.batch.levels[operand][-1:]
                first = len(self.batch.levels[operand])
            inner = self.batch.starts[operand][rows, first:]
            source = np.zeros((len(inner), len(levels[operand]) - inner.shape[1]), np.int64)
            starts[operand] = np.concatenate((source, inner), axis=1)
        batch = replace(
            self.batch,
            workload=self._setting.operation,
            dims=self.batch.dims[rows],
            extents=np.where(outside, 1, self.batch.extents[rows]),
            which=self.batch.which[rows],
            levels=levels,
            starts=starts,
        )
        return evaluate_batch(batch, self.arch)

    # -- transfers -----------------------------------------------------------------------------

    @cached_property
    def transfers(self) -> TileTransfers:
        """What comes and goes off chip."""
        count = len(self.batch)
        found = TileTransfers(
            bytes=np.empty((len(OPERANDS), count), np.int64),
            sums=np.empty(count, np.int64),
            weights=np.empty(count, np.int64),
            modelled=np.empty((2, count), np.int64),
            loads=np.empty((2, 2, count), np.int64),
            outputs=np.empty(count, np.int64),
            parameters=np.empty(count, np.int64),
        )
        fill_transfers(
            self.batch.loops, self.cuts, self._setting.capacities, self._setting.sizes, found
        )
        return found

    @property
    def weights_bytes(self) -> Ints:
        """Bytes of their memory that all weights take, ``[B]``."""
        return self.transfers.weights

    # -- all together --------------------------------------------------------------------------

    def estimates(self, cost: BatchCost) -> Estimates:
        """Return what the tiles take.

        Args:
            cost: What the cost model says of the nests.
        """
        count, own = len(self.batch), self.operation
        found = Estimates(np.empty(count), np.empty(count), np.empty(count))
        ends = own.ends if self._is_in_stripes else cost.fill_cycles + cost.drain_cycles
        fill_estimates(
            self.batch.loops.which,
            self._side_by_side,
            self.cuts,
            self.transfers,
            own,
            cost.offchip_bytes,
            ends,
            self._setting.engines,
            found,
        )
        return found

    def estimate(self, cost: BatchCost) -> Floats:
        """Return the latency of one NPU that does all the work, tiles charged [cycle], ``[B]``."""
        return self.estimates(cost).latency

    def price(self, cost: BatchCost) -> Floats:
        """Return the estimate, and a little of what transfers take [cycle], ``[B]``.

        Args:
            cost: What the cost model says of the nests.
        """
        found = self.estimates(cost)
        price = found.latency + self.traffic_price * found.channel
        if self._is_in_stripes:
            price = price + PORT_PRICE * self.operations * self.operation.ports
        return price

    @property
    def _side_by_side(self) -> Ints:
        """How many NPUs work at a time, ``[B]``: few where a pool waits for several of them."""
        if self.windows == (1, 1):
            return np.full(len(self.batch), self.npus)
        dims = self.batch.workload.dims
        is_torn = np.zeros(len(self.batch), np.bool_)
        for dim, extent in zip((Dim.P, Dim.Q), self.windows, strict=True):
            size = self.batch.sizes(frozenset({dim}), self.cuts.accumulators)
            size = size * self.batch.unrolled_in(dims=(dim,))
            is_torn |= (size % extent != 0) & (size < dims[dim])
        return np.where(is_torn, min(self.npus, _TOGETHER), self.npus)

    @property
    def _is_in_stripes(self) -> bool:
        return self.kept_weights is not None
