"""What is known of an operator is moved to one that is alike; the direct way is the judge."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.module import Module
from accnn.ir.types import DType
from accnn.passes.base import Context, Notes
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross, promised
from accnn.passes.scheduling.in_order import schedule_in_order
from accnn.passes.scheduling.static.known_schedules import KnownSchedules
from accnn.passes.scheduling.static.schedule_tiles import (
    ScheduleTiles,
    schedule_operator,
    tiles_in_turn,
)
from accnn.passes.tiling.residency import unit_of
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import planned, with_nests
from tests.strategies import graphs
from tests.thinned import examples


def blocks(count: int = 3, size: int = 8) -> Graph:
    """Equal bottlenecks in a row."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, size, size), 1)
    for number in range(count):
        a = net.conv(x, f"a{number}", 8, 1)
        b = net.conv(a, f"b{number}", 16, 3)
        x = net.op("add", (b, x), f"y{number}", quant=per_tensor(0.1, 1))
    return net.build(x)


def compared(module: Module) -> list[str]:
    """Compare what is moved with what is made directly; return what was made."""
    made: list[str] = []
    known, plan = KnownSchedules(), module.graph_schedule
    assert plan is not None

    def make(module, op):
        made.append(op.name)
        return schedule_operator(module, op)

    for name in plan.order:
        op = unit_of(module.graph, plan, name)
        found = known.of(module, op, make)
        assert found == schedule_operator(module, op)
        found.verify()
    return made


@pytest.mark.parametrize("budget", [None, 2500])
@pytest.mark.parametrize("arch", ["simba-8x8", "flexer-arch5"])
def test_equal_blocks_are_scheduled_once(arch, budget):
    graph = blocks()
    machine = load_architecture(arch)
    plan = schedule_in_order(graph, machine, budget=budget)

    made = compared(with_nests(Module(graph=graph, arch=machine, graph_schedule=plan)))

    assert len(made) < len(graph.ops)
    assert {"a0", "b0"} <= set(made)


def test_equal_groups_are_scheduled_once():
    graph = blocks()
    groups = [Group(members=(f"a{n}", f"b{n}", f"y{n}"), rows=2) for n in range(3)]
    module = with_nests(planned(graph, "simba-8x8", groups))

    assert len(compared(module)) < len(groups)


