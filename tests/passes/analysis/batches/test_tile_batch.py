"""What is counted of the tiles of a nest is what cutting it makes, whatever its loops."""

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import accumulator_level
from accnn.ir.mapping import Loop, SpatialLoop, even_nest
from accnn.ir.ops import workload
from accnn.ir.tiles.events import TRANSFERS
from accnn.ir.tiles.graph import Role
from accnn.ir.workload import Dim, Operand
from accnn.passes.analysis.batches.batch import evaluate_batch
from accnn.passes.analysis.batches.nest_batch import batch_nests
from accnn.passes.analysis.batches.tile_batch import PORT_PRICE, TRAFFIC_PRICE, TileBatch
from accnn.passes.analysis.tile_cost import tile_cost
from accnn.passes.analysis.traffic import Direction
from accnn.passes.scheduling.static.static import schedule_static
from accnn.passes.scheduling.timing.retime import timed
from accnn.passes.tiling.mac import tile_mac
from accnn.passes.tiling.residency import Residency
from tests.networks import NetworkBuilder
from tests.thinned import examples

WEIGHTS, INPUTS, OUTPUTS = range(3)
STREAMED = Residency(addresses={}, workspace_address=0, workspace_bytes=1 << 20)
FACTORS = [Dim.P, Dim.P, Dim.Q, Dim.C, Dim.C, Dim.K]
REST = {Dim.P: 2, Dim.Q: 4, Dim.C: 2, Dim.K: 8, Dim.R: 3, Dim.S: 3}
MACHINES = {name: load_architecture(name) for name in ("edge-1m", "simba", "eyeriss")}


def convolution():
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 8, 8, 8)), "y", 16, 3)
    return net.build("y")


GRAPH = convolution()


@st.composite
def cut_nests(draw):
    """Draw an even nest of the convolution; return its machine, what is counted, and its tiles."""
    arch = MACHINES[draw(st.sampled_from(sorted(MACHINES)))]
    temporal = {level.name: [] for level in arch.levels}
    last = arch.index(accumulator_level(arch))
    for dim in draw(st.permutations(FACTORS)):
        at = draw(st.integers(0, min(3, last)))
        temporal[arch.levels[at].name].append(Loop(dim, 2))
    rest, spatial = dict(REST), []
    for fanout in arch.fanouts:
        dims = [dim for dim in (Dim.K, Dim.C) if dim in fanout.dims]
        dims = dims if fanout.reduction else [dim for dim in dims if dim is not Dim.C]
        if dims and draw(st.booleans()):
            dim = draw(st.sampled_from(dims))
            if rest[dim] > 1:
                rest[dim] //= 2
                spatial.append(SpatialLoop(dim, 2, fanout.name))
    temporal[arch.levels[last].name] += [Loop(dim, extent) for dim, extent in rest.items()]
    work = workload(GRAPH.ops[0], GRAPH.types)
    nest = even_nest(work, arch, temporal, spatial)
    try:
        tiles = tile_mac(GRAPH, GRAPH.ops[0], nest, arch, STREAMED)
    except InfeasibleError:
        assume(False)
    own = arch.for_npu(arch.npus[0])
    return own, TileBatch(batch_nests([nest]), own, frozenset()), tiles


def products(tiles):
    return [op for op in tiles.ops if op.accumulates]


def changes(sequence):
    """Return what comes in turn, each once until it changes."""
    return [item for item, _ in groupby(sequence)]


QUICK = settings(
    max_examples=examples(40), deadline=None, derandomize=True, phases=[Phase.generate]
)


@QUICK
@given(cut_nests())
def test_operations_and_accumulations_are_those_of_the_tiles(case):
    _, found, tiles = case
    finishing = [op for op in tiles.ops if tiles.finishes(op)]

    assert found.operations[0] == len(products(tiles))
    assert found.accumulations[0] == len(finishing)
    assert found.transfers.parameters[0] == 2 * len(changes(op.reads[1:] for op in finishing))


