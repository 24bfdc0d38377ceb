import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from accnn.backend.load import find_source, load_architecture
from accnn.ir.arch import Npu
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Op
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Unit
from accnn.ir.mapping import Loop
from accnn.ir.module import Mapping, Module
from accnn.ir.ops import workload
from accnn.ir.proof import Scope
from accnn.ir.resources import Constants
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.base import Context, Notes
from accnn.passes.mapping.jobs import KnownNests, MapJob, solve_in_turn
from accnn.passes.mapping.problem import Objective
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.mapping.recipes.in_tiles import Shared, in_tiles
from accnn.passes.mapping.registry import find_mapper
from accnn.passes.scheduling import map_operators
from accnn.passes.scheduling.map_groups import GroupMapping, mapping_of
from accnn.passes.scheduling.map_operators import (
    MapOperators,
    faster,
    price_of,
    scheduled_energy,
    scheduled_tiles,
    stand_ins,
    winner,
)
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.static.known_schedules import KnownSchedules
from accnn.passes.scheduling.static.schedule_tiles import schedule_in_turn
from accnn.passes.scheduling.static.static import rating
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor, residual_network
from tests.passes.tiling.groups.fused import bottleneck, compile_fused, planned
from tests.thinned import thinned
from tests.tiles import tiles_of


@pytest.fixture(scope="module")
def module():
    net = NetworkBuilder()
    y = net.conv(net.input("x", (1, 32, 12, 12)), "y", 48, 3)
    return compile_graph(net.build(y), net.data, "simba", budget=8192, all_off_chip=False).module


def rolled_up(mapping, fanout):
    """Return the mapping with one child of a fan-out: what was unrolled is loops.

    They stand around the tiles of the innermost memory, which is as full as before.
    """
    nest = mapping.nest
    loops = tuple(Loop(item.dim, item.extent) for item in nest.spatial if item.fanout == fanout)
    at = max(item.start for item in nest.allocations)
    nest = replace(
        nest,
        temporal=(*nest.temporal[:at], *loops, *nest.temporal[at:]),
        spatial=tuple(item for item in nest.spatial if item.fanout != fanout),
        allocations=tuple(
            replace(item, start=item.start + len(loops) * (item.start == at))
            for item in nest.allocations
        ),
    )
    return replace(mapping, nest=nest, mapper="slow")


def test_the_better_tile_schedule_wins_and_says_why(module):
    (good,) = module.mappings
    slow = rolled_up(good, "mac")
    fast, long = (scheduled_tiles(module, item) for item in (good, slow))
    assert fast.cycles < long.cycles

    assert winner(module, good, slow) is good
    chosen = winner(module, slow, good)

    assert chosen.nest == good.nest
    assert chosen.note == (
        f"its tiles take {fast.cycles} cycles and move {fast.transferred_bytes} bytes, those of"
        f" the nest by slow take {long.cycles} cycles and move {long.transferred_bytes} bytes"
    )


def test_the_first_wins_among_equals(module):
    (good,) = module.mappings

    assert winner(module, good, replace(good, mapper="other")) is good


@pytest.mark.parametrize(("cycles", "wins"), [(1240, True), (1260, False)])
def test_cycles_and_bytes_count_alike(module, cycles: int, wins: bool):
    """A quarter more bytes are worth a quarter of the cycles, and no more."""
    (first,) = module.mappings
    whole = scheduled_tiles(module, first)
    load = next(item for item in whole.events if item.kind is EventKind.LOAD)
    made = {
        "more": replace(whole, events=(load,) * 5, cycles=1000),
        "fewer": replace(whole, events=(load,) * 4, cycles=cycles),
    }
    second = replace(rolled_up(first, "mac"), mapper="fewer")

    chosen = winner(
        module, replace(first, mapper="more"), second, lambda m, _: made[m.mappings[0].mapper]
    )

    assert (chosen.mapper == "fewer") == wins


