"""Tiles across operators: exact, as fast as predicted, and never slower than layer by layer."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest

from accnn.backend.load import load_architecture
from accnn.backend.lowering.lower import lower
from accnn.ir.errors import VerifyError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Transfer
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.module import Module
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from accnn.ir.tiles.events import Event, EventKind
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.base import Context
from accnn.passes.scheduling.across.insertion import InsertionPolicy, insert
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross
from accnn.passes.scheduling.across.tables import InTurn
from accnn.passes.scheduling.static.lags import Lags
from accnn.passes.scheduling.timing.retime import timed
from tests.flow import Array
from tests.networks import NetworkBuilder, per_tensor, residual_network
from tests.passes.scheduling.across.joint import Both, both, both_of, branches, chain
from tests.passes.tiling.groups.fused import bottleneck, inverted, lowered_with, rolling, windows
from tests.thinned import thinned
from tests.tiles import tiles_of
from tests.timed import program_cycles

NETWORKS = {"chain": chain, "branches": branches, "residual": partial(residual_network, 10)}
SMALL = partial(chain, 8)
PLACES = (
    ("flexer-arch5", None),
    ("flexer-arch5", 9000),
    ("flexer-arch1", 12_000),
    ("edge-1m", 5000),
    ("simba", None),
)
"""Machines, with room for all tensors or for few."""


def told(module: Module) -> int:
    """Return the cycles of a module's program."""
    return program_cycles(lower(module).program)


def is_of(schedule: TileSchedule, event: Event, operator: str) -> bool:
    """Whether an event works for an operator."""
    is_work = event.kind is EventKind.COMPUTE
    return is_work and schedule.graph.ops[event.subject].operator == operator


def working(made: Both) -> dict[str, list[int]]:
    """Return the cycles at which each operator's work begins and ends."""
    return {
        name: [
            cycle
            for event in made.schedule.events
            if is_of(made.schedule, event, name)
            for cycle in (event.start, event.end)
        ]
        for name in made.schedule.graph.operators
    }


def unequal() -> Both:
    """A network on four NPUs of which the first is a quarter as wide."""
    arch = load_architecture("flexer-arch5")
    slow = replace(arch.npus[0], sizes=(("column", 8),))
    return both_of(branches, replace(arch, npus=(slow, *arch.npus[1:])))


@pytest.mark.parametrize(("name", "place"), [*thinned([*NETWORKS], PLACES, one_in=3)])
def test_a_network_is_exact_predicted_and_not_slower(name: str, place: tuple[str, int | None]):
    arch, budget = place
    made = both_of(NETWORKS[name], arch, budget=budget)

    made.schedule.verify()
    assert made.compiled.wrong(made.compiled.run(detect_races=True)) == []
    assert made.schedule.cycles == told(made.across)
    assert made.schedule.cycles <= told(made.in_turn)
    assert 0 < made.schedule.cycles_lower_bound <= made.schedule.cycles


def test_npus_may_differ():
    made = unequal()

    made.schedule.verify()
    assert made.compiled.wrong(made.compiled.run(detect_races=True)) == []
    assert made.schedule.cycles == told(made.across) <= told(made.in_turn)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_legal_interleaving_gives_the_same_numbers(seed: int):
    compiled = both_of(branches, "flexer-arch5", budget=9000).compiled

    assert compiled.wrong(compiled.run(interleaving_seed=seed)) == []


@pytest.mark.parametrize("name", ["chain", "branches"])
def test_it_is_faster_where_operators_are_small(name: str):
    made = both_of(NETWORKS[name], "flexer-arch5")

    assert made.schedule.cycles < 0.95 * told(made.in_turn)


@pytest.mark.parametrize(
    ("network", "place"), [(chain(28), ("edge-1m", 5000)), (residual_network(), ("simba", 5000))]
)
def test_arrays_keep_the_order_of_their_operator_where_that_is_faster(
    network: tuple[Graph, Mapping[str, Array]], place: tuple[str, int]
):
    made = both(network, place[0], budget=place[1])
    module, in_turn = made.in_turn, tiles_of(made.in_turn)
    assert module.arch is not None and module.graph_schedule is not None
    given = InTurn(in_turn, module.graph_schedule, module.arch)
    spaces = frozenset(Space)
    others = [
        timed(
            insert(given, InsertionPolicy(moving=moving, ordered=ordered)).schedule, module.arch
        ).cycles
        for moving in (frozenset[Space](), spaces - {Space.WB}, spaces)
        for ordered in (frozenset[Unit](), frozenset({Unit.VX, Unit.ST}))
    ]

    assert made.schedule.cycles < min(others)


