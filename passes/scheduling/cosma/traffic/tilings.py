"""All tilings of an operator of the MAC array, and the least that they move off chip.

Half of a workspace holds the tiles of one phase, the other half those that come or go. Outputs are
finished where they accumulate and written once; inputs are fetched again per tile of output
channels, or weights per tile of the image, whichever order of loops moves less. Tile extents are
halvings of the dimensions.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .....ir.arch import Architecture
from .....ir.graph import Graph, Op
from .....ir.workload import Operand, Workload
from .model import StreamedTraffic

_Bytes: TypeAlias = NDArray[np.float64]


class OperatorTilings:
    """All tilings of one operator on the MAC array, as arrays.

    Args:
        graph: The network.
        op: The operator.
        nest: Its extents.
        arch: The machine.
        comfortable: Workspace below which nothing is saved that matters [byte].
    """

    def __init__(
        self, graph: Graph, op: Op, nest: Workload, arch: Architecture, comfortable: int
    ) -> None:
        self._comfortable = comfortable
        self._graph = graph
        self._names = {
            Operand.I: op.operands[0],
            Operand.W: op.operands[1],
            Operand.O: op.result.name,
        }
        others = {name: graph.types[name].bytes for name in op.operands[2:] if name}
        self._others = sum(others[name] for name in others if graph.is_constant(name))
        self._computed = [item for item in others.items() if not graph.is_constant(item[0])]
        self._nest = nest
        self._weights_pass = Operand.W in arch.scratchpad_level.holds
        home = arch.home(Operand.W)
        self._near_weights = (home.usable or 0) * arch.instances(home.name)
        self._psum_bytes = -(-arch.accumulator_bits // 8)
        self._splits = _splits(nest)
        self._cycles = -(-nest.macs // arch.all_macs)

    def best(self, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        """Return the least traffic of any tiling whose tiles fit the workspace twice."""
        streamed = [role for role, name in self._names.items() if name not in resident]
        room = np.zeros_like(self._splits.P)
        for role in streamed:
            if role is not Operand.W or self._weights_pass:
                room = room + self._tiles[role]
        if Operand.O in streamed:
            sums = self._tiles[Operand.O] * self._psum_bytes
            room = np.where(self._splits.n_c > 1, room + sums, room)
        fits = room * 2 <= workspace if workspace else room == 0
        if not fits.any():
            return None
        candidates = [
            (float(total[best]), float(room[best]), order, best)
            for order in self._orders
            for total, best in (self._least(order, streamed, fits, room),)
        ]
        _, used, order, best = min(candidates, key=lambda item: item[:2])
        moved = {role: round(float(order[role][best])) for role in streamed}
        return self._traffic(moved, min(workspace, max(2 * math.ceil(used), self._comfortable)))

    def _traffic(self, moved: Mapping[Operand, int], workspace: int) -> StreamedTraffic:
        activations: list[tuple[str, int]] = []
        constants = self._others
        for role, size in moved.items():
            if self._graph.is_constant(self._names[role]):
                constants += size
            else:
                activations.append((self._names[role], size))
        moves = dict(activations)
        for name, size in self._computed:
            moves[name] = moves.get(name, 0) + size
        return StreamedTraffic(
            activations=tuple(moves.items()),
            constants=constants,
            workspace=workspace,
            cycles=self._cycles,
        )

    def _least(
        self,
        order: Mapping[Operand, _Bytes],
        streamed: list[Operand],
        fits: NDArray[np.bool_],
        room: _Bytes,
    ) -> tuple[_Bytes, int]:
        """Return the traffic of every tiling, and the least of those that fit, smallest first."""
        moved = sum((order[role] for role in streamed), np.zeros_like(self._splits.P))
        total = np.where(fits, moved, np.inf)
        return total, int(np.argmin(np.where(total == total.min(), room, np.inf)))

    @cached_property
    def _tiles(self) -> Mapping[Operand, _Bytes]:
        """Bytes of one tile of each operand."""
        splits, nest = self._splits, self._nest
        rows = _reach(splits.P, nest.R, nest.stride[0], nest.dilation[0])
        columns = _reach(splits.Q, nest.S, nest.stride[1], nest.dilation[1])
        return {
            Operand.W: splits.K * splits.C * splits.G * nest.R * nest.S * nest.weight_bits / 8,
            Operand.I: rows * columns * splits.C * splits.G * nest.input_bits / 8,
            Operand.O: splits.P * splits.Q * splits.K * splits.G * nest.output_bits / 8,
        }

    @cached_property
    def _orders(self) -> tuple[Mapping[Operand, _Bytes], ...]:
        """Traffic with the image outermost, and with the output channels outermost."""
        splits = self._splits
        weights = float(self._graph.types[self._names[Operand.W]].bytes)
        outputs = np.full_like(splits.P, self._graph.types[self._names[Operand.O]].bytes)
        inputs = self._inputs_once
        stays = splits.n_c == 1
        if not self._weights_pass:
            stays = stays & (self._tiles[Operand.W] <= self._near_weights)
        alone = stays & (splits.n_k == 1)
        image_first = {
            Operand.I: np.where(splits.n_c == 1, inputs, inputs * splits.n_k),
            Operand.W: np.where(alone, weights, weights * splits.n_image),
            Operand.O: outputs,
        }
        once = (splits.n_image == 1) & (splits.n_c == 1)
        channels_first = {
            Operand.I: np.where(once, inputs, inputs * splits.n_k),
            Operand.W: np.where(stays, weights, weights * splits.n_image),
            Operand.O: outputs,
        }
        return image_first, channels_first

    @cached_property
    def _inputs_once(self) -> _Bytes:
        """Bytes of all input tiles of one pass, halo counted as often as it is fetched."""
        nest, splits = self._nest, self._splits
        shape = self._graph.types[self._names[Operand.I]].shape
        whole = float(self._graph.types[self._names[Operand.I]].bytes)
        if len(shape) != 4:
            return np.full_like(splits.P, whole)
        rows = _fetched(splits.P, splits.n_p, nest.P, nest.R, nest.stride[0], nest.dilation[0])
        columns = _fetched(splits.Q, splits.n_q, nest.Q, nest.S, nest.stride[1], nest.dilation[1])
        tall = np.minimum(rows, shape[2] + _overlap(splits.n_p, nest.R, nest.stride[0]))
        wide = np.minimum(columns, shape[3] + _overlap(splits.n_q, nest.S, nest.stride[1]))
        return whole * tall * wide / (shape[2] * shape[3])


@dataclass(frozen=True)
class _Splits:
    """Tile extents of every tiling, and how many tiles they make."""

    P: _Bytes
    Q: _Bytes
    K: _Bytes
    C: _Bytes
    G: _Bytes
    nest: Workload

    @cached_property
    def n_p(self) -> _Bytes:
        return np.ceil(self.nest.P / self.P)

    @cached_property
    def n_q(self) -> _Bytes:
        return np.ceil(self.nest.Q / self.Q)

    @cached_property
    def n_k(self) -> _Bytes:
        return np.ceil(self.nest.K / self.K)

    @cached_property
    def n_c(self) -> _Bytes:
        return np.ceil(self.nest.C / self.C)

    @cached_property
    def n_image(self) -> _Bytes:
        return self.n_p * self.n_q * self.nest.N


def _splits(nest: Workload) -> _Splits:
    image = [(extent, nest.Q) for extent in _halvings(nest.P)]
    image += [(1, extent) for extent in _halvings(nest.Q)[1:]]
    grid = [
        (p, q, k, c, g)
        for p, q in image
        for k in _halvings(nest.K)
        for c in _halvings(nest.C)
        for g in _halvings(nest.G)
    ]
    columns = np.asarray(grid, dtype=np.float64).T
    return _Splits(*columns, nest=nest)


def _halvings(extent: int) -> list[int]:
    """Return an extent and its halvings, rounded up, down to one."""
    found = [extent]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found


def _reach(outputs: _Bytes, taps: int, stride: int, dilation: int) -> _Bytes:
    """Return the input rows that a tile keeps: from its first to its last, gaps left out."""
    reach = (taps - 1) * dilation + 1
    return (outputs - 1) * min(stride, reach) + reach


def _fetched(
    tile: _Bytes, count: _Bytes, extent: int, taps: int, stride: int, dilation: int
) -> _Bytes:
    """Return the input rows that all tiles fetch together, padding included."""
    reach = (taps - 1) * dilation + 1
    step = min(stride, reach)
    return count * (reach - step) + extent * step + 0 * tile


def _overlap(count: _Bytes, taps: int, stride: int) -> _Bytes:
    """Return the rows that neighbouring tiles fetch twice."""
    return (count - 1) * max(0, taps - stride)