def two_filters(mapper: str) -> Module:
    """Return two convolutions with the nests of a mapper, compiled once for each."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 16, 8, 8)), "a", 20, 3)
    graph = net.build(net.conv(a, "y", 16, 1))
    return compile_graph(
        graph, net.data, "flexer-arch5", budget=4000, all_off_chip=False, mapper=mapper
    ).module


def test_cosa_is_never_slower_than_the_greedy_mapper():
    cycles = {}
    for mapper in ("cosa", "output-stationary"):
        made = two_filters(mapper)
        cycles[mapper] = [item.cycles for item in tiles_of(made).alone]

    assert all(
        ours <= greedy
        for ours, greedy in zip(cycles["cosa"], cycles["output-stationary"], strict=True)
    )


def test_where_nothing_fits_the_operator_is_named(module):
    bare = replace(module, mappings=(), tile_schedule=None, program=None)
    tiny = ScheduleInOrder(scratchpad="2").run(bare, Context())

    with pytest.raises(InfeasibleError, match="%y"):
        MapOperators().run(tiny, Context())


def test_whoever_wins_stands_beside_what_cosa_proved_of_the_same_function():
    made = two_filters("cosa")
    npus = len(made.arch.npus)

    asked = MapOperators().problems(made.graph, made.graph_schedule, made.arch, 0)
    problems = {name: Shared(problem, npus).problem for name, problem in asked}
    for mapping in made.mappings:
        problem = problems[mapping.operator]
        proven = Cosa().map(problem).bound
        assert mapping.objective == pytest.approx(problem.value(mapping.nest) / npus)
        assert mapping.bound == pytest.approx(proven / npus)
        assert mapping.scope is Scope.EVEN_NESTS
        assert mapping.estimate is not None
    assert {mapping.mapper for mapping in made.mappings} <= {"cosa", "output-stationary"}


SIZES = {
    "the second is smaller": ("{ row = 32, column = 32 }", "{ row = 16, column = 8 }"),
    "each is smaller in one": ("{ row = 32, column = 8 }", "{ row = 16, column = 32 }"),
    "both are larger than the rest of the file says": ("{ row = 64 }", "{ row = 64 }"),
}


@pytest.mark.parametrize("case", [*thinned([*SIZES], one_in=3)])
def test_nests_fit_all_npus(tmp_path: Path, case: str):
    """Static orders run any tile on any NPU."""
    path = machine_of(tmp_path, SIZES[case])

    net = NetworkBuilder()
    graph = net.build(net.conv(net.input("x", (1, 32, 12, 12)), "y", 48, 3))

    compiled = compile_graph(graph, net.data, path, mapper="salsa")

    used = {event.index for event in tiles_of(compiled.module).events if event.unit is Unit.MX}
    assert used == {0, 1}
    assert compiled.wrong(compiled.run()) == []


@pytest.mark.parametrize("case", [*thinned([*SIZES])])
def test_nests_of_a_group_fit_all_npus(tmp_path: Path, case: str):
    path = machine_of(tmp_path, SIZES[case])
    group = Group(members=("a", "b", "c", "y"), rows=4)

    compiled = compile_fused(*bottleneck(), path, (group,))

    assert compiled.wrong(compiled.run()) == []


def machine_of(folder: Path, sizes: Sequence[str]) -> str:
    """Write flexer-arch1 with NPUs of these sizes; return its path."""
    path = folder / "unequal.toml"
    npus = [f'[[npu]]\nname = "npu{n}"\nsizes = {size}\n' for n, size in enumerate(sizes)]
    text = find_source("flexer-arch1").text
    path.write_text(re.sub(r"\[npus\]\ncount = 2.*\n", "".join(npus), text))
    return str(path)


def test_a_nest_that_one_npu_is_too_small_for_is_refused(module):
    (good,) = module.mappings
    fanout = max(good.nest.spatial, key=lambda loop: loop.extent).fanout
    small = Npu(name="small", sizes=((fanout, 1),))
    arch = replace(module.arch, npus=(*module.arch.npus, small))

    with pytest.raises(InfeasibleError, match=f"spatial unrolling does not fit: {fanout}"):
        replace(module, arch=arch, tile_schedule=None, program=None).verify()


def test_progress_names_the_operator_that_is_at_work():
    graph, data = residual_network()
    told = []
    context = Context(progress=lambda *at: told.append(at))
    module = Module(graph=graph, arch=load_architecture("simba"), constants=Constants(data))
    module = ScheduleInOrder().run(module, Context())

    MapOperators(mapper="output-stationary").run(module, context)

    steps = {total for _, _, total in told}
    names = [what.removeprefix("map-operators: ") for what, _, _ in told[:-1]]
    first = {op.name: op for op in graph.ops}
    assert len(steps) == 1
    assert [done for _, done, _ in told] == list(range(steps.pop() + 1))
    assert all(workload(first[name], graph.types) is not None for name in names)
    assert told[-1][0] == "map-operators"


def test_progress_counts_a_group_as_one_and_names_its_first_convolution():
    told = []
    graph, _ = bottleneck()
    module = planned(graph, "simba", (Group(members=("a", "b", "c", "y"), rows=4),))

    MapOperators(mapper="output-stationary").run(
        module, Context(progress=lambda *at: told.append(at))
    )

    assert told[-1] == ("map-operators: a", 0, 1)


@pytest.mark.parametrize(
    ("turn", "across", "wins"), [(9, 8, True), (9, 9, False), (10, 8, False), (9, 10, False)]
)
def test_other_nests_are_taken_where_tiles_are_faster_in_turn_and_across(
    module, monkeypatch, turn: int, across: int, wins: bool
) -> None:
    """How they are across operators is not asked where they are no faster in turn."""
    other = replace(module, mappings=tuple(rolled_up(item, "mac") for item in module.mappings))
    found = {module.mappings: (10, 9), other.mappings: (turn, across)}
    asked: list[Module] = []

    def in_turn(item: Module, _: Notes) -> TileSchedule:
        return replace(tiles_of(module), cycles=found[item.mappings][0])

    def promised(item: Module, _: Notes) -> int:
        asked.append(item)
        return found[item.mappings][1]

    monkeypatch.setattr(map_operators, "tiles_in_turn", in_turn)
    monkeypatch.setattr(map_operators, "promised", promised)

    assert faster(module, other, Notes()) is (other if wins else module)
    assert [item.mappings for item in asked] == list(found) * (turn < 10)


def test_nests_that_take_longer_are_not_taken(module) -> None:
    bare = replace(module, tile_schedule=None, program=None)
    slow = replace(bare, mappings=tuple(rolled_up(item, "mac") for item in module.mappings))

    assert faster(bare, bare, Notes()) is bare
    assert faster(bare, slow, Notes()) is bare
    assert faster(slow, bare, Notes()) is bare


@cache
def with_usual_nests() -> tuple[Module, Group, tuple[Mapping, ...]]:
    """Return a plan with a group, weights of whose filters fill half of the lanes' buffers."""
    net = NetworkBuilder()
    c = net.conv(net.input("x", (1, 256, 14, 14)), "c", 1024, 1)
    before = net.input("before", (1, 1024, 14, 14))
    y = net.op("add", (c, before), "y", quant=per_tensor(0.1, 1))
    group = Group(members=("c", "y", "z"), rows=1)
    module = planned(net.build(net.conv(y, "z", 256, 1)), "simba", (group,))
    *_, improved = stand_ins(find_mapper("cosa"), 1)
    nests_of = partial(MapOperators().timed, module.arch, Context(), improved)
    usual, _ = GroupMapping(module, group, Objective.LATENCY, 0, schedule_in_turn).best(nests_of)
    return module, group, usual


