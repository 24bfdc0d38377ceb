"""Strided filters of 1x1 whose results go off chip read what was subsampled before."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph, Op
from accnn.ir.graph_schedule import GraphSchedule, Group
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.passes.base import Context
from accnn.passes.scheduling.cosma import schedule
from accnn.passes.scheduling.cosma.schedule import Cosma
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic, TrafficModel
from accnn.passes.scheduling.cosma.traffic.streaming import analytic_traffic
from accnn.passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from accnn.passes.scheduling.fusion import Fuse
from accnn.passes.scheduling.fusion.intervals import Intervals
from accnn.passes.scheduling.fusion.subsampled import keeps_space, regrouped, subsampled
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from accnn.runtime_sim.reference.run import run as run_reference
from tests.inputs import Array, random_inputs
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import planned, tiled
from tests.thinned import thinned

ROOM = 7000


def stage(
    size: int = 28, channels: int = 8, wider: int = 2, kernel: int = 1, stride: int = 2
) -> tuple[Graph, Mapping[str, Array]]:
    """The end of a residual block, and one that halves the image: its shortcut is %f."""
    net = NetworkBuilder()
    x = net.input("x", (1, channels, size, size))
    a = net.op("add", (net.conv(x, "before", channels, 3), x), "a", quant=per_tensor(0.1, 1))
    b = net.conv(a, "b", 2 * channels, 3, stride=2)
    f = net.conv(a, "f", wider * channels, kernel, stride=stride)
    if (wider, stride) != (2, 2):
        return net.build(net.conv(b, "c", 16, 3), f), net.data
    y = net.op("add", (net.conv(b, "c", 2 * channels, 3), f), "y", quant=per_tensor(0.1, 1))
    return net.build(net.conv(y, "z", channels, 1)), net.data


def plan_of(graph: Graph, *groups: Group) -> GraphSchedule:
    plan = planned(graph, "simba", groups, ROOM).graph_schedule
    assert plan is not None
    return plan


FIRST = Group(members=("before", "a", "f", "b"), rows=2)
LAST = Group(members=("c", "y"))


def test_a_filter_reads_what_was_subsampled():
    graph, data = stage()

    other = subsampled(graph, plan_of(graph, FIRST, LAST))

    read, made = other.producer["f"].operands[0], other.producer["f"]
    assert other.types[read].shape == (1, 8, 14, 14)
    assert made.result == graph.producer["f"].result
    assert other.producer[read].operands == ("a",)
    inputs, constants = random_inputs(graph, 0), Constants(data)
    expected = run_reference(graph, constants, inputs)["z"]
    assert (run_reference(other, constants, inputs)["z"] == expected).all()


def test_nothing_changes_where_the_result_stays_on_chip():
    graph, _ = stage()
    whole = planned(graph, "simba", (FIRST, LAST), 60_000).graph_schedule
    assert whole is not None
    together = Group(members=("before", "a", "f", "b", "c", "y"), rows=1)

    assert subsampled(graph, whole) is graph
    assert subsampled(graph, plan_of(graph, together)) is graph


def test_nothing_changes_without_a_group_that_makes_what_is_read():
    graph, _ = stage()

    assert subsampled(graph, plan_of(graph, LAST)) is graph


@pytest.mark.parametrize(
    "network",
    [stage(wider=1), stage(kernel=3), stage(wider=4, stride=1), stage(wider=4)],
    ids=["no-wider", "padded", "whole", "output"],
)
def test_filters_that_read_no_less_remain(network):
    graph, _ = network

    assert subsampled(graph, plan_of(graph, FIRST)) is graph


def test_a_result_that_nobody_reads_remains():
    graph, _ = stage()
    alone = replace(graph, ops=tuple(op for op in graph.ops if op.name not in "yz"), outputs=("c",))

    assert subsampled(alone, plan_of(alone, FIRST)) is alone


def test_the_filter_moves_to_who_reads_it():
    graph, _ = stage()
    plan = plan_of(graph, FIRST, LAST)
    other = subsampled(graph, plan)
    read = other.producer["f"].operands[0]
    maker = Group(members=("before", "a", read, "b"), rows=2)

    begun, finished = regrouped(graph, plan, other)

    assert begun == (maker, Group(members=("f", "c", "y")))
    assert finished == (maker, Group(members=("f", "y")))


def test_a_reader_of_no_group_gets_one_with_the_filter():
    graph, _ = stage()
    plan = plan_of(graph, FIRST)
    other = subsampled(graph, plan)

    for groups in regrouped(graph, plan, other):
        assert groups[1:] == (Group(members=("f", "y")),)


@pytest.mark.parametrize(("less", "rows", "keeps"), [(0, 2, True), (1, 2, False), (1, 0, True)])
def test_groups_of_stripes_keep_their_space(less: int, rows: int, keeps: bool):
    graph, _ = stage()
    plan = plan_of(graph, replace(FIRST, rows=rows), LAST)
    step = plan.step_of["before"]
    other = replace(
        plan,
        workspaces=tuple(
            replace(item, bytes=item.bytes - less) if item.step == step else item
            for item in plan.workspaces
        ),
    )

    assert keeps_space(plan, other) is keeps
    assert keeps_space(other, plan)


@pytest.mark.parametrize(
    ("arch", "number"), [*thinned(["simba", "edge-1m", "flexer-arch5"], [0, 1])]
)
def test_what_is_read_goes_off_chip_and_all_is_right(arch: str, number: int):
    graph, data = stage(14)
    plan = plan_of(graph, FIRST, LAST)
    other = subsampled(graph, plan)
    groups = [*regrouped(graph, plan, other)][number]

    compiled = tiled(replace(planned(other, arch, groups, 9000), constants=Constants(data)))

    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_it_is_chosen_where_less_moves_and_takes_no_longer_than_without_groups(
    monkeypatch: pytest.MonkeyPatch,
):
    """Whoever chooses groups offers those of the block; what they move is measured."""
    monkeypatch.setattr(Intervals, "groups", lambda self, **_: (FIRST, LAST))
    graph, data = stage()
    arch = load_architecture("edge-1m")
    exact = TiledTraffic(Terms(graph, arch))
    cosma = Cosma(arch=arch, budget=ROOM, latency=0.02, fuse=Fuse.GROUPS)

    same, plan = cosma.measured(graph, exact)
    other, less = cosma.measured(graph, exact, elsewhere=exact.of)

    assert same is graph
    assert len(other.ops) == len(graph.ops) + 1
    assert less.objective < plan.objective
    module = Module(graph=other, arch=arch, graph_schedule=less, constants=Constants(data))
    compiled = tiled(module)
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_a_plan_that_is_no_better_is_not_taken(monkeypatch: pytest.MonkeyPatch):
    """Who measures the other network says that all takes longer."""
    graph, _ = stage()
    arch = load_architecture("simba")
    fast = analytic_traffic(graph, arch, ROOM)
    asked: list[str] = []

    def slowly(other: Graph) -> TrafficModel:
        model = analytic_traffic(other, arch, ROOM)

        def answered(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
            asked.append(op.name)
            found = model(op, resident, workspace)
            return found and replace(found, cycles=10**9)

        return answered

    taken = plan_of(graph, FIRST, LAST)
    monkeypatch.setattr(
        schedule, "fused_plan", lambda graph, arch, plain, *_: replace(plain, plan=taken)
    )
    cosma = Cosma(arch=arch, budget=ROOM, fuse=Fuse.GROUPS)

    found, plan = cosma.measured(graph, fast, elsewhere=slowly)

    assert asked
    assert (found, plan) == (graph, taken)


@pytest.mark.parametrize("fuse", [Fuse.OFF, Fuse.EPILOGUES])
def test_without_groups_the_network_remains(fuse: Fuse):
    graph, _ = stage(14)
    module = Module(graph=graph, arch=load_architecture("simba"))

    after = ScheduleCosma(scratchpad=str(ROOM), fuse=fuse).run(module, Context())

    assert after.graph is graph


def test_the_pass_gives_the_network_that_its_plan_is_of(monkeypatch: pytest.MonkeyPatch):
    graph, _ = stage()
    plan = plan_of(graph, FIRST, LAST)
    other = subsampled(graph, plan)
    made = planned(other, "simba", next(regrouped(graph, plan, other)), ROOM).graph_schedule
    monkeypatch.setattr(Cosma, "measured", lambda *_: (other, made))

    after = ScheduleCosma().run(Module(graph=graph, arch=load_architecture("simba")), Context())

    assert (after.graph, after.graph_schedule) == (other, made)
