"""Lowering: one instruction per event, waits from memory, copies of whole tensors around."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.backend.lowering.executable import MOST_QUEUES, check_executable
from accnn.backend.lowering.lower import lower
from accnn.ir.errors import ArchitectureError, PassError, VerifyError
from accnn.ir.graph_schedule import Transfer
from accnn.ir.isa.instructions import Copy, Halt, Mac, Requant, Space, Unit
from accnn.ir.isa.program import SymbolKind
from tests.flow import Compiled, compile_graph
from tests.networks import NetworkBuilder, residual_network
from tests.tiles import tiles_of


def one_conv(arch: str = "edge-1m", budget: int | None = None) -> Compiled:
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 8, 6, 6)), "y", 8, 3)
    return compile_graph(net.build("y"), net.data, arch, budget=budget, all_off_chip=False)


def instructions(compiled: Compiled) -> list:
    return [item for queue in compiled.program.queues for item in queue.instructions]


def test_an_event_becomes_an_instruction_and_queues_end_with_halt():
    compiled = one_conv()
    events = tiles_of(compiled.module).events

    assert len(instructions(compiled)) == len(events) + len(compiled.program.queues)
    for queue in compiled.program.queues:
        assert isinstance(queue.instructions[-1], Halt)


def test_every_engine_has_a_queue():
    program = one_conv("flexer-arch5").program
    names = [queue.name for queue in program.queues]

    assert names[0] == "dma0"
    assert {f"{unit}{npu}" for unit in ("ld", "mx", "vx", "st") for npu in range(4)} <= set(names)


def test_resident_tensors_are_copied_whole_before_and_after():
    compiled = one_conv()
    plan = compiled.module.graph_schedule
    assert plan is not None

    assert [item.tensor for item in plan.loads] == ["x"]
    assert [item.tensor for item in plan.stores] == ["y"]
    copies = [item for item in instructions(compiled) if isinstance(item, Copy)]
    symbols = compiled.program.symbol
    assert any(item.src.address == symbols["x"].address and item.shape == (288,) for item in copies)
    assert any(item.dst.address == symbols["y"].address and item.shape == (288,) for item in copies)


def test_streamed_tensors_are_copied_in_tiles():
    compiled = one_conv(budget=1500)

    stores = [
        item
        for item in instructions(compiled)
        if isinstance(item, Copy) and item.dst.space is Space.DRAM
    ]
    assert len(stores) > 1


def test_instructions_know_their_operator():
    compiled = compile_graph(*residual_network(), "simba")
    for item in instructions(compiled):
        if isinstance(item, Mac):
            assert compiled.module.graph.producer[compiled.program.operators[item.op]].kind in (
                "conv2d",
                "dense",
            )


def test_factors_join_the_constants():
    compiled = one_conv()

    symbol = compiled.program.symbol["y.multiplier"]
    assert symbol.kind is SymbolKind.CONSTANT
    assert compiled.constants["y.multiplier"].shape == (8,)
    finish = next(item for item in instructions(compiled) if isinstance(item, Requant))
    assert finish.zero_point == 5


def test_sums_that_leave_the_chip_have_room_off_chip():
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 64, 6, 6)), "y", 64, 3)
    compiled = compile_graph(net.build("y"), net.data, "simba", budget=220, all_off_chip=False)

    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_module_without_schedules_is_refused():
    module = one_conv().module

    with pytest.raises(PassError, match="lowering needs"):
        lower(replace(module, tile_schedule=None))


def test_a_transfer_that_no_event_makes_is_refused():
    module = one_conv(budget=1500).module
    plan = module.graph_schedule
    assert plan is not None and plan.resident("y", 0) is None
    broken = replace(plan, stores=(Transfer(tensor="y", step=0, bytes=288),))

    with pytest.raises(VerifyError, match="%y is moved by the graph schedule at step 0"):
        lower(replace(module, graph_schedule=broken))


def test_accumulators_of_a_width_without_instructions_are_refused():
    check_executable(load_architecture("simba"))
    with pytest.raises(ArchitectureError, match="eyeriss: accumulators have 16 bits"):
        check_executable(load_architecture("eyeriss"))


def test_there_are_as_many_queues_as_waits_can_name():
    arch = load_architecture("edge-1m")
    npus = (MOST_QUEUES - 3) // 4
    most = replace(arch, dma=replace(arch.dma, channels=3), npus=npus * arch.npus)

    check_executable(most)
    with pytest.raises(ArchitectureError, match="4 DMA channels .* 256 queues"):
        check_executable(replace(most, dma=replace(most.dma, channels=4)))


def test_engines_wait_for_each_other_only_through_other_queues():
    program = one_conv("simba", 1500).program
    for number, queue in enumerate(program.queues):
        for item in queue.instructions:
            assert all(wait.queue != number for wait in item.waits)
            assert len({wait.queue for wait in item.waits}) == len(item.waits)
    macs = next(queue for queue in program.queues if queue.unit is Unit.MX)
    assert macs.instructions[0].waits