@QUICK
@given(cut_nests())
def test_sums_remain_in_the_array_or_leave_the_chip_where_their_tiles_do(case):
    _, found, tiles = case
    home = {tiles.sums_of(op): op.out for op in tiles.ops if tiles.finishes(op)}
    turns = changes(home[op.out] for op in products(tiles))

    assert found.cuts.is_inside[0] == (tiles.tiles[products(tiles)[0].out].space is Space.AB)
    assert found.cuts.spills_sums[0] == (len(turns) > len(set(turns)))


@QUICK
@given(cut_nests())
def test_tiles_are_as_large_and_as_many_as_those_that_are_cut(case):
    _, found, tiles = case
    every = {role: [tile for tile in tiles.tiles if tile.role is role] for role in Role}

    assert found.transfers.bytes[WEIGHTS, 0] == max(tile.bytes for tile in every[Role.W])
    assert found.transfers.bytes[OUTPUTS, 0] == max(tile.bytes for tile in every[Role.O])
    assert found.transfers.bytes[INPUTS, 0] >= max(tile.bytes for tile in every[Role.I])  # padding
    assert found.weights_bytes[0] == sum(tile.occupied for tile in every[Role.W])
    assert found.transfers.outputs[0] == len(every[Role.O])


@QUICK
@given(cut_nests())
def test_an_operation_takes_what_its_instruction_takes(case):
    arch, found, tiles = case
    costs = [tile_cost(tiles.nests[op.nests[0]], arch) for op in products(tiles)]

    ends = max(cost.fill_cycles + cost.drain_cycles for cost in costs)
    assert found.operation.cycles[0] == max(cost.steady_cycles for cost in costs)
    assert ends - 2 < found.operation.ends[0] <= ends  # both were rounded up


@QUICK
@given(cut_nests())
def test_an_operation_takes_of_the_scratchpads_ports_what_its_instruction_takes(case):
    arch, found, tiles = case
    pad, works = arch.scratchpad_level, []
    for op in products(tiles):
        bits = {Direction.READ: 0, Direction.WRITE: 0}
        for item in tile_cost(tiles.nests[op.nests[0]], arch).traffic:
            if item.place == pad.name:
                bits[item.direction] += item.busiest_bits
        both = bits[Direction.READ] / 8, bits[Direction.WRITE] / 8
        if pad.shared_port:
            works.append(sum(both) / pad.read_bandwidth)
        else:
            works.append(max(both[0] / pad.read_bandwidth, both[1] / pad.write_bandwidth))

    assert found.operation.ports[0] == pytest.approx(max(works))


@QUICK
@given(cut_nests())
def test_ports_of_the_scratchpad_count_in_stripes_alone(case):
    arch, found, _ = case
    for kept, traffic in ((None, TRAFFIC_PRICE), (1 << 20, TRAFFIC_PRICE), (None, 0.7)):
        tiles = replace(found, kept_weights=kept, traffic_price=traffic)
        cost = evaluate_batch(tiles.batch, arch)
        price = tiles.estimate(cost) + traffic * tiles.estimates(cost).channel
        if kept is not None:
            price = price + PORT_PRICE * tiles.operations * tiles.operation.ports

        assert tiles.price(cost) == pytest.approx(price)


@QUICK
@given(cut_nests())
def test_a_part_of_bringing_the_first_tile_of_weights_counts_where_all_remain(case):
    arch, found, _ = case
    for kept in (None, 0, 1 << 40):
        tiles = replace(found, kept_weights=kept)
        cost = evaluate_batch(tiles.batch, arch)
        more = replace(tiles, first_tile=0.25).estimate(cost) - tiles.estimate(cost)

        bringing = tiles.transfers.bytes[WEIGHTS] / arch.off_chip.read_bandwidth
        assert more == pytest.approx(0.25 * bringing if kept else [0.0])


