"""A tile takes the ways that its layout names, as long as its flits and links say."""

import pytest

from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.workload import Dim, Workload
from accnn.runtime_sim.noc.tile_crossing import NOTHING, TileCrossings

from .nests import O, W, machine

CROSSINGS = TileCrossings(machine())
MESH = CROSSINGS.mesh


def layout(operand, spatial):
    """Return how a tile of 4 x 3 elements lies in the memories near the MACs."""
    extents = {loop.dim.value: loop.extent for loop in spatial}
    return LoopNest(
        workload=Workload(**extents),
        temporal=(Loop(Dim.P, 1),),
        spatial=spatial,
        allocations=(Allocation(operand, "near", 0),),
    )


def over(crossing, nodes, way):
    return [crossing.carried.get(way(node), 0) for node in nodes]


@pytest.mark.parametrize("inwards", [True, False])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
def test_what_goes_to_the_scratchpad_is_split_over_its_ports(size, inwards):
    crossing = CROSSINGS.between(size, inwards=inwards)

    if not size:
        assert crossing == NOTHING
        return
    pads, outer = MESH.scratchpad_nodes, MESH.off_chip_nodes
    ways = (MESH.link_out, MESH.link_in) if inwards else (MESH.link_in, MESH.link_out)
    each = -(-size // min(len(pads), size))
    assert over(crossing, pads[: min(len(pads), size)], ways[0]) == [each] * min(len(pads), size)
    assert sum(over(crossing, outer, ways[1])) == each * min(len(pads), size)
    assert crossing.latency <= crossing.cycles
    assert max(crossing.carried.values()) <= crossing.cycles


def test_weights_go_once_to_all_that_share_them():
    """Four elements of a kind get one packet each; without loops that tell them apart, one does."""
    shared = layout(W, (SpatialLoop(Dim.P, 4, "pe"),))
    told = layout(W, (SpatialLoop(Dim.K, 4, "pe"),))
    ports, children = MESH.off_chip_nodes, range(4)

    one, each = (
        CROSSINGS.of_layout(item, 5, is_off_chip=True, inwards=True) for item in (shared, told)
    )

    assert sum(over(one, ports, MESH.link_in)) == 5
    assert sum(over(each, ports, MESH.link_in)) == 20
    for crossing in (one, each):
        assert over(crossing, children, MESH.link_out) == [5] * 4


def test_sums_are_added_on_their_way_out_and_come_back_to_one():
    added = layout(O, (SpatialLoop(Dim.C, 4, "pe"),))
    ports = MESH.scratchpad_nodes

    out, back = (
        CROSSINGS.of_layout(added, 6, is_off_chip=False, inwards=flag) for flag in (False, True)
    )

    assert sum(over(out, ports, MESH.link_out)) == 6
    assert over(out, range(4), MESH.link_in) == [6] * 4
    assert out.cycles >= 4 * 6  # each waits for the one before
    assert sum(over(back, ports, MESH.link_in)) == 6
    assert sum(over(back, range(4), MESH.link_out)) == 6
