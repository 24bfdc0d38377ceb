"""Multicast where a spatial loop is not relevant, unicast where it is; sums are added."""

from dataclasses import replace

import pytest

from accnn.ir.mapping import Allocation, LoopNest, SpatialLoop
from accnn.ir.mesh import Mesh
from accnn.ir.workload import Dim, Operand, Workload
from accnn.runtime_sim.array.nest import ArrayNest
from accnn.runtime_sim.noc.destinations import groups_of, next_hops

from .machines import network
from .nests import I, O, W, machine

MESH = Mesh(network())


def unrolled(*loops, arch=None):
    arch = arch or machine()
    spatial = tuple(SpatialLoop(dim, extent, "pe") for dim, extent in loops)
    workload = Workload(**{dim.value: extent for dim, extent in loops})
    homes = tuple(
        Allocation(operand, level, 0) for operand in Operand for level in ("dram", "near")
    )
    return ArrayNest(
        LoopNest(workload=workload, temporal=(), spatial=spatial, allocations=homes), arch
    )


@pytest.mark.parametrize(
    ("dim", "multicast", "unicast"),
    [(Dim.P, (W,), (I, O)), (Dim.K, (I,), (W, O)), (Dim.C, (O,), (W, I))],
)
def test_a_loop_alone_as_in_figure_5(dim, multicast, unicast):
    nest = unrolled((dim, 4))

    for operand in multicast:
        assert groups_of(nest, MESH, operand).members == ((0, 1, 2, 3),)
    for operand in unicast:
        assert groups_of(nest, MESH, operand).members == ((0,), (1,), (2,), (3,))


def test_two_loops_make_rows_and_columns():
    nest = unrolled((Dim.K, 3), (Dim.P, 4))

    assert groups_of(nest, MESH, W).members == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))
    assert groups_of(nest, MESH, I).members == ((0, 4, 8), (1, 5, 9), (2, 6, 10), (3, 7, 11))
    assert len(groups_of(nest, MESH, O).members) == 12


def test_without_multicast_everyone_is_sent_its_own():
    arch = machine()
    alone = replace(arch, fanouts=(replace(arch.fanouts[0], multicast=(W,)), arch.fanouts[1]))
    nest = unrolled((Dim.K, 3), arch=alone)

    assert groups_of(nest, MESH, I).members == ((0,), (1,), (2,))
    assert groups_of(unrolled((Dim.P, 3), arch=alone), MESH, W).members == ((0, 1, 2),)


def test_sums_go_along_rows_then_along_the_column_of_the_port():
    port = MESH.scratchpad_nodes[0]  # at the first router

    hops = next_hops(MESH, (0, 1, 2, 5, 6, 10), port)

    assert hops == {2: 1, 1: 0, 6: 5, 10: 5, 5: 0, 0: port}


def test_the_sums_of_one_child_go_to_the_port_at_once():
    assert next_hops(MESH, (7,), 12) == {7: 12}