@pytest.mark.parametrize("are_better", [True, False])
def test_a_group_gets_small_tiles_of_weights_where_its_tiles_are_better_so(
    monkeypatch, are_better: bool
) -> None:
    """Whoever schedules is a stub."""
    module, group, usual = with_usual_nests()

    def make(mapped: Module, op: Op) -> TileSchedule:
        is_usual = mapped.mappings == usual
        return replace(schedule_in_turn(mapped, op), cycles=100 if is_usual == are_better else 99)

    monkeypatch.setattr(map_operators, "_schedules", lambda _: make)
    asked = GroupMapping(module, group, Objective.LATENCY, 0, schedule_in_turn)
    found = MapOperators()._early(asked, usual, Context())

    if not are_better:
        assert found is usual
        return
    whole, small = (
        {item.operator: dict(item.nest.bytes_at(module.arch, "wb"))["W"] for item in nests}
        for nests in (usual, found)
    )
    assert whole == dict.fromkeys("cz", 1024 * 256 // 128)  # in each lane
    assert all(small[name] < whole[name] for name in whole)


@pytest.mark.parametrize("objective", [*Objective])
def test_nests_of_a_group_are_chosen_for_the_objective(objective: Objective) -> None:
    """Those of no other mapper that is asked are better for it."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 32, 8, 40)), "a", 32, 3)
    group = Group(members=("a", "y"), rows=2)
    module = planned(net.build(net.conv(a, "y", 32, 3)), "simba", (group,))
    asked = GroupMapping(module, group, objective, 0, schedule_in_turn)
    mapping, own = MapOperators(objective=objective), find_mapper("cosa").without_proof

    chosen, _ = mapping.of_group(module, group, KnownSchedules(), Context())

    rivals = [
        asked.best(partial(mapping.timed, module.arch, Context(), mapper))[1]
        for mapper in (in_tiles(own, 1), *stand_ins(own, 1))
    ]
    prices = [price_of(tiles, module.arch, objective) for tiles in rivals]
    assert price_of(asked.schedule(chosen), module.arch, objective) == min(prices) < max(prices)


def test_energy_is_that_of_the_simulator_but_for_vectors_and_the_scratchpads_side() -> None:
    compiled = compile_fused(*bottleneck(), "simba", (Group(members=("a", "b", "c", "y"), rows=4),))
    found = compiled.run().total.energy
    spent = {item.level: item.pj for item in found.levels}

    estimate = scheduled_energy(tiles_of(compiled.module), compiled.module.arch)

    array = sum(spent[level] for level in ("ib", "wb", "ab", "reg"))
    inside = array + found.compute + found.network
    assert spent["dram"] + 0.8 * inside <= estimate <= spent["dram"] + inside + spent["gb"]


def test_stand_ins_are_asked_what_they_have_found_for_the_plan():
    """Of whole operators and of groups, so that it is not solved again."""
    graph, _ = bottleneck(8)
    module = Module(graph=graph, arch=load_architecture("simba"), constants=Constants({}))
    asked: list[MapJob] = []

    def noting(jobs, progress):
        asked.extend(jobs)
        return solve_in_turn(jobs, progress)

    context = Context(solve_jobs=noting)
    plan = ScheduleCosma(scratchpad="4000").run(module, context)
    asked.clear()
    MapOperators().run(plan, context)

    greedy, _, improved = stand_ins(find_mapper("cosa"), 1)
    again = {job for job in asked if job.mapper in (greedy, improved)}
    assert plan.graph_schedule.groups
    assert {job.problem.workload.K for job in again} == {
        graph.types[name].shape[1] for name in "abc"
    }
    assert again <= context.notes.of(KnownNests).by_job.keys()


def test_no_stand_in_has_a_better_nest():
    """Of this filter the best one is of the greedy unrolling, though another promises more."""
    net = NetworkBuilder()
    graph = net.build(net.conv(net.input("x", (1, 256, 26, 26)), "y", 512, 3))
    arch = load_architecture("simba")
    module = ScheduleInOrder().run(
        Module(graph=graph, arch=arch, constants=Constants({})), Context()
    )
    item = MapOperators()
    ((name, problem),) = item.problems(graph, module.graph_schedule, arch, 0)

    chosen, *others = (
        scheduled_tiles(module, mapping)
        for mapping in (
            *item.run(module, Context()).mappings,
            *(mapping_of(name, who.map(problem)) for who in stand_ins(find_mapper("cosa"), 1)),
        )
    )

    ratings = [rating(found.cycles, found.transferred_bytes) for found in others]
    assert rating(chosen.cycles, chosen.transferred_bytes) <= min(ratings)
    assert min(ratings) == ratings[1] < min(ratings[0], ratings[2])
