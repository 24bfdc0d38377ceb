"""Nests judged by their tiles: what is estimated is what tiling and scheduling make of them."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Unit
from accnn.ir.module import Module
from accnn.ir.proof import gap_of
from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.batches.batch import evaluate_batch
from accnn.passes.analysis.batches.nest_batch import batch_nests
from accnn.passes.analysis.batches.tile_batch import TileBatch
from accnn.passes.base import Context
from accnn.passes.mapping.mapper import MappingResult, MappingStatus
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.mapping.recipes.in_tiles import InTiles, Shared, in_tiles
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.mapping.search.uneven import improve
from accnn.passes.scheduling.map_operators import MapOperators, mapping_of
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.static.schedule_tiles import schedule_operator
from tests.networks import NetworkBuilder
from tests.thinned import thinned

BOUNDED = (Objective.LATENCY, Objective.EDP, Objective.ENERGY)
STRIPE = frozenset({Operand.I, Operand.O})


def planned(arch, channels, outputs, kernel, size, stride=1):
    """Return a convolution whose operands are streamed, and what is asked of its mapper."""
    net = NetworkBuilder()
    y = net.conv(net.input("x", (1, channels, size, size)), "y", outputs, kernel, stride=stride)
    module = Module(graph=net.build(y), arch=load_architecture(arch))
    module = ScheduleInOrder(scratchpad="16384").run(module, Context())
    asked = MapOperators().problems(module.graph, module.graph_schedule, module.arch, 0)
    ((_, problem),) = asked
    return module, problem


@cache
def by_cosa(problem: MappingProblem) -> MappingResult:
    """Return what the mapper finds, once for all tests that look at it."""
    return Cosa().map(problem)


@cache
def by_cosa_in_tiles(problem: MappingProblem, npus: int = 1) -> MappingResult:
    """Return what it finds as improved for tiles, once for all tests that look at it."""
    return InTiles(mapper=Cosa(), npus=npus).map(problem)


def tiles_of(nest, problem, npus):
    own = Shared(problem, npus).problem
    batch = batch_nests([nest])
    tiles = TileBatch(batch, own.machine, own.held, npus)
    return tiles, evaluate_batch(batch, own.machine, placement=own.held)


def estimated(nest, problem):
    tiles, cost = tiles_of(nest, problem, 1)
    return float(tiles.estimate(cost)[0])


@pytest.mark.parametrize(
    ("arch", "layer", "mapper"),
    [
        *thinned(
            ["simba", "edge-1m", "flexer-arch5"],
            [(64, 64, 3, 16), (16, 128, 1, 16)],
            ["greedy", "cosa"],
        )
    ],
)
def test_counts_are_those_of_the_tile_graph_and_the_estimate_is_near(arch, layer, mapper):
    module, problem = planned(arch, *layer)
    npus = len(module.arch.npus)
    result = (
        by_cosa_in_tiles(problem, npus) if mapper == "cosa" else OutputStationary().map(problem)
    )

    schedule = schedule_operator(
        replace(module, mappings=(mapping_of("y", result),)),
        module.graph.ops[0],
        other_ways=False,  # first additions that are apart are operations of their own
    )

    tiles, cost = tiles_of(result.nest, problem, npus)
    engines = Counter(event.unit for event in schedule.events)
    assert int(tiles.operations[0]) == engines[Unit.MX]
    assert int(tiles.accumulations[0]) == engines[Unit.VX]
    estimate = float(tiles.estimate(cost)[0]) / npus
    assert mapper != "cosa" or result.estimate == pytest.approx(estimate)
    assert estimate >= 0.75 * schedule.cycles
    if mapper == "cosa":  # others may keep more on chip than the estimate dares to hope
        assert estimate <= 1.25 * schedule.cycles


def test_tiles_of_weights_are_small_where_bringing_the_first_one_counts() -> None:
    """In a stripe that keeps all of them, their size costs nothing otherwise."""
    arch = load_architecture("simba")
    work = Workload(K=1024, C=256, Q=14, psum_bits=arch.accumulator_bits)
    problem = MappingProblem(
        workload=work, arch=arch, workspace=1 << 16, kept_weights=1 << 19, resident=STRIPE
    )

    sizes = [
        int(TileBatch(batch_nests([nest]), arch, problem.held).transfers.bytes[0, 0])
        for nest in (
            InTiles(mapper=OutputStationary(), first_tile=part).map(problem).nest
            for part in (0.0, 0.3)
        )
    ]

    assert sizes[0] == 1024 * 256
    assert sizes[1] <= sizes[0] // 4


def test_mappers_of_whole_networks_find_nests_that_move_less_in_the_same_time() -> None:
    """Of a filter of VGG-16's fourth block, whose transfers the array hides either way."""
    arch = load_architecture("simba")
    work = Workload(R=3, S=3, P=28, Q=28, C=512, K=512, psum_bits=arch.accumulator_bits)
    problem = MappingProblem(workload=work, arch=arch, workspace=1 << 17)
    own = in_tiles(Cosa(), 1)
    assert isinstance(own, InTiles)
    asked = InTiles(mapper=OutputStationary()), replace(own, mapper=OutputStationary())

    plain, other = (mapper.map(problem) for mapper in asked)

    before, after = (
        float(tiles.estimates(cost).channel[0])
        for tiles, cost in (tiles_of(found.nest, problem, 1) for found in (plain, other))
    )
    assert after < 0.7 * before
    assert other.estimate == pytest.approx(plain.estimate, rel=1e-3)