@pytest.mark.parametrize("budget", [None, 30_000])
def test_branches_are_computed_at_the_same_time(budget: int | None):
    spans = working(both(branches(24), "flexer-arch5", budget=budget))

    assert max(spans["left"]) > min(spans["right"])


def test_npus_that_differ_keep_their_work():
    made = unequal()
    in_turn = [
        (event.subject, event.index)
        for event in tiles_of(made.in_turn).events
        if event.kind is EventKind.COMPUTE and event.step == 0
    ]
    first = made.schedule.graph.operators[0]
    events = [item for item in made.schedule.events if item.kind is EventKind.COMPUTE]

    across = {item.subject: item.index for item in events if is_of(made.schedule, item, first)}
    assert across == dict(in_turn)


def test_weights_of_the_next_operator_come_early():
    made = both_of(chain, "flexer-arch5")
    tiles = made.schedule.graph.tiles
    loads = [
        event.end
        for event in made.schedule.events
        if event.kind is EventKind.LOAD and tiles[event.subject].tensor == "b_w"
    ]

    assert max(loads) < max(working(made)["a"])


def test_operations_wait_for_the_part_that_they_read():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 16, 16))
    y = net.op("mul", (x, x), "y", quant=per_tensor(0.1))
    z = net.op("add", (y, x), "z", quant=per_tensor(0.1))
    schedule = both((net.build(z), net.data), "flexer-arch5").schedule
    windows = {tile for tile in schedule.graph.tiles if tile.tensor == "y"}
    begin = {
        kind: min(event.start for event in schedule.events if is_of(schedule, event, kind))
        for kind in ("y", "z")
    }
    end = max(event.end for event in schedule.events if is_of(schedule, event, "y"))

    assert len(windows) > 8 and all(tile.bytes < 8 * 16 * 16 for tile in windows)
    assert begin["y"] < begin["z"] <= end


def test_the_same_bytes_are_moved():
    made = both_of(chain, "edge-1m", budget=5000)

    assert made.schedule.transferred_bytes == tiles_of(made.in_turn).transferred_bytes


def test_twice_is_once():
    module = both_of(chain, "flexer-arch5").across

    assert ScheduleAcross().run(module, Context()) is module


def test_one_operator_has_nothing_to_cross():
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 8, 6, 6)), "y", 8, 3)
    made = both((net.build("y"), net.data), "edge-1m")

    assert made.schedule.cycles <= tiles_of(made.in_turn).cycles
    assert made.compiled.wrong(made.compiled.run()) == []


def test_the_text_form_is_read_back():
    module = both_of(SMALL, "edge-1m").across
    text = print_module(module)

    assert parse_module(text, verify=True).tile_schedule == module.tile_schedule


def test_a_move_that_no_event_makes_is_refused():
    module = both_of(SMALL, "edge-1m").across
    plan = module.graph_schedule
    assert plan is not None
    place = next(item for item in plan.residences if item.tensor == "b")
    extra = Transfer(tensor="b", step=place.first_step, bytes=place.bytes)

    with pytest.raises(VerifyError, match="%b is moved by the graph schedule at step"):
        lower(replace(module, graph_schedule=replace(plan, stores=(*plan.stores, extra))))


def test_an_event_that_moves_what_the_plan_does_not_is_refused():
    module = both_of(SMALL, "edge-1m").across
    plan = module.graph_schedule
    assert plan is not None and plan.loads

    with pytest.raises(VerifyError, match="moves %x at step 0 .load., the graph schedule does"):
        lower(replace(module, graph_schedule=replace(plan, loads=())))


@pytest.mark.parametrize(
    ("make", "arch", "rows", "behind"),
    [
        *thinned(
            [bottleneck, inverted, windows],
            ["simba", "flexer-arch1", "flexer-arch5"],
            [1, 2],
            [(), (1,)],
            one_in=4,
        )
    ],
)
def test_new_rows_of_lines_that_roll_wait_until_the_old_ones_were_read(
    make, arch: str, rows: int, behind: Lags
):
    """Engines that wait go on with what comes later: not with what lies where others still read."""
    module = rolling(make, arch, rows, behind)

    crossed = ScheduleAcross().run(module, Context())

    assert any(tile.rolls for tile in tiles_of(crossed).graph.tiles)
    tiles_of(crossed).verify()
    compiled = lowered_with(crossed)
    assert compiled.wrong(compiled.run(detect_races=True)) == []
