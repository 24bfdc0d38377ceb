"""Nests judged by their tiles: what is estimated is what tiling and scheduling make of them."""

from collections import Counter
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.module import Module
from accnn.ir.proof import gap_of
from accnn.ir.tile_events import EventKind
from accnn.passes.analysis.batch import evaluate_batch
from accnn.passes.analysis.nest_batch import batch_nests
from accnn.passes.analysis.tile_batch import TileBatch
from accnn.passes.base import Context
from accnn.passes.mapping.base import MapOptions, MappingStatus, Objective, with_workspace
from accnn.passes.mapping.cosa.mapper import Cosa
from accnn.passes.mapping.in_tiles import InTiles, share_of
from accnn.passes.mapping.map_operators import map_tasks, mapping_of
from accnn.passes.mapping.measures import measure_of
from accnn.passes.mapping.output_stationary import OutputStationary
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.schedule_tiles import schedule_operator
from tests.networks import NetworkBuilder

LATENCY = MapOptions()


def planned(arch, channels, outputs, kernel, size, stride=1):
    """Return a convolution whose operands are streamed, and what is asked of its mapper."""
    net = NetworkBuilder()
    y = net.conv(net.input("x", (1, channels, size, size)), "y", outputs, kernel, stride=stride)
    module = Module(graph=net.build(y), arch=load_architecture(arch))
    module = ScheduleInOrder(scratchpad="16384").run(module, Context())
    ((_, task),) = map_tasks(module.graph, module.graph_schedule, module.arch)
    return module, task


def tiles_of(nest, arch, task, npus):
    machine = with_workspace(share_of(arch.for_npu(arch.npus[0]), npus), task.workspace)
    batch = batch_nests([nest])
    tiles = TileBatch(batch, machine, task.resident, npus)
    return tiles, evaluate_batch(batch, machine, placement=task.resident)


def solve(mapper, module, task, options=LATENCY):
    machine = module.arch.for_npu(module.arch.npus[0])
    return mapper.map(
        task.workload,
        machine,
        workspace=task.workspace,
        resident=task.resident,
        options=options,
    )


@pytest.mark.parametrize("arch", ["simba", "edge-1m", "flexer-arch5"])
@pytest.mark.parametrize("layer", [(64, 64, 3, 16), (128, 64, 1, 16), (16, 128, 1, 16)])
@pytest.mark.parametrize("mapper", ["cosa", "greedy"])
def test_counts_are_those_of_the_tile_graph_and_the_estimate_is_near(arch, layer, mapper):
    module, task = planned(arch, *layer)
    npus = len(module.arch.npus)
    found = InTiles(mapper=Cosa(), npus=npus) if mapper == "cosa" else OutputStationary()
    result = solve(found, module, task)

    schedule = schedule_operator(
        replace(module, mappings=(mapping_of("y", result),)), module.graph.ops[0]
    )

    tiles, cost = tiles_of(result.nest, module.arch, task, npus)
    kinds = Counter(event.kind for event in schedule.events)
    assert int(tiles.operations[0]) == kinds[EventKind.COMPUTE]
    assert int(tiles.accumulations[0]) == kinds[EventKind.FINISH]
    estimate = float(tiles.estimate(cost)[0]) / npus
    assert mapper != "cosa" or result.estimate == pytest.approx(estimate)
    assert estimate >= 0.75 * schedule.cycles
    if mapper == "cosa":  # others may keep more on chip than the estimate dares to hope
        assert estimate <= 1.25 * schedule.cycles


def test_few_tiles_are_made_where_they_cost_nothing():
    module, task = planned("simba", 64, 64, 1, 28)

    plain = solve(Cosa(), module, task)
    result = solve(InTiles(mapper=Cosa()), module, task)

    before, _ = tiles_of(plain.nest, module.arch, task, 1)
    after, cost = tiles_of(result.nest, module.arch, task, 1)
    assert int(after.operations[0]) <= int(before.operations[0])
    assert result.estimate == pytest.approx(float(after.estimate(cost)[0]))
    assert result.objective == pytest.approx(float(cost.cycles[0]))
    assert result.mapper == "cosa"


def test_it_is_never_estimated_slower_than_the_greedy_nest():
    module, task = planned("edge-1m", 24, 40, 3, 14, 2)

    greedy = solve(OutputStationary(), module, task)
    result = solve(InTiles(mapper=Cosa()), module, task)

    tiles, cost = tiles_of(greedy.nest, module.arch, task, 1)
    assert result.estimate <= float(tiles.estimate(cost)[0]) * (1 + 1e-9)


def test_energy_is_kept_where_it_is_the_objective():
    module, task = planned("edge-1m", 32, 32, 3, 14)
    options = MapOptions(objective=Objective.ENERGY)

    plain = solve(Cosa(), module, task, options)
    result = solve(InTiles(mapper=Cosa()), module, task, options)

    _, cost = tiles_of(result.nest, module.arch, task, 1)
    assert result.objective == pytest.approx(float(cost.energy_pj[0]))
    assert result.objective <= 1.01 * plain.objective


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("layer", [(64, 64, 1, 28), (24, 40, 3, 14)])
def test_the_bound_is_what_the_mapper_proved_of_the_same_function(layer, objective):
    module, task = planned("simba", *layer)
    options = MapOptions(objective=objective)

    plain = solve(Cosa(), module, task, options)
    result = solve(InTiles(mapper=Cosa()), module, task, options)

    _, cost = tiles_of(result.nest, module.arch, task, 1)
    assert (result.bound, result.scope) == (plain.bound, plain.scope)
    assert result.objective == pytest.approx(float(measure_of(objective)(cost)[0]))
    assert result.gap == gap_of(result.objective, plain.bound)
    worse = result.objective > plain.objective * (1 + 1e-9)
    assert not (worse and result.status is MappingStatus.OPTIMAL)


def test_a_bound_is_not_lowered_to_an_estimate():
    module, task = planned("flexer-arch5", 64, 64, 1, 28)
    npus = len(module.arch.npus)
    machine = share_of(module.arch.for_npu(module.arch.npus[0]), npus)

    alone = Cosa().map(
        task.workload, machine, workspace=task.workspace, resident=task.resident, options=LATENCY
    )
    result = solve(InTiles(mapper=Cosa(), npus=npus), module, task)

    assert result.bound == alone.bound / npus
    assert result.estimate != pytest.approx(result.objective)
