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

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import REDUCTION, RELEVANT, Dim, Operand
from .batch import BatchCost, evaluate_batch
from .counts import bytes_from
from .nest_batch import Bools, Floats, Ints, NestBatch, Turns

_PER_OPERATION = 2.0
"""Cycles that go by between two operations."""

_PLACES = 2
"""Places for sums in the array at least: they take half of their memory at most."""

_SPILLING = 2.0
"""How much longer it takes where sums are spilled: transfers to and fro wait for each other."""

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

_PARAMETERS = frozenset({Dim.G, Dim.K})
_PARAMETER_BYTES = 4
_PARAMETER_TENSORS = 2
"""Bias and multiplier."""


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
    def _outputs(self) -> Turns:
        return self.batch.turns(Operand.O)

    def _home(self, operand: Operand) -> Ints:
        """Where the outermost on-chip tile starts; 0 for what is resident, ``[B]``."""
        starts = self.batch.starts[operand]
        if operand in self.placement or starts.shape[1] < 2:
            return np.zeros(len(self.batch), np.int64)
        return starts[:, 1]

    @cached_property
    def _accumulators(self) -> Ints:
        """Where the tile of accumulators starts, ``[B]``."""
        return self._outputs.behind(self.batch.starts[Operand.O][:, -1])

    @cached_property
    def _is_inside(self) -> Bools:
        """Whether outputs are completed below the scratchpad, ``[B]``."""
        below = [
            at
            for at, level in enumerate(self.batch.levels[Operand.O])
            if self.arch.index(level) > self.arch.index(self.arch.scratchpad)
        ]
        if not below:
            return np.zeros(len(self.batch), np.bool_)
        outer = self._outputs.behind(self.batch.starts[Operand.O][:, below[0]])
        return self.batch.reductions.tiles(outer) == 1

    @cached_property
    def _spills_sums(self) -> Bools:
        """Whether sums go off chip before they are complete, ``[B]``."""
        outer = self._outputs.behind(self._home(Operand.O))
        return self.batch.reductions.tiles(outer) > 1

    @cached_property
    def _boundary(self) -> Ints:
        """First loop that is left to an instruction, ``[B]``."""
        outer = np.maximum(self._home(Operand.W), self._home(Operand.I))
        ends = np.where(self._is_inside, self._accumulators, self._home(Operand.O))
        return np.maximum(outer, ends)

    @cached_property
    def operations(self) -> Ints:
        """Operations of the MAC array, ``[B]``."""
        return self.batch.at(self.batch.prefix, self._boundary)

    @cached_property
    def accumulations(self) -> Ints:
        """Accumulations that are finished by the vector unit, ``[B]``."""
        inside = self.batch.at(self.batch.prefix, self._accumulators)
        return np.where(self._is_inside, inside, self._outputs.tiles(self._boundary))

    def _parameter_transfers(self) -> Ints:
        dims = self.batch.workload.dims
        size = _PARAMETER_BYTES * _PARAMETER_TENSORS * dims[Dim.G] * dims[Dim.K]
        if size <= self.arch.vector.parameter_bytes // 2:
            return np.full(len(self.batch), _PARAMETER_TENSORS, np.int64)
        ends = np.where(self._is_inside, self._accumulators, self._boundary)
        return _PARAMETER_TENSORS * Turns(self.batch, _PARAMETERS).visits(ends)

    # -- the array -----------------------------------------------------------------------------

    @cached_property
    def operation_cycles(self) -> Floats:
        """Duration of one whole operation behind another one [cycle], ``[B]``."""
        return np.ceil(self._by_home(lambda cost: cost.steady_cycles))

    @cached_property
    def _fill_cycles(self) -> Floats:
        """What a first operation takes to fill its buffers, and a last one to drain, ``[B]``."""
        return self._by_home(lambda cost: cost.fill_cycles + cost.drain_cycles)

    def _by_home(self, figure: Callable[[BatchCost], Floats]) -> Floats:
        """Return a figure of one operation, whether its sums remain in the array or leave it."""
        found = np.empty(len(self.batch))
        for rows, cost in self._operation_costs:
            found[rows] = figure(cost)
        return found

    @cached_property
    def _operation_costs(self) -> tuple[tuple[Ints, BatchCost], ...]:
        """Nests whose sums remain in the array, and others, with the cost of one operation each."""
        groups = ((np.flatnonzero(self._is_inside == inside), inside) for inside in (True, False))
        return tuple(
            (rows, self._operation_cost(rows, inside=inside))
            for rows, inside in groups
            if len(rows)
        )

    def _operation_cost(self, rows: Ints, *, inside: bool) -> BatchCost:
        """Return what one operation of some nests costs if sums remain in the array, or leave it.

        They are as wide as accumulators: finishing them is another instruction's work.
        """
        place: Ints = np.arange(self.batch.extents.shape[1], dtype=np.int64)
        outside: Bools = place < self._boundary[rows][:, None]
        levels: dict[Operand, tuple[str, ...]] = {}
        starts: dict[Operand, Ints] = {}
        for operand in Operand:
            first, levels[operand] = self._from_home(operand)
            if operand is Operand.O and inside:
                levels[operand] = self.batch.levels[operand][-1:]
                first = len(self.batch.levels[operand])
            inner = self.batch.starts[operand][rows, first:]
            source = np.zeros((len(rows), len(levels[operand]) - inner.shape[1]), np.int64)
            starts[operand] = np.concatenate((source, inner), axis=1)
        width = 8 * self.arch.accumulator_bytes
        batch = replace(
            self.batch,
            workload=replace(self.batch.workload, output_bits=width),
            dims=self.batch.dims[rows],
            extents=np.where(outside, 1, self.batch.extents[rows]),
            which=self.batch.which[rows],
            levels=levels,
            starts=starts,
        )
        return evaluate_batch(batch, self.arch)

    def _from_home(self, operand: Operand) -> tuple[int, tuple[str, ...]]:
        """Return which levels lie beneath the home of an operand, and it with all of them."""
        levels, pad = self.batch.levels[operand], self.arch.scratchpad
        first = 1
        if operand in self.arch.scratchpad_level.holds:
            first += pad in levels
            return first, (pad, *levels[first:])
        if len(levels) == 1:
            return 1, (self.arch.home(operand).name,)
        return 2, levels[1:]

    # -- transfers -----------------------------------------------------------------------------

    def _bytes_of(self, operand: Operand, fanouts: Collection[str]) -> Ints:
        """Return the bytes of tiles from each position, unrolled over fan-outs, ``[B, L + 1]``."""
        return bytes_from(self.batch, operand, fanouts, self.batch.workload.bits(operand))

    @cached_property
    def _bytes(self) -> Mapping[Operand, Ints]:
        """Bytes of a tile that starts at each position, outputs finished, ``[B, L + 1]``."""
        everywhere = [fanout.name for fanout in self.arch.fanouts]
        return {operand: self._bytes_of(operand, everywhere) for operand in Operand}

    def _tile_bytes(self, operand: Operand) -> Ints:
        return self.batch.at(self._bytes[operand], self._home(operand))

    @cached_property
    def _occupied(self) -> Mapping[Operand, Ints]:
        """Bytes of its memory that a tile from each position takes, ``[B, L + 1]``.

        In a memory of the array it takes its largest part in every instance.
        """
        memory = self._memory(Operand.W)
        if memory == self.arch.scratchpad:
            return self._bytes
        beneath = [fanout.name for fanout in self.arch.fanouts_beneath(memory)]
        part = self._bytes_of(Operand.W, beneath) * self.arch.instances(memory)
        return {**self._bytes, Operand.W: part}

    @property
    def weights_bytes(self) -> Ints:
        """Bytes of their memory that all weights take, ``[B]``."""
        return self._occupied[Operand.W][:, 0]

    def _occupied_bytes(self, operand: Operand) -> Ints:
        return self.batch.at(self._occupied[operand], self._home(operand))

    def _memory(self, operand: Operand) -> str:
        home = self.arch.home(operand).name
        return home if operand is Operand.W else self.arch.scratchpad

    def _capacity(self, memory: str) -> int:
        if memory == self.arch.scratchpad:
            return (self.arch.level(memory).capacity or 0) * self.npus
        return self.arch.whole_capacity(memory)

    @property
    def _in_flight(self) -> int:
        """How many tiles of an operand are in use or on their way: one per NPU, and the next."""
        return self.npus + 1

    def _kept_from(self, operand: Operand, spare: Ints) -> Ints:
        """Return from which loop on all tiles of an operand remain in ``spare`` bytes, ``[B]``."""
        fits = self._occupied[operand] <= spare[:, None]
        first = np.where(fits.any(axis=1), fits.argmax(axis=1), 1 << 30)
        return np.minimum(first, self._home(operand))

    def _loads(self, operand: Operand, kept: Ints) -> Ints:
        """Return how often a tile is loaded if those inside of a loop remain, ``[B]``."""
        turns = self.batch.turns(operand)
        within = turns.tiles(self._home(operand)) // turns.tiles(kept)
        return self._shared(turns, kept, turns.visits(kept) * within)

    def _shared(self, turns: Turns, kept: Ints, loads: Ints) -> Ints:
        """Return how often tiles are loaded if NPUs side by side need the same ones.

        Accumulations that follow each other are dealt out. Where loops just outside of them leave
        an operand as it is, all that run at a time go through the same tiles of it. What loops
        further out would let some of them share is left out: searches that saw it ended earlier.

        Args:
            turns: The loops that change the operand's tile.
            kept: Where the tiles that remain start.
            loads: How often each NPU by itself would load one.
        """
        if self.npus == 1:
            return loads
        inside = self._accumulators
        alike = self.batch.at(self.batch.prefix, inside) // turns.visits(inside)
        is_shared = self._is_inside & (turns.behind(kept) > inside)
        return np.where(is_shared, loads * -(-alike // self.npus) // alike, loads)

    def _streamed(self) -> tuple[Operand, ...]:
        return tuple(item for item in (Operand.W, Operand.I) if item not in self.placement)

    def _spare(self, memory: str) -> Ints:
        """Return the bytes of a memory that tiles in flight leave, ``[B]``."""
        spare = np.full(len(self.batch), self._capacity(memory), np.int64)
        for operand in Operand:
            if operand not in self.placement and self._memory(operand) == memory:
                spare = spare - self._in_flight * self._occupied_bytes(operand)
        return spare

    def _ways(self) -> Iterator[Mapping[Operand, Ints]]:
        """Yield how often tiles are loaded if capacity is first left to one, or the other operand.

        The scheduler keeps a tile that is used again as long as it fits; what loops over
        it further out then costs nothing.
        """
        streamed = self._streamed()
        for order in dict.fromkeys((streamed, streamed[::-1])):
            spare = {self._memory(item): self._spare(self._memory(item)) for item in order}
            loads: dict[Operand, Ints] = {}
            for operand in order:
                if operand is Operand.W and self.kept_weights is not None:
                    loads[operand] = self._loads_beside_stripes(self.kept_weights)
                    continue
                memory = self._memory(operand)
                own = self._in_flight * self._occupied_bytes(operand)
                kept = self._kept_from(operand, spare[memory] + own)
                taken = self.batch.at(self._occupied[operand], kept) - own
                spare[memory] = spare[memory] - np.maximum(0, taken)
                loads[operand] = self._loads(operand, kept)
            yield loads

    def _loads_beside_stripes(self, capacity: int) -> Ints:
        """Return how often a tile of weights is loaded in each stripe: not at all where all remain.

        Args:
            capacity: What all tiles of weights may take [byte].
        """
        loads = self._loads(Operand.W, self._home(Operand.W))
        return np.where(self.weights_bytes <= capacity, 0, loads)

    def _weights_cycles(self) -> Floats:
        """Return what moving weights adds to what a stripe takes, ``[B]``.

        Those that do not remain from stripe to stripe count whole: groups are there to move less,
        so that bytes count even where time hides them.
        """
        bandwidth = self.arch.off_chip.read_bandwidth
        if self.kept_weights is None or bandwidth is None:
            return np.zeros(len(self.batch))
        loads = self._loads_beside_stripes(self.kept_weights)
        counted = np.where(loads == 0, self.first_tile, loads)
        return counted * self._tile_bytes(Operand.W) / bandwidth

    def _channel_cycles(self, cost: BatchCost) -> Floats:
        dma, bandwidth = self.arch.dma, self.arch.off_chip.read_bandwidth
        startup = dma.startup * self.npus / dma.channels
        others = cost.offchip_bytes
        count = self._parameter_transfers()
        for operand in self._streamed():
            model = self.batch.turns(operand).visits(self._home(operand))
            others = others - model * self._tile_bytes(operand)
        if Operand.O not in self.placement:
            count = count + self._outputs.tiles(self._home(Operand.O))
        best = np.full(len(self.batch), np.inf)
        for loads in self._ways():
            size, many = np.maximum(others, 0.0), count
            for operand, times in loads.items():
                size, many = size + times * self._tile_bytes(operand), many + times
            moving = 0.0 if bandwidth is None else size / bandwidth
            best = np.minimum(best, moving + many * startup)
        return best

    @property
    def vector_cycles(self) -> Floats:
        """Return what finishing takes of lanes, or of scratchpad ports [cycle], ``[B]``."""
        pad, elements = self.arch.scratchpad_level, self.batch.workload.elements(Operand.O)
        written = elements * self.batch.workload.bits(Operand.O) / 8
        read = np.where(self._is_inside, 0, elements * self.arch.accumulator_bytes)
        if pad.shared_port:
            read, written = read + written, 0.0
        slowest = np.full(len(self.batch), elements / self.arch.vector.lanes)
        for size, bandwidth in ((read, pad.read_bandwidth), (written, pad.write_bandwidth)):
            if bandwidth is not None:
                slowest = np.maximum(slowest, size / bandwidth)
        if self._is_in_stripes:
            return np.where(self._is_inside, np.maximum(slowest, self._leaving_cycles()), slowest)
        return slowest

    def _leaving_cycles(self) -> Floats:
        """Return what sums take of accumulators and links on their way out [cycle], ``[B]``.

        Neighbours that reduce the same outputs send all of their sums; what no longer has to be
        added to others leaves as wide as outputs are. The vector unit is that slow in stripes
        alone: elsewhere it is hidden but for the place that sums wait for, and the search for
        nests found no better ones with it.
        """
        work = self.batch.workload
        home = self.arch.level(self.batch.levels[Operand.O][-1])
        finished, wide = work.output_bits / 8, self.arch.accumulator_bytes
        elements = np.full(len(self.batch), float(work.elements(Operand.O)))
        joined = np.ones(len(self.batch), np.int64)
        slowest = np.zeros(len(self.batch))
        for fanout in self.arch.fanouts_above(home.name):
            elements = elements / self.batch.unrolled_in((fanout.name,), RELEVANT[Operand.O])
            joined = joined * self.batch.unrolled_in((fanout.name,), REDUCTION)
            if fanout.link_bandwidth is not None:
                size = elements * np.where(joined == 1, finished, wide)
                slowest = np.maximum(slowest, size / fanout.link_bandwidth)
        if home.read_bandwidth is not None:
            slowest = np.maximum(slowest, elements * wide / home.read_bandwidth)
        return slowest

    # -- all together --------------------------------------------------------------------------

    def estimate(self, cost: BatchCost) -> Floats:
        """Return the latency of one NPU that does all the work, tiles charged [cycle], ``[B]``."""
        return self._estimate(cost, self._channel_cycles(cost))

    def _estimate(self, cost: BatchCost, channel: Floats) -> Floats:
        """Return the estimate, given what transfers take."""
        finishing = self.accumulations * self.arch.vector.startup + self.vector_cycles
        rounds = -(-self.accumulations // self._side_by_side)
        imbalance = rounds * self.npus / self.accumulations
        computing = self.operations * self.operation_cycles
        # Both need the ports and the bytes of sums in the scratchpad; in a stripe somebody waits.
        in_turn = ~self._is_inside | self._is_in_stripes
        beside = np.maximum(computing, finishing)
        if not self._is_in_stripes:
            beside = np.maximum(beside, self._in_few_places(computing))
        busy = np.where(in_turn, computing + finishing, beside) * imbalance
        slowest: Floats = np.maximum(busy, channel)
        steady = np.where(self._spills_sums, _SPILLING * slowest, slowest)
        filling = cost.fill_cycles + cost.drain_cycles
        if self._is_in_stripes:
            filling = self._fill_cycles + self._weights_cycles()
        return steady + filling + _PER_OPERATION * self.operations

    def _in_few_places(self, computing: Floats) -> Floats:
        """Return what it takes that sums in the array have few places [cycle], ``[B]``.

        An operation fills its buffers once the sums that lay in its place are finished: while
        those of all other places are made.

        Args:
            computing: What all operations take [cycle].
        """
        home = self.arch.level(self.batch.levels[Operand.O][-1])
        fanouts = [fanout.name for fanout in self.arch.fanouts_beneath(home.name)]
        width = 8 * self.arch.accumulator_bytes
        sizes = bytes_from(self.batch, Operand.O, fanouts, width)
        places = (home.capacity or 0) // self.batch.at(sizes, self._accumulators)
        ends = self._fill_cycles + self.arch.vector.startup
        in_all = computing + self._leaving_cycles() + self.accumulations * ends
        return np.where(self._is_inside, in_all / np.maximum(_PLACES, places), 0.0)

    def price(self, cost: BatchCost) -> Floats:
        """Return the estimate, and a little of what transfers take [cycle], ``[B]``.

        Args:
            cost: What the cost model says of the nests.
        """
        channel = self._channel_cycles(cost)
        price = self._estimate(cost, channel) + self.traffic_price * channel
        if self._is_in_stripes:
            price = price + PORT_PRICE * self.operations * self._port_cycles
        return price

    @property
    def _side_by_side(self) -> Ints | int:
        """How many NPUs work at a time, ``[B]``: few where a pool waits for several of them."""
        if self.windows == (1, 1):
            return self.npus
        dims = self.batch.workload.dims
        is_torn = np.zeros(len(self.batch), np.bool_)
        for dim, extent in zip((Dim.P, Dim.Q), self.windows, strict=True):
            size = self.batch.sizes(frozenset({dim}), self._accumulators)
            size = size * self.batch.unrolled_in(dims=(dim,))
            is_torn |= (size % extent != 0) & (size < dims[dim])
        return np.where(is_torn, min(self.npus, _TOGETHER), self.npus)

    @cached_property
    def _port_cycles(self) -> Floats:
        """How long one operation takes of the scratchpad's ports [cycle], ``[B]``."""
        return self._by_home(lambda cost: cost.busy_cycles(self.arch.scratchpad))

    @property
    def _is_in_stripes(self) -> bool:
        return self.kept_weights is not None
