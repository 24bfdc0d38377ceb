"""Nests of fused groups: their weights remain from stripe to stripe where they fit together."""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Unit
from accnn.ir.isa.spaces import accumulator_level
from accnn.ir.ops import is_mac
from accnn.ir.tiles.events import EventKind
from accnn.ir.types import DType
from accnn.passes.analysis.batches.batch import evaluate_batch
from accnn.passes.analysis.batches.nest_batch import batch_nests
from accnn.passes.analysis.batches.tile_batch import TileBatch
from accnn.passes.base import Context
from accnn.passes.mapping.problem import Objective
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.scheduling.map_groups import GroupMapping, mapping_of
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.static.schedule_tiles import schedule_operator
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import planned

MEMBERS = ("a", "b", "c", "y")


def wide_bottleneck(size: int = 28):
    """Return a block of ResNet-50's second stage: 282 KB of weights, a row takes 14 KB."""
    net = NetworkBuilder()
    x = net.input("x", (1, 512, size, size))
    b = net.conv(net.conv(x, "a", 128, 1), "b", 128, 3)
    c = net.conv(b, "c", 512, 1)
    return net.build(net.op("add", (c, x), "y", quant=per_tensor(0.1, 1)))


def asked_of(group: Group, **options) -> GroupMapping:
    module = planned(wide_bottleneck(), "simba", (group,))
    return GroupMapping(module, group, Objective.LATENCY, 0, **options)


def solve(asked: GroupMapping):
    finder = MapOperators(mapper="output-stationary")
    return partial(finder.solve, arch=asked.module.arch, ctx=Context())


def test_weights_that_fit_remain_from_stripe_to_stripe():
    """With as many copies as each member likes best, they drive each other out: 1.1 MB of 74 KB."""
    net = NetworkBuilder()
    x = net.input("x", (1, 64, 56, 56))
    b = net.conv(net.conv(x, "a", 64, 3), "b", 64, 3)
    graph = net.build(net.op("add", (b, x), "y", quant=per_tensor(0.1, 1)))
    group = Group(members=("a", "b", "y"), rows=2)
    asked = GroupMapping(planned(graph, "simba", (group,)), group, Objective.LATENCY, 0)

    _, schedule = asked.best(solve(asked))

    loads = Counter[str]()
    for event in schedule.events:
        if event.kind is EventKind.LOAD:
            tile = schedule.graph.tiles[event.subject]
            loads[tile.tensor] += tile.bytes
    for name in ("a_w", "b_w"):  # stripes at the border have tiles of their own
        assert loads[name] <= 3 * graph.types[name].bytes


def test_members_share_out_the_memory_in_their_order():
    asked = asked_of(Group(members=MEMBERS, rows=1))
    capacity = asked.module.arch.whole_capacity("wb")
    types = asked.module.graph.types
    own = [types[op.operands[1]].bytes for op in asked.module.graph.ops if is_mac(op)]
    found = solve(asked)

    problems = [problem for _, problem in asked.problems(1.0, found)]

    left = capacity - sum(own)
    assert left >= 0
    for problem, size in zip(problems, own, strict=True):
        assert problem.kept_weights == left + size
        nest = found([(problem, "a")])[problem].nest
        left -= int(tiles_of(problem, nest).weights_bytes[0]) - size
    assert left >= 0


def test_weights_that_do_not_fit_are_asked_for_all_the_same():
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 256, 8, 8)), "a", 512, 3)
    graph = net.build(net.conv(a, "y", 16, 1))
    group = Group(members=("a", "y"), rows=2)
    asked = GroupMapping(planned(graph, "simba", (group,)), group, Objective.LATENCY, 0)

    problems = dict(asked.problems(1.0, solve(asked)))

    assert problems["a"].kept_weights < graph.types[graph.producer["a"].operands[1]].bytes
    nests, schedule = asked.best(solve(asked))
    assert {item.operator for item in nests} == {"a", "y"}
    assert schedule.transferred_bytes > graph.types[graph.producer["a"].operands[1]].bytes


def test_members_of_an_epilogue_are_no_parts_of_stripes():
    asked = asked_of(Group(members=("c", "y")))

    assert [problem.kept_weights for _, problem in asked.problems(1.0, solve(asked))] == [None]


