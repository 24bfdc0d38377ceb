"""Parsing inverts printing, for every stage."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule
from accnn.ir.isa.instructions import AnyInstruction, Unit
from accnn.ir.isa.program import Program, Queue
from accnn.ir.module import Module
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from accnn.ir.tiles.schedule import TileSchedule

from ...strategies import any_mappings, any_modules, fields_of, graphs
from ...thinned import examples

GRAPH = Graph(name="net", inputs=(), constants=(), ops=(), outputs=())
ARCH = Architecture(name="machine", levels=(), scratchpad="gb")
PROGRAM = Program(name="net", arch=ARCH, spaces=(), symbols=(), operators=(), nests=(), queues=())
few = settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)


def check(module: Module) -> None:
    text = print_module(module)

    parsed = parse_module(text)

    assert parsed == module
    assert print_module(parsed) == text


@few
@given(any_modules())
def test_any_graph(module: Module) -> None:
    check(module)


@few
@given(graphs())
def test_a_valid_graph_stays_valid(graph) -> None:
    module = Module(graph=graph)

    check(module)
    parse_module(print_module(module), verify=True)


@few
@given(any_modules(arch=fields_of(Architecture)))
def test_any_architecture(module: Module) -> None:
    check(module)


@few
@given(any_modules(graph_schedule=fields_of(GraphSchedule)))
def test_any_graph_schedule(module: Module) -> None:
    check(module)


@few
@given(any_modules(mappings=st.lists(any_mappings(), max_size=3).map(tuple)))
def test_any_mappings(module: Module) -> None:
    check(module)


@few
@given(any_modules(tile_schedule=fields_of(TileSchedule)))
def test_any_tile_schedule(module: Module) -> None:
    check(module)


@few
@given(any_modules(program=fields_of(Program)))
def test_any_program(module: Module) -> None:
    check(module)


@pytest.mark.parametrize("kind", AnyInstruction.__args__, ids=lambda kind: kind.__name__)
def test_any_instruction(kind) -> None:
    @settings(few, max_examples=examples(8))
    @given(st.lists(fields_of(kind), min_size=1, max_size=3))
    def run(instructions) -> None:
        queue = Queue(unit=Unit.MX, index=0, instructions=tuple(instructions))
        check(Module(graph=GRAPH, program=replace(PROGRAM, queues=(queue,))))

    run()
