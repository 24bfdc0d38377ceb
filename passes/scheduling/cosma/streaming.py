"""What an operator moves off chip when some of its tensors pass through a workspace in tiles.

Half of the workspace holds the tiles of one phase, the other half those that come or go. On the
MAC array outputs are finished where they accumulate and written once; inputs are fetched again
per tile of output channels, or weights per tile of the image, whichever order of loops moves
less. Tile extents are halvings of the dimensions. Other operators touch everything once.

This models good tilings; it is neither exact for a given mapper nor a bound below all of them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.ops import OPS, workload
from ....ir.workload import Operand, Workload
from ...tiling.vector import least_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What an operator moves off chip beside whole tensors.

    Attributes:
        activations: (tensor, bytes) of the activations that pass in tiles [byte].
        constants: Of all constants together [byte].
        workspace: What the tiles need of the workspace that was offered [byte].
        cycles: How long the operator takes at least, or as measured [cycle].
    """

    activations: tuple[tuple[str, int], ...]
    constants: int
    workspace: int
    cycles: int = 0

    @property
    def total(self) -> int:
        """All bytes [byte]."""
        return self.constants + sum(size for _, size in self.activations)


TrafficModel: TypeAlias = Callable[[Op, frozenset[str], int], Traffic | None]
"""From an operator, its resident tensors and a workspace [byte] to the traffic, or ``None``
where not even one tile fits the workspace."""

_Bytes: TypeAlias = NDArray[np.float64]
_LINE = 16
_COMFORTABLE = 8192
"""Workspaces below this save no room that matters, and make very many small tiles [byte]."""
_MATRIX_PRODUCTS = frozenset({"linear"})
_ROWWISE = frozenset({"softmax", "layer_norm"})


def analytic_traffic(graph: Graph, arch: Architecture) -> TrafficModel:
    """Return the traffic model of a graph on a machine; it remembers its answers."""
    nests: dict[str, _Tilings | None] = {}
    known: dict[tuple[str, frozenset[str], int], Traffic | None] = {}
    least: dict[tuple[str, frozenset[str]], int] = {}

    def model(op: Op, resident: frozenset[str], workspace: int) -> Traffic | None:
        key = op.name, resident, workspace
        if key not in known:
            known[key] = find(op, resident, workspace)
        return known[key]

    def find(op: Op, resident: frozenset[str], workspace: int) -> Traffic | None:
        if op.name not in nests:
            found = _workload_of(graph, op)
            nests[op.name] = None if found is None else _Tilings(graph, op, found, arch)
        tilings = nests[op.name]
        if tilings is None:
            if (op.name, resident) not in least:
                least[op.name, resident] = _least_workspace(graph, op, arch, resident)
            return _touch_once(graph, op, resident, workspace, least[op.name, resident])
        return tilings.best(resident, workspace)

    return model


def _workload_of(graph: Graph, op: Op) -> Workload | None:
    if op.kind in OPS:
        return workload(op, graph.types)
    if op.kind in _MATRIX_PRODUCTS:
        *rows, C = graph.types[op.operands[0]].shape
        return Workload(P=math.prod(rows), C=C, K=op.result.type.shape[-1])
    return None


def _moved(graph: Graph, op: Op, resident: frozenset[str]) -> list[tuple[str, int]]:
    """Return what an operator reads and writes of what is not resident, with its bytes."""
    names = dict.fromkeys((*op.inputs, *(value.name for value in op.results)))
    return [(name, graph.types[name].bytes) for name in names if name not in resident]


def _least_workspace(graph: Graph, op: Op, arch: Architecture, resident: frozenset[str]) -> int:
    """Return the workspace below which an operator without reuse cannot be cut [byte]."""
    activations = [item for item in _moved(graph, op, resident) if not graph.is_constant(item[0])]
    least = 2 * sum(min(size, _least_tile(graph, op, name)) for name, size in activations)
    if op.kind not in OPS or OPS[op.kind].access is None:
        return least
    return max(least, least_workspace(graph, op, arch, resident))


def _touch_once(
    graph: Graph, op: Op, resident: frozenset[str], workspace: int, least: int
) -> Traffic | None:
    """Return the traffic of an operator without reuse: every tensor once."""
    moved = _moved(graph, op, resident)
    activations = tuple(item for item in moved if not graph.is_constant(item[0]))
    if least > workspace:
        return None
    return Traffic(
        activations=activations,
        constants=sum(size for name, size in moved if graph.is_constant(name)),
        workspace=min(workspace, max(least, _COMFORTABLE)),
    )


def _least_tile(graph: Graph, op: Op, name: str) -> int:
    """Return the least of a tensor that an operator works on at a time [byte]."""
    item = graph.types[name]
    if op.kind in _ROWWISE:
        return item.shape[-1] * item.dtype.bytes
    return _LINE


class _Tilings:
    """All tilings of one operator on the MAC array, as arrays."""

    def __init__(self, graph: Graph, op: Op, nest: Workload, arch: Architecture) -> None:
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
        self._near_weights = _room_for_weights(arch)
        self._psum_bytes = -(-arch.accumulator_bits // 8)
        self._splits = _splits(nest)
        self._cycles = -(-nest.macs // sum(arch.npu_macs(npu) for npu in arch.npus))

    def best(self, resident: frozenset[str], workspace: int) -> Traffic | None:
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
        return self._traffic(moved, min(workspace, max(2 * math.ceil(used), _COMFORTABLE)))

    def _traffic(self, moved: Mapping[Operand, int], workspace: int) -> Traffic:
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
        return Traffic(
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


def _room_for_weights(arch: Architecture) -> int:
    """Return the bytes that all instances of the weights' on-chip home hold together."""
    home = arch.home(Operand.W)
    return (home.usable or 0) * arch.instances(home.name)
