"""Where every tensor lies in off-chip memory, and the constants that only programs have."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...ir.graph import Graph, Op
from ...ir.isa.program import Symbol, SymbolKind
from ...ir.ops import workload
from ...ir.tiles.events import TRANSFERS, EventKind
from ...ir.tiles.graph import Role
from ...ir.tiles.schedule import TileSchedule
from ...ir.types import DType, TensorType

ALIGNMENT = 64
"""Tensors begin at multiples of this [byte]."""


def observed_name(tensor: str) -> str:
    """Return the symbol of a copy of a tensor that is stored to be looked at, never read back."""
    return f"{tensor}.observed"


@dataclass(slots=True)
class OffChipLayout:
    """Symbols in the order of their addresses; local to one lowering."""

    symbols: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    end: int = 0

    def add(self, name: str, kind: SymbolKind, type: TensorType) -> Symbol:
        """Give a tensor its address, once.

        Args:
            name: Of the tensor.
            kind: What it is to the program.
            type: Its element type and shape.
        """
        if name not in self.symbols:
            address = -(-self.end // ALIGNMENT) * ALIGNMENT
            self.symbols[name] = Symbol(name=name, kind=kind, address=address, type=type)
            self.end = address + type.bytes
        return self.symbols[name]


def lay_out(
    graph: Graph, moved: Iterable[str], derived: Iterable[tuple[str, int]]
) -> OffChipLayout:
    """Return the symbols of a network: inputs, outputs, constants, then what else is moved.

    Args:
        graph: The network.
        moved: Names of tensors that are transferred.
        derived: Names and lengths of the float32 constants that the program adds.
    """
    layout = OffChipLayout()
    for value in graph.inputs:
        layout.add(value.name, SymbolKind.INPUT, value.type)
    for name in graph.outputs:
        layout.add(name, SymbolKind.OUTPUT, graph.types[name])
    wanted = dict.fromkeys(moved)
    for name in wanted:
        if graph.is_constant(name):
            layout.add(name, SymbolKind.CONSTANT, graph.types[name])
    for name, length in derived:
        layout.add(name, SymbolKind.CONSTANT, TensorType(DType.F32, (length,)))
    for name in wanted:
        if name in graph.types:
            layout.add(name, SymbolKind.ACTIVATION, graph.types[name])
    return layout


def multiplier_of(graph: Graph, op: Op) -> npt.NDArray[np.float32]:
    """Return the requantisation factors ``f32(f32(sx * sw[k]) / sy)`` of an operator, per channel.

    This is onnxruntime's order of operations: left to right in float32.
    """
    x, w = (graph.types[name].quant for name in op.operands[:2])
    y = op.result.type.quant
    assert x is not None and w is not None and y is not None
    nest = workload(op, graph.types)
    assert nest is not None
    weights = np.asarray(w.scale, np.float32)
    factor = np.float32(x.scale[0]) * weights / np.float32(y.scale[0])
    return np.ascontiguousarray(np.broadcast_to(factor.astype(np.float32), (nest.G * nest.K,)))


def moved_tensors(schedule: TileSchedule) -> tuple[str, ...]:
    """Return the tensors that are transferred, in order of first use, accumulators aside.

    Whole tensors that are only stored are outputs, or copies to be looked at, which lie
    elsewhere.
    """
    tiles = schedule.graph.tiles
    moved = [
        tiles[event.subject]
        for event in schedule.events
        if event.kind in TRANSFERS
        and not (event.kind is EventKind.STORE and tiles[event.subject].is_resident)
    ]
    return tuple(dict.fromkeys(tile.tensor for tile in moved if tile.role is not Role.PSUM))