@pytest.mark.parametrize("capacity", [0, 1 << 40])
@QUICK
@given(cut_nests())
def test_tiles_come_whenever_they_change_or_once_where_all_have_room(capacity, case):
    arch, found, tiles = case
    levels = (
        level if level.capacity is None else replace(level, capacity=capacity)
        for level in arch.levels
    )
    found = replace(found, arch=replace(arch, levels=tuple(levels)))
    moved, count = 0, 0
    for position, operand in enumerate((INPUTS, WEIGHTS)):
        turns = changes(op.reads[position] for op in products(tiles))
        loads = len(set(turns) if capacity else turns)
        for way in found.transfers.loads:
            assert way[operand, 0] == loads
        moved, count = moved + loads * int(found.transfers.bytes[operand, 0]), count + loads

    if not found.cuts.spills_sums[0]:
        made = [tile for tile in tiles.tiles if tile.role is Role.O]
        moved += sum(tile.bytes for tile in made)
        count += len(made) + int(found.transfers.parameters[0])
        cost = evaluate_batch(found.batch, found.arch)
        startup = arch.dma.startup / arch.dma.channels
        expected = moved / arch.off_chip.read_bandwidth + count * startup
        assert found.estimates(cost).channel[0] == pytest.approx(expected)


def test_weights_that_no_tile_on_chip_keeps_lie_whole_in_their_own_memory():
    """An operation reads them there as if a tile of all of them were kept."""
    arch = MACHINES["eyeriss"]
    work = workload(GRAPH.ops[0], GRAPH.types)
    temporal = {"ab": [Loop(dim, extent) for dim, extent in work.dims.items()]}
    found = []
    for bypass in (frozenset(), frozenset({(Operand.W, "wb")})):
        nest = even_nest(work, arch, temporal, bypass=bypass)
        found.append(TileBatch(batch_nests([nest]), arch, frozenset()))
    kept, nowhere = found

    assert len(nowhere.batch.levels[Operand.W]) == 1
    assert nowhere.operations[0] == kept.operations[0] == 1
    assert nowhere.operation.cycles[0] == kept.operation.cycles[0]
    assert nowhere.operation.ends[0] == kept.operation.ends[0]
    assert nowhere.operation.ports[0] == kept.operation.ports[0]


@pytest.mark.parametrize(("bandwidth", "waits"), [(32, True), (256, False)])
def test_operations_that_wait_for_the_place_of_their_sums_are_seen(bandwidth: int, waits: bool):
    """Each reads 14 KiB before it begins, once one of two places for its sums is finished."""
    arch = MACHINES["simba"]
    levels = (
        replace(level, read_bandwidth=float(bandwidth)) if level.name == "gb" else level
        for level in arch.levels
    )
    arch = replace(arch, levels=tuple(levels))
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 128, 28, 28)), "y", 128, 3)
    graph = net.build("y")
    temporal = {level.name: [] for level in arch.levels}
    temporal["dram"] = [Loop(Dim.P, 14), Loop(Dim.K, 16)]
    temporal["ab"] = [Loop(Dim.S, 3), Loop(Dim.R, 3)]
    temporal["reg"] = [Loop(Dim.P, 2), Loop(Dim.Q, 28)]
    spatial = [(Dim.C, 16, "pe"), (Dim.K, 8, "lane"), (Dim.C, 8, "mac")]
    unrolled = [SpatialLoop(*loop) for loop in spatial]
    nest = even_nest(workload(graph.ops[0], graph.types), arch, temporal, unrolled)
    batch = batch_nests([nest])
    ranges = {
        Space.GB: (0, 1 << 17),
        Space.WB: (0, arch.whole_capacity("wb")),
        Space.AB: (0, arch.whole_capacity("ab")),
        Space.PB: (0, arch.vector.parameter_bytes),
    }
    tiles = tile_mac(graph, graph.ops[0], nest, arch, STREAMED)
    taken = timed(schedule_static(tiles, arch, ranges), arch).cycles
    found = TileBatch(batch, arch, frozenset()).estimate(evaluate_batch(batch, arch))[0]

    assert found == pytest.approx(taken, rel=0.08)
    assert (taken > 1.15 * 112_896) == waits


