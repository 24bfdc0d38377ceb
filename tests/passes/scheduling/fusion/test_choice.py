"""Plans with groups never move more; which operators follow which."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph_schedule import GraphSchedule
from accnn.ir.module import Module
from accnn.passes.base import Context
from accnn.passes.scheduling.fusion import Fuse
from accnn.passes.scheduling.fusion.epilogues import epilogues
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.fused import bottleneck, fire, inverted


def plan(make, arch: str, fuse: Fuse, scratchpad: str) -> GraphSchedule:
    graph, _ = make(28)
    module = Module(graph=graph, arch=load_architecture(arch))
    found = ScheduleCosma(fuse=fuse, scratchpad=scratchpad).run(module, Context()).graph_schedule
    assert found is not None
    return found


@pytest.mark.parametrize("make", [bottleneck, inverted])
@pytest.mark.parametrize("arch", ["simba", "edge-1m"])
@pytest.mark.parametrize("scratchpad", ["9000", "20000"])
def test_fusing_never_moves_more(make, arch: str, scratchpad: str):
    off, epilogue, groups = (plan(make, arch, fuse, scratchpad) for fuse in Fuse)

    assert off.objective >= epilogue.objective >= groups.objective
    assert not off.groups
    assert all(group.rows == 0 for group in epilogue.groups)


def test_groups_are_chosen_where_tensors_do_not_fit():
    off, groups = (plan(inverted, "edge-1m", fuse, "20000") for fuse in (Fuse.OFF, Fuse.GROUPS))

    assert groups.groups
    assert groups.objective <= off.objective


def test_concatenations_are_members_of_groups_that_are_chosen():
    off, groups = (plan(fire, "simba", fuse, "40000") for fuse in (Fuse.OFF, Fuse.GROUPS))

    assert any("joined" in group.members for group in groups.groups)
    assert groups.objective <= off.objective


def test_an_addition_follows_one_of_the_convolutions_that_it_adds():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    a, b = net.conv(x, "a", 8, 3), net.conv(x, "b", 8, 1)
    graph = net.build(net.op("add", (a, b), "y", quant=per_tensor(0.1)))

    (group,) = epilogues(graph, load_architecture("simba"))

    assert group.members == ("a", "y")


def test_what_is_read_twice_has_no_epilogue():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    a = net.conv(x, "a", 8, 3)
    b = net.conv(a, "b", 8, 1)
    graph = net.build(net.op("add", (a, b), "y", quant=per_tensor(0.1)))

    assert [group.members for group in epilogues(graph, load_architecture("simba"))] == [("b", "y")]
