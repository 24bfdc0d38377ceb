"""How long the events of a tile graph take on each NPU, as the compiler predicts it."""

import math
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.latency import copy_cycles, vector_cycles
from ...ir.tile_events import EventKind
from ...ir.tiles import TileGraph
from ..analysis.tile_cost import TileCost, tile_cost


class Durations:
    """Predicts durations, each distinct instruction of the array once; local to one run.

    Attributes:
        graph: Tiles and operations.
        arch: The machine.
    """

    def __init__(self, graph: TileGraph, arch: Architecture) -> None:
        self.graph = graph
        self.arch = arch
        self._costs: dict[tuple[int, int, bool], TileCost] = {}

    @cached_property
    def _machines(self) -> tuple[Architecture, ...]:
        return tuple(self.arch.for_npu(npu) for npu in self.arch.npus)

    def mac(self, number: int, npu: int, *, clear: bool) -> TileCost:
        """Return the cost of an operation of the MAC array."""
        key = self.graph.ops[number].nests[npu], npu, clear
        if key not in self._costs:
            inner = self.graph.nests[key[0]]
            self._costs[key] = tile_cost(inner, self._machines[npu], accumulate=not clear)
        return self._costs[key]

    def of(self, kind: EventKind, subject: int, npu: int, *, clear: bool = False) -> int:
        """Return how long an event occupies its engine [cycle]."""
        if kind is EventKind.COMPUTE:
            return self._compute(subject, npu, clear)
        if kind is EventKind.FINISH:
            acc = self.graph.ops[subject].acc
            assert acc is not None
            tile = self.graph.tiles[acc]
            return vector_cycles(self.arch, tile.bytes // tile.element_bytes)
        return copy_cycles(self.arch, self.graph.tiles[subject].bytes, off_chip=True)

    def _compute(self, subject: int, npu: int, clear: bool) -> int:
        op = self.graph.ops[subject]
        if op.nests:
            return self.mac(subject, npu, clear=clear).steady_cycles
        elements = math.prod(axis.size for axis in op.box)
        if op.cost == 0:
            size = elements * self.graph.tiles[op.out].element_bytes
            return copy_cycles(self.arch, size, off_chip=False)
        return vector_cycles(self.arch, elements, op.cost)