@pytest.mark.parametrize(
    ("outer", "times"),
    [
        ([Loop(Dim.P, 4), Loop(Dim.K, 4)], 4),  # NPUs make different channels
        ([Loop(Dim.K, 4), Loop(Dim.P, 4)], 1),  # all NPUs go through the same filters
        ([Loop(Dim.P, 2), Loop(Dim.K, 4), Loop(Dim.P, 2)], 2),  # two of them do
    ],
)
def test_filters_that_several_npus_need_at_a_time_come_once(outer: list[Loop], times: int):
    """Sums of three rows each, and a scratchpad in which hardly any filters remain."""
    machine = load_architecture("flexer-arch5")
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 256, 12, 12)), "y", 128, 3)
    graph = net.build("y")
    work = workload(graph.ops[0], graph.types)
    temporal = {level.name: [] for level in machine.levels}
    temporal["dram"] = [*outer, Loop(Dim.C, 8), Loop(Dim.S, 3), Loop(Dim.R, 3)]
    temporal["reg"] = [Loop(Dim.P, 3), Loop(Dim.Q, 12)]
    unrolled = [SpatialLoop(Dim.K, 32, "column"), SpatialLoop(Dim.C, 32, "row")]
    bypass = frozenset({(Operand.O, "gb")})
    nest = even_nest(work, machine, temporal, unrolled, bypass=bypass)
    resident = frozenset({Operand.I, Operand.O})
    place = Residency(
        addresses={"x": 1 << 14, "y": 1 << 16}, workspace_address=0, workspace_bytes=12 << 10
    )
    tiles = tile_mac(graph, graph.ops[0], nest, machine, place)
    ranges = {
        Space.GB: (0, 12 << 10),
        Space.AB: (0, machine.whole_capacity("ab")),
        Space.PB: (0, machine.vector.parameter_bytes),
    }
    schedule = schedule_static(tiles, machine, ranges)
    moved = [event for event in schedule.events if event.kind in TRANSFERS]
    loads = [item for item in moved if schedule.graph.tiles[item.subject].role is Role.W]
    npus = len(machine.npus)
    found = TileBatch(batch_nests([nest]), machine, resident, npus, kept_weights=0)

    filters = 4 * 8 * 3 * 3
    assert found.transfers.loads[0, WEIGHTS, 0] == times * filters
    assert len(loads) == pytest.approx(times * filters, rel=0.1)


@pytest.mark.parametrize(
    ("inside", "windows", "waits"),
    [
        ((2, 4), (2, 2), False),
        ((1, 8), (2, 2), True),
        ((2, 1), (2, 2), True),
        ((2, 1), (2, 1), False),
        ((8, 8), (3, 3), False),
        ((1, 1), (1, 1), False),
    ],
)
def test_npus_that_tear_windows_wait_for_each_other(inside, windows, waits):
    """A pool needs what several of them make, unless each makes whole windows, or all there is."""
    arch = load_architecture("flexer-arch5")
    rows, columns = inside
    outer = [Loop(Dim.K, 2), Loop(Dim.P, 8 // rows), Loop(Dim.Q, 8 // columns)]
    inner = [Loop(Dim.R, 3), Loop(Dim.S, 3), Loop(Dim.P, rows), Loop(Dim.Q, columns)]
    temporal = {level.name: [] for level in arch.levels}
    temporal[arch.levels[0].name], temporal[accumulator_level(arch)] = outer, inner
    spatial = [SpatialLoop(Dim.C, 8, "row"), SpatialLoop(Dim.K, 8, "column")]
    nest = even_nest(workload(GRAPH.ops[0], GRAPH.types), arch, temporal, spatial)
    resident = frozenset({Operand.I, Operand.O})

    def taken(given: tuple[int, int]) -> float:
        batch = batch_nests([nest])
        cost = evaluate_batch(batch, arch, placement=resident)
        return float(TileBatch(batch, arch, resident, 4, windows=given).estimate(cost)[0])

    assert (taken(windows) > taken((1, 1))) == waits