def test_few_tiles_are_made_where_they_cost_nothing():
    _, problem = planned("simba", 64, 64, 1, 28)

    plain = by_cosa(problem)
    result = by_cosa_in_tiles(problem)

    before, _ = tiles_of(plain.nest, problem, 1)
    after, cost = tiles_of(result.nest, problem, 1)
    assert int(after.operations[0]) <= int(before.operations[0])
    assert result.estimate == pytest.approx(float(after.estimate(cost)[0]))
    assert result.objective == pytest.approx(float(cost.cycles[0]))
    assert result.mapper == "cosa"


def test_it_is_never_estimated_slower_than_the_greedy_nest():
    _, problem = planned("edge-1m", 64, 64, 3, 16)

    greedy = OutputStationary().map(problem)
    result = by_cosa_in_tiles(problem)

    assert result.estimate <= estimated(greedy.nest, problem) * (1 + 1e-9)


def test_every_unrolling_of_the_greedy_mapper_is_improved():
    """Of these stripes, the unrolling that is best at first is the worst after all steps."""
    workload = Workload(P=2, Q=56, C=96, K=24)
    problem = MappingProblem(workload=workload, arch=load_architecture("simba"))
    greedy = OutputStationary()
    starts, judge = greedy.nests(problem), Shared(problem, 1).judge(0.0)

    result = InTiles(mapper=greedy).map(problem)

    ends = [improve(nest, problem, judge, rounds=60) for nest in starts]
    before, after = ([estimated(nest, problem) for nest in nests] for nests in (starts, ends))
    assert result.estimate <= min(after)
    assert after[before.index(min(before))] > 1.5 * min(after)


def test_energy_decides_between_nests_that_take_as_long_and_nothing_where_it_is_free():
    _, problem = planned("simba", 64, 64, 1, 28)
    arch = problem.arch
    levels = tuple(replace(item, read_energy=0.0, write_energy=0.0) for item in arch.levels)
    fanouts = tuple(replace(item, hop_energy=0.0) for item in arch.fanouts)
    free = replace(arch, levels=levels, fanouts=fanouts, mac_energy=0.0)
    nests = OutputStationary().nests(problem)
    batch = batch_nests(nests)

    for machine in (arch, free):
        shared = Shared(replace(problem, arch=machine), 1)
        cost = evaluate_batch(batch, shared.problem.machine, placement=shared.problem.held)
        cycles = TileBatch(batch, shared.problem.machine, shared.problem.held).price(cost)
        ratio = shared.judge(0.0)(batch, cost) / cycles
        assert (ratio == 1.0).all() == (machine is free)
        assert (ratio.argsort() == cost.energy_pj.argsort()).all()


def test_energy_is_kept_where_it_is_the_objective():
    _, problem = planned("edge-1m", 32, 32, 3, 14)
    problem = replace(problem, objective=Objective.ENERGY)

    plain = by_cosa(problem)
    result = by_cosa_in_tiles(problem)

    _, cost = tiles_of(result.nest, problem, 1)
    assert result.objective == pytest.approx(float(cost.energy_pj[0]))
    assert result.objective <= 1.01 * plain.objective


@pytest.mark.parametrize(
    ("layer", "objective"), [*thinned([(64, 64, 1, 28), (24, 40, 3, 14)], BOUNDED, one_in=3)]
)
def test_the_bound_is_what_the_mapper_proved_of_the_same_function(layer, objective):
    _, problem = planned("simba", *layer)
    problem = replace(problem, objective=objective)

    plain = by_cosa(problem)
    result = by_cosa_in_tiles(problem)

    _, cost = tiles_of(result.nest, problem, 1)
    assert (result.bound, result.scope) == (plain.bound, plain.scope)
    assert result.objective == pytest.approx(float(objective.of(cost)[0]))
    assert result.gap == gap_of(result.objective, plain.bound)
    worse = result.objective > plain.objective * (1 + 1e-9)
    assert not (worse and result.status is MappingStatus.OPTIMAL)


def test_a_bound_is_not_lowered_to_an_estimate():
    module, problem = planned("flexer-arch5", 16, 128, 1, 16)
    npus = len(module.arch.npus)

    alone = Cosa().map(Shared(problem, npus).problem)
    result = by_cosa_in_tiles(problem, npus)

    assert result.bound == alone.bound / npus
    assert result.estimate != pytest.approx(result.objective)


def test_of_nests_that_take_as_long_the_one_that_moves_less_is_better():
    """Weights of 576 KB pass twice if rows are the outer loop, once if outputs are."""
    net = NetworkBuilder()
    y = net.conv(net.input("x", (1, 256, 14, 14)), "y", 256, 3)
    module = Module(graph=net.build(y), arch=load_architecture("simba"))
    module = ScheduleInOrder().run(module, Context())
    asked = MapOperators().problems(module.graph, module.graph_schedule, module.arch, 0)
    ((_, problem),) = asked
    shared = Shared(problem, 1)
    judge = shared.judge(0.0)

    rows_first = [
        nest
        for nest in OutputStationary().nests(shared.problem)
        if [str(loop.dim) for loop in nest.temporal[:2]] == ["P", "K"]
    ]

    assert rows_first
    for nest in rows_first:
        other = swapped(nest)
        (cycles, price), (as_long, less) = price_terms(nest, problem), price_terms(other, problem)
        assert cycles == as_long
        assert less < price
        assert shared.best([nest, other], judge) == other


def swapped(nest):
    """Return a nest with its two outermost loops the other way round."""
    first, second, *others = nest.temporal
    return replace(nest, temporal=(second, first, *others))


def price_terms(nest, problem):
    """Return the estimate of a nest, and its price [cycle]."""
    tiles, cost = tiles_of(nest, problem, 1)
    return tiles.estimate(cost)[0], tiles.price(cost)[0]
