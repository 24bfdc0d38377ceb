"""Operations of stripes that begin when they can start."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import pytest

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.ir.isa.instructions import Unit
from accnn.passes.scheduling.network.join import join
from accnn.passes.scheduling.static.group_schedules import GroupSchedules, StripeOrder
from accnn.passes.scheduling.static.lags import Lags
from accnn.passes.scheduling.static.ready_order import Preference, ReadyOrder, ReadyStripes
from accnn.passes.scheduling.static.static import best_of
from accnn.passes.scheduling.static.tables import GraphTables
from tests.inputs import Array
from tests.passes.tiling.groups.fused import (
    bottleneck,
    inverted,
    lowered_with,
    mapped,
    windows,
)
from tests.thinned import thinned

from .plain_order import plain_accumulations, turns_of

NETWORKS = {"bottleneck": bottleneck, "inverted": inverted, "windows": windows}
MACHINES = ["simba", "flexer-arch1", "flexer-arch5"]
LAGS: list[Lags] = [(), (1,), (1, 2)]


def grouped(
    network: tuple[Graph, Mapping[str, Array]], arch: str, rows: int, *, compared: bool = False
) -> GroupSchedules:
    graph, data = network
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    module = mapped(graph, data, arch, (group,), compared=compared)
    return GroupSchedules(module, group_op(graph, group))


def stripes_of(network: str, arch: str, behind: Lags, *, roll: bool = False) -> ReadyStripes:
    tiles = grouped(NETWORKS[network](), arch, 1)._tiles
    if roll:
        tiles = replace(tiles, rolls=frozenset(tiles.may_roll(behind)))
    behind = tuple(item for item in behind if item in tiles.may_lag)
    tables = GraphTables(tiles.in_order(behind), tiles.arch)
    return ReadyStripes(tables, tiles.places(behind))


def makespan(stripes: ReadyStripes, found: ReadyOrder) -> int:
    """Return when the last operation of an order ends if each begins as early as it can."""
    graph = stripes.tables.graph
    free, written, read = defaultdict[object, int](int), dict[object, int](), dict[object, int]()
    for npu, ops in turns_of(found.turns):
        for number in ops:
            op = graph.ops[number]
            start = free[op.unit, npu]
            for tile in op.reads:
                for row in graph.rows(op, tile) or (None,):
                    start = max(start, written.get((tile, row), 0))
            for row in graph.rows(op, op.out) or ():
                start = max(start, read.get((op.out, row - graph.tiles[op.out].rolls), 0))
            end = free[op.unit, npu] = start + stripes.cycles[number, npu]
            for row in graph.rows(op, op.out) or (None,):
                written[op.out, row] = max(end, written.get((op.out, row), 0))
            for tile in op.reads:
                for row in graph.rows(op, tile) or ():
                    read[tile, row] = max(end, read.get((tile, row), 0))
    return max(free.values())


@pytest.mark.parametrize(
    ("network", "arch", "behind", "roll"),
    [*thinned([*NETWORKS], MACHINES, LAGS, [False, True], one_in=6)],
)
def test_what_is_expected_is_what_the_order_takes(network: str, arch: str, behind: Lags, roll):
    stripes = stripes_of(network, arch, behind, roll=roll)

    for preference in Preference:
        found = stripes.order(preference)
        assert found.cycles == makespan(stripes, found)
        assert found.cycles >= stripes.work


@pytest.mark.parametrize(
    ("network", "arch", "behind"), [*thinned([*NETWORKS], MACHINES, LAGS, one_in=4)]
)
def test_what_lags_as_much_keeps_its_order(network: str, arch: str, behind: Lags):
    stripes = stripes_of(network, arch, behind)
    numbers = [chain[0][0] for chain in plain_accumulations(stripes.tables.graph)]

    for preference in Preference:
        issued = stripes.order(preference).turns.ops.tolist()
        assert sorted(issued) == [*range(len(stripes.tables.graph.ops))]
        begun = [number for number in issued if number in set(numbers)]
        assert [stripes.places[n].turn for n in begun] == sorted(
            stripes.places[n].turn for n in begun
        )
        for lag in {place.lag for place in stripes.places}:
            ours = [number for number in begun if stripes.places[number].lag == lag]
            assert ours == [number for number in numbers if stripes.places[number].lag == lag]


@pytest.mark.parametrize("arch", ["flexer-arch1", "flexer-arch5"])
def test_an_accumulation_is_one_npus(arch: str):
    stripes = stripes_of("bottleneck", arch, (1,))

    for preference in Preference:
        turns = turns_of(stripes.order(preference).turns)
        npus = {number: npu for npu, ops in turns for number in ops}
        for chain in plain_accumulations(stripes.tables.graph):
            assert len({npus[number] for turn in chain for number in turn}) == 1
        assert {*npus.values()} == {*range(len(stripes.tables.arch.npus))}


def test_preferences_decide_between_what_can_start_at_once():
    """Where everything is there, the last chain goes first, or the first one."""
    stripes = stripes_of("bottleneck", "flexer-arch5", (1, 2))
    last = max(place.turn for place in stripes.places) // 2
    numbers = {number for number, place in enumerate(stripes.places) if place.turn == last}

    def first(preference: Preference) -> int:
        turns = turns_of(stripes.order(preference).turns)
        return next(stripes.places[ops[0]].lag for _, ops in turns if ops[0] in numbers)

    assert first(Preference.LATE) > first(Preference.EARLY)


@pytest.mark.parametrize(
    ("network", "arch", "behind", "preference"),
    [*thinned([*NETWORKS], MACHINES, LAGS[1:], [*Preference], one_in=6)],
)
def test_results_are_those_of_the_reference(
    network: str, arch: str, behind: Lags, preference: Preference
):
    found = grouped(NETWORKS[network](), arch, 1)
    behind = tuple(item for item in behind if item in found._tiles.may_lag)
    for rolls in (frozenset[str](), frozenset(found._tiles.may_roll(behind))):
        try:
            schedule = found.with_order(StripeOrder(behind, rolls=rolls, preference=preference))
        except InfeasibleError:
            continue
        schedule.verify()
        joined = replace(found.module, tile_schedule=join(found.module, [schedule], "static"))
        compiled = lowered_with(joined)
        assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize(
    ("arch", "size", "saved"),
    [("simba", 20, 0.08), pytest.param("flexer-arch1", 40, 0.08, marks=pytest.mark.slow)],
)
def test_engines_wait_less(arch: str, size: int, saved: float):
    found = grouped(inverted(size), arch, 1, compared=True)
    assert found.best_order.preference is not None

    mixed = [item for order, item in found.by_order.items() if order.preference is None]

    assert found.by_order[found.best_order].cycles < (1 - saved) * best_of(mixed).cycles


def test_what_no_engine_can_start_sooner_stays_mixed():
    """One chain: there is nothing to choose between on one NPU."""
    stripes = stripes_of("bottleneck", "simba", ())

    turns = turns_of(stripes.order(Preference.EVEN).turns)

    assert all(turns_of(stripes.order(preference).turns) == turns for preference in Preference)
    array = [n for _, ops in turns for n in ops if stripes.tables.graph.ops[n].unit is Unit.MX]
    assert array == sorted(array)