def test_the_other_half_of_the_parameters():
    graph = blocks(2)
    machine = load_architecture("simba-8x8")
    module = with_nests(
        Module(graph=graph, arch=machine, graph_schedule=schedule_in_order(graph, machine))
    )
    plan = module.graph_schedule
    assert plan is not None
    known = KnownSchedules()
    first = known.of(module, graph.producer["b0"], schedule_operator)
    second = known.of(module, graph.producer["b1"], schedule_operator)
    shifts = {
        new.address - old.address
        for old, new in zip(first.placements, second.placements, strict=True)
        if first.graph.tiles[old.tile].space is Space.PB
    }

    halves = plan.step_of["b1"] % 2 - plan.step_of["b0"] % 2
    assert halves
    assert shifts == {halves * (space_bytes(machine)[Space.PB] // 2)}
    assert not {tile.tensor for tile in second.graph.tiles} & {"a0", "b0"}


def test_overlapping_residents_are_conditions():
    graph = blocks(2)
    machine = load_architecture("simba-8x8")
    plan = schedule_in_order(graph, machine)
    module = Module(graph=graph, arch=machine, graph_schedule=plan)
    known = KnownSchedules()
    op = graph.producer["y0"]
    place = known._place(module, op)
    (one, (start, stop)), *others = place.residents.items()
    moved = replace(place, residents={one: (start + 64, stop + 64), **dict(others)})
    (other, _), *_ = others
    onto = replace(place, residents={**place.residents, other: (start + 16, stop + 16)})

    assert moved.conditions == replace(moved, workspace=place.workspace + 8).conditions
    assert onto.conditions != place.conditions


def test_another_network_is_not_mistaken_for_the_one_before():
    known, machine = KnownSchedules(), load_architecture("simba-8x8")
    found = []
    for size in (8, 12):
        graph = blocks(1, size)
        plan = schedule_in_order(graph, machine)
        module = with_nests(Module(graph=graph, arch=machine, graph_schedule=plan))
        found.append(known.of(module, graph.producer["a0"], schedule_operator))
        assert found[-1] == schedule_operator(module, graph.producer["a0"])

    assert found[0].cycles != found[1].cycles


def test_what_was_made_elsewhere_is_taken_for_all_that_are_alike():
    """As if it had been made here: for the operator itself, and moved for others."""
    machine = load_architecture("simba-8x8")
    graph = blocks(2)
    plan = schedule_in_order(graph, machine, budget=2500)
    module = with_nests(Module(graph=graph, arch=machine, graph_schedule=plan))
    first, second = graph.producer["b0"], graph.producer["b1"]
    there, here = KnownSchedules(), KnownSchedules()
    schedule = there.of(module, first, schedule_operator)
    here.of(module, graph.producer["y0"], schedule_operator)  # numbers of what is alike differ

    here.note(module, first, there.made(module, first))

    def make(module, op):
        pytest.fail("made again")

    assert here.of(module, first, make) is schedule
    assert here.of(module, second, make) == schedule_operator(module, second)
    assert there.made(module, second) == {}
    with pytest.raises(pytest.fail.Exception):
        here.of(module, graph.producer["a0"], make)


def test_that_tiles_do_not_fit_is_known_of_the_operator_itself():
    """Others that are alike are asked again: the message names them."""
    machine = load_architecture("simba-8x8")
    graph = blocks(2)
    plan = schedule_in_order(graph, machine, budget=2500)
    module = with_nests(Module(graph=graph, arch=machine, graph_schedule=plan))
    known, asked = KnownSchedules(), []

    def make(module, op):
        asked.append(op.name)
        raise InfeasibleError(f"{op.name} is too large")

    for name in ("b0", "b0", "b1", "b1"):
        with pytest.raises(InfeasibleError, match=f"{name} is too large"):
            known.of(module, graph.producer[name], make)

    assert asked == ["b0", "b1"]


@settings(max_examples=examples(25), deadline=None)
@given(graph=graphs(dtype=DType.S8))
def test_whatever_the_network(graph):
    machine = load_architecture("simba-8x8")
    plan = schedule_in_order(graph, machine)
    compared(with_nests(Module(graph=graph, arch=machine, graph_schedule=plan)))


def test_what_one_pass_has_scheduled_others_are_given():
    """Comparing nests leaves what the passes behind would make, and no pass makes another."""
    machine, notes = load_architecture("simba-8x8"), Notes()
    graph = blocks(2)
    plans = [schedule_in_order(graph, machine, budget=budget) for budget in (2500, None)]
    first = with_nests(Module(graph=graph, arch=machine, graph_schedule=plans[0]))
    for module in (first, replace(first, graph_schedule=plans[1])):
        promise = promised(replace(module, tile_schedule=tiles_in_turn(module, notes)), notes)
        made = tiles_in_turn(module, notes)

        assert tiles_in_turn(module, notes) is made
        assert made == tiles_in_turn(module, Notes())
        assert promise == promised(replace(module, tile_schedule=made), Notes())
        for passes in (Context(notes=notes), Context()):
            in_turn = ScheduleTiles().run(module, passes)
            assert in_turn.tile_schedule == made
            found = ScheduleAcross().run(in_turn, passes).tile_schedule
            assert found == ScheduleAcross().run(in_turn, Context()).tile_schedule


def test_notes_keep_one_object_of_each_kind():
    notes = Notes()

    assert notes.of(KnownSchedules) is notes.of(KnownSchedules)
    assert Notes().of(KnownSchedules) is not notes.of(KnownSchedules)
