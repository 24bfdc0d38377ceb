"""What a machine offers to the tiles of a workload; all nests of a search find the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from ....ir.arch import Architecture, Fanout, MemoryLevel
from ....ir.workload import OPERANDS, REDUCTION, RELEVANT, Dim, Operand, Workload
from ..bounds import port_cycles
from ..flows import Chains
from .kernel.cutting import StartColumns
from .kernel.estimating import EngineFigures
from .kernel.transfers import Sizes, TileCapacities
from .nest_batch import Floats, Ints, columns_of, shapes_of
from .unrollings import Unrollings

_PARAMETERS = frozenset({Dim.G, Dim.K})
_PARAMETER_BYTES = 4
_PARAMETER_TENSORS = 2
"""Bias and multiplier."""


@dataclass(frozen=True, kw_only=True)
class TileSetting:
    """Where tiles of a workload lie, and who works on them; see :class:`.tile_batch.TileBatch`.

    Attributes:
        workload: What is computed.
        arch: The machine that one NPU sees.
        chains: Memories that keep W, I and O, outermost first.
        unrollings: Ways to unroll.
        placement: Operands that lie whole in the scratchpad.
        npus: Number of NPUs.
        kept_weights: Bytes that weights may take from stripe to stripe; ``None``: no stripes.
        first_tile: Which part of bringing the first tile of weights counts in a stripe.
    """

    workload: Workload
    arch: Architecture
    chains: Chains
    unrollings: Unrollings
    placement: frozenset[Operand]
    npus: int
    kept_weights: int | None
    first_tile: float

    @cached_property
    def levels(self) -> Mapping[Operand, tuple[str, ...]]:
        """Memories that keep each operand, outermost first."""
        return dict(zip(OPERANDS, self.chains, strict=True))

    @cached_property
    def operation(self) -> Workload:
        """What operations of the array compute: sums, which another instruction finishes."""
        return replace(self.workload, output_bits=8 * self.arch.accumulator_bytes)

    @cached_property
    def columns(self) -> StartColumns:
        """Which starts of tiles matter where nests are cut."""
        levels, arch = self.levels, self.arch
        W, I, O = map(self._column_of_home, OPERANDS)  # noqa: E741
        pad = arch.index(arch.scratchpad)
        below = (at for at, name in enumerate(levels[Operand.O]) if arch.index(name) > pad)
        return StartColumns((W, I, O), next(below, -1))

    def _column_of_home(self, operand: Operand) -> int:
        """Return which start is that of the outermost on-chip tile; -1: all of it lies there."""
        return -1 if operand in self.placement or len(self.levels[operand]) < 2 else 1

    @cached_property
    def capacities(self) -> TileCapacities:
        """What tiles may take on chip."""
        arch, memory = self.arch, self.arch.home(Operand.W).name
        pad = (arch.scratchpad_level.capacity or 0) * self.npus
        are_one = memory == arch.scratchpad
        return TileCapacities(
            npus=self.npus,
            streamed=np.array([operand not in self.placement for operand in OPERANDS]),
            capacity=np.array([pad if are_one else arch.whole_capacity(memory), pad], np.int64),
            are_one=are_one,
            instances=1 if are_one else arch.instances(memory),
            kept_weights=-1 if self.kept_weights is None else self.kept_weights,
            parameters=_PARAMETER_TENSORS,
            parameter_dims=columns_of(self._parameter_dims),
        )

    @property
    def _parameter_dims(self) -> frozenset[Dim]:
        """Where other parameters come: nowhere if tiles may take all of them."""
        dims = self.workload.dims
        size = _PARAMETER_BYTES * _PARAMETER_TENSORS * dims[Dim.G] * dims[Dim.K]
        return frozenset() if size <= self.arch.vector.parameter_bytes // 2 else _PARAMETERS

    @cached_property
    def sizes(self) -> Sizes:
        """What makes tiles large, finished outputs at their own width."""
        arch, work = self.arch, self.workload
        memory, every = arch.home(Operand.W).name, arch.fanouts
        beneath = every if memory == arch.scratchpad else arch.fanouts_beneath(memory)
        widths = (*map(work.bits, OPERANDS), 8 * arch.accumulator_bytes)
        return Sizes(
            shapes=shapes_of(work, OPERANDS),
            bits=np.array(widths, np.int64),
            everywhere=self._unrolled_over(every),
            weights=self._unrolled_over(beneath),
            sums=self._unrolled_over(arch.fanouts_beneath(self._home_of_sums.name)),
        )

    def _unrolled_over(self, fanouts: Iterable[Fanout]) -> Ints:
        return self.unrollings.over([fanout.name for fanout in fanouts])

    @property
    def _home_of_sums(self) -> MemoryLevel:
        """The innermost memory of the outputs."""
        return self.arch.level(self.levels[Operand.O][-1])

    @cached_property
    def engines(self) -> EngineFigures:
        """What beside the array works on tiles."""
        arch = self.arch
        bandwidth = arch.off_chip.read_bandwidth
        W, I, O = (operand not in self.placement for operand in OPERANDS)  # noqa: E741
        return EngineFigures(
            npus=self.npus,
            transfer_startup=arch.dma.startup * self.npus / arch.dma.channels,
            bandwidth=np.inf if bandwidth is None else float(bandwidth),
            streamed=(W, I, O),
            vector_startup=arch.vector.startup,
            finishing=self._finishing_cycles,
            leaving=self._leaving_cycles(),
            places=self._home_of_sums.capacity or 0,
            is_in_stripes=self.kept_weights is not None,
            first_tile=float(self.first_tile),
        )

    @property
    def _finishing_cycles(self) -> tuple[float, float]:
        """What finishing takes of lanes or of scratchpad ports [cycle].

        Where sums leave the array, and where they are completed there.
        """
        pad, elements = self.arch.scratchpad_level, self.workload.elements(Operand.O)
        written = elements * self.workload.bits(Operand.O) / 8
        outside, inside = (
            max(elements / self.arch.vector.lanes, port_cycles(pad, read, written))
            for read in (elements * self.arch.accumulator_bytes, 0)
        )
        return outside, inside

    def _leaving_cycles(self) -> Floats:
        """Return what sums take of accumulators and links on their way out [cycle], ``[U]``.

        Neighbours that reduce the same outputs send all of their sums; what no longer has to be
        added to others leaves as wide as outputs are. The vector unit is that slow in stripes
        alone: elsewhere it is hidden but for the place that sums wait for, and the search for
        nests found no better ones with it.
        """
        work, ways, home = self.workload, self.unrollings, self._home_of_sums
        finished, wide = work.output_bits / 8, self.arch.accumulator_bytes
        elements = np.full(len(ways), float(work.elements(Operand.O)))
        joined = np.ones(len(ways), np.int64)
        slowest = np.zeros(len(ways))
        for fanout in self.arch.fanouts_above(home.name):
            elements = elements / ways.steps((fanout.name,), RELEVANT[Operand.O])
            joined = joined * ways.steps((fanout.name,), REDUCTION)
            if fanout.link_bandwidth is not None:
                size = elements * np.where(joined == 1, finished, wide)
                slowest = np.maximum(slowest, size / fanout.link_bandwidth)
        if home.read_bandwidth is not None:
            slowest = np.maximum(slowest, elements * wide / home.read_bandwidth)
        return slowest

    def from_home(self, operand: Operand) -> tuple[int, tuple[str, ...]]:
        """Return which levels lie beneath the home of an operand, and it with all of them."""
        levels, pad = self.levels[operand], self.arch.scratchpad
        first = 1
        if operand in self.arch.scratchpad_level.holds:
            first += pad in levels
            return first, (pad, *levels[first:])
        if len(levels) == 1:
            return 1, (self.arch.home(operand).name,)
        return 2, levels[1:]


@lru_cache(maxsize=64)
def tile_setting(
    workload: Workload,
    arch: Architecture,
    chains: Chains,
    unrollings: Unrollings,
    placement: frozenset[Operand],
    npus: int,
    kept_weights: int | None,
    first_tile: float,
) -> TileSetting:
    """Return a setting, the same one as long as nothing is new; see :class:`TileSetting`.

    Args:
        workload: What is computed.
        arch: The machine that one NPU sees.
        chains: Memories that keep W, I and O, outermost first.
        unrollings: Ways to unroll.
        placement: Operands that lie whole in the scratchpad.
        npus: Number of NPUs.
        kept_weights: Bytes that weights may take from stripe to stripe; ``None``: no stripes.
        first_tile: Which part of bringing the first tile of weights counts in a stripe.
    """
    return TileSetting(
        workload=workload,
        arch=arch,
        chains=chains,
        unrollings=unrollings,
        placement=placement,
        npus=npus,
        kept_weights=kept_weights,
        first_tile=first_tile,
    )
