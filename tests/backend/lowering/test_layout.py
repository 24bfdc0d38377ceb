"""Off-chip memory: who lies where, and the factors that only programs have."""

import numpy as np

from accnn.backend.lowering.layout import (
    ALIGNMENT,
    OffChipLayout,
    lay_out,
    moved_tensors,
    multiplier_of,
)
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.isa.program import SymbolKind
from accnn.ir.tiles.events import Event, EventKind
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph
from accnn.ir.tiles.schedule import TileSchedule
from accnn.ir.types import DType, TensorType
from tests.networks import NetworkBuilder


def network():
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 3, 5, 5)), "y", 4, 3)
    net.conv("y", "z", 7, 1)
    return net.build("z")


def test_symbols_are_aligned_and_apart():
    layout = lay_out(network(), ("x", "y_w", "y", "y.multiplier"), [("y.multiplier", 4)])

    end = 0
    for symbol in layout.symbols.values():
        assert symbol.address % ALIGNMENT == 0
        assert symbol.address >= end
        end = symbol.address + symbol.type.bytes
    assert layout.end == end


def test_inputs_and_outputs_are_there_in_any_case_and_the_rest_if_moved():
    layout = lay_out(network(), ("y_w", "y", "y.multiplier"), [("y.multiplier", 4)])

    kinds = {name: symbol.kind for name, symbol in layout.symbols.items()}
    assert kinds == {
        "x": SymbolKind.INPUT,
        "z": SymbolKind.OUTPUT,
        "y_w": SymbolKind.CONSTANT,
        "y.multiplier": SymbolKind.CONSTANT,
        "y": SymbolKind.ACTIVATION,
    }


def test_a_tensor_gets_one_address():
    layout = OffChipLayout()
    first = layout.add("a", SymbolKind.ACTIVATION, TensorType(DType.S8, (65,)))
    layout.add("b", SymbolKind.ACTIVATION, TensorType(DType.S8, (1,)))

    assert layout.add("a", SymbolKind.ACTIVATION, TensorType(DType.S8, (65,))) == first
    assert layout.symbols["b"].address == 128


def test_factors_follow_onnxruntimes_order_of_operations():
    graph = network()
    op = graph.ops[0]
    x, w, y = (graph.types[name].quant for name in ("x", "y_w", "y"))
    assert x is not None and w is not None and y is not None
    f32 = np.float32
    expected = [f32(f32(f32(x.scale[0]) * f32(scale)) / f32(y.scale[0])) for scale in w.scale]

    assert multiplier_of(graph, op).tolist() == [float(value) for value in expected]
    assert multiplier_of(graph, op).dtype == np.float32


def test_what_is_transferred_has_room_off_chip_and_accumulators_apart():
    def tile(name: str, role: Role, address: int | None = None) -> Tile:
        return Tile(
            tensor=name,
            role=role,
            view=(1,),
            box=(Range(0, 1),),
            element_bytes=1,
            space=Space.GB,
            address=address,
        )

    tiles = (tile("w", Role.W), tile("x", Role.I, 0), tile("y", Role.PSUM), tile("z", Role.I, 8))
    graph = TileGraph(operators=(), tiles=(*tiles, tile("u", Role.W)), ops=())
    kinds = (EventKind.LOAD, EventKind.LOAD, EventKind.SPILL, EventKind.STORE)
    events = tuple(
        Event(kind=kind, subject=number, unit=Unit.DMA, index=0, start=0, end=0)
        for number, kind in enumerate(kinds)
    )
    schedule = TileSchedule(
        graph=graph, events=events, placements=(), scheduler="by hand", cycles=0
    )

    assert moved_tensors(schedule) == ("w", "x")