def ending_in_a_pool(*others: str, rows: int = 0) -> GroupMapping:
    """Return what is asked of a filter and a table, or of these and a pool, on four NPUs."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 16, 56, 56)), "a", 64, 3)
    b = net.op("lookup", (a, net.constant("t", (256,), DType.S8)), "b", quant=per_tensor(0.1))
    net.op("max_pool", (b,), "c", {"kernel": (2, 4), "stride": (2, 4)})
    group = Group(members=("a", "b", *others), rows=rows)
    module = planned(net.build("c"), "flexer-arch5", (group,))
    return GroupMapping(module, group, Objective.LATENCY, 0)


def test_a_pool_asks_for_whole_windows_and_place_for_what_it_is_handed():
    plain, pooled = ending_in_a_pool(), ending_in_a_pool("c")

    ((_, alone),) = plain.problems(1.0, solve(plain))
    ((_, before),) = pooled.problems(1.0, solve(pooled))

    assert (alone.windows, before.windows) == ((1, 1), (2, 4))
    assert alone.workload.output_bits == 8 and before.workload.output_bits == 1
    arch, level = pooled.module.arch, accumulator_level(pooled.module.arch)
    sums = arch.level(level).usable * arch.instances(level) // arch.accumulator_bytes
    left, right = (item.module.graph_schedule.workspace(0).bytes // 4 for item in (plain, pooled))
    assert (alone.workspace, before.workspace) == (left, right - sums)


def test_stripes_hand_on_no_more_than_their_rows():
    asked = ending_in_a_pool("c", rows=1)

    ((_, problem),) = asked.problems(1.0, solve(asked))

    two_rows = 64 * 2 * 56  # of bytes; the accumulators of all NPUs hold more
    assert problem.workspace == (asked.module.graph_schedule.workspace(0).bytes - two_rows) // 4


def tiles_of(problem, nest) -> TileBatch:
    batch = batch_nests([nest])
    return TileBatch(batch, problem.machine, problem.held, kept_weights=problem.kept_weights)


@pytest.mark.parametrize(("channels", "kernel"), [(128, 3), (512, 1)])
def test_what_sums_take_on_their_way_out_is_what_the_vector_unit_takes(channels, kernel):
    """Of every unrolling, also those whose sums meet on links."""
    net = NetworkBuilder()
    graph = net.build(net.conv(net.input("x", (1, channels, 4, 28)), "y", 128, kernel))
    module = planned(graph, "simba", ())
    ((_, problem),) = MapOperators().problems(graph, module.graph_schedule, module.arch, 0)
    result = solve_one(module.arch, problem)
    startup = module.arch.vector.startup
    seen: set[float] = set()
    for nest in OutputStationary().nests(problem):
        mapping = mapping_of("y", replace(result, nest=nest))
        schedule = schedule_operator(replace(module, mappings=(mapping,)), graph.ops[0])
        events = [event for event in schedule.events if event.unit is Unit.VX]
        taken = sum(event.end - event.start - startup for event in events)
        tiles = tiles_of(replace(problem, kept_weights=0), nest)
        cost = evaluate_batch(tiles.batch, problem.machine, placement=problem.held)
        estimate = tiles.estimates(cost).vector
        seen.add(round(float(estimate[0])))
        assert estimate[0] == pytest.approx(taken, rel=0.25)
    assert len(seen) > 1


def solve_one(arch, problem):
    return MapOperators(mapper="output-stationary").solve(((problem, "y"),), arch, Context())[
        problem
    ]


def test_an_estimate_counts_weights_that_do_not_remain():
    asked = asked_of(Group(members=MEMBERS, rows=1))
    problem = dict(asked.problems(1.0, solve(asked)))["b"]
    nest = OutputStationary().nests(problem)[0]
    batch = batch_nests([nest])
    cost = evaluate_batch(batch, problem.machine, placement=problem.held)

    def estimate(kept: int) -> float:
        tiles = TileBatch(batch, problem.machine, problem.held, kept_weights=kept)
        return float(tiles.estimate(cost)[0])

    size = int(tiles_of(problem, nest).weights_bytes[0])
    again = 9 * 128 * 128 / 20
    assert estimate(size - 1) >= estimate(size) + again
    assert estimate(size) == estimate(2 * size)
