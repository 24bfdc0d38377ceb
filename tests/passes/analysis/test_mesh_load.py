"""The closed form loads every link of the mesh with what the simulator sends over it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import ArchitectureError
from accnn.ir.mapping import Allocation, Loop, LoopNest
from accnn.ir.mesh import mesh_of
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.analysis.mesh_load import MeshLoad, _Loads, mesh_load, network_cycles
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary
from accnn.runtime_sim.noc.nest_traffic import run_nest
from tests.thinned import examples

from ...nest_strategies import nests
from ...runtime_sim.noc.cycle_by_cycle import Task
from ...runtime_sim.noc.machines import network, run
from ...runtime_sim.noc.nests import machine

PORTS = network(flit_bits=8, scratchpad_ports=((0, 0), (0, 2)), off_chip_ports=((0, 1), (3, 1)))
MACHINES = (machine(), machine(network=PORTS))
"""With one port of each memory, and with two of them."""


def check_links(nest, arch):
    """Check the flits over every link."""
    load, run = mesh_load(nest, arch), run_nest(nest, arch)

    assert [load.links[link] for link in range(len(run.crossed))] == run.crossed.tolist()
    assert {link: flits for link, flits in load.links.items() if flits} == {
        link: flits for link, flits in run.carried.items() if flits
    }
    assert load.busiest == max(run.crossed) <= run.cycles


@given(nests(machine()), st.sampled_from(MACHINES))
@settings(max_examples=50, deadline=None)  # the first one compiles
def test_every_link_carries_what_the_simulator_sends(nest, arch):
    check_links(nest, arch)


@given(st.data())
@settings(max_examples=examples(30), deadline=None)
def test_what_lies_in_the_scratchpad_comes_from_its_ports(data):
    """As in the simulator, where the nest then begins at the scratchpad for this operand."""
    drawn = data.draw(nests(machine()))
    inner = [item for item in drawn.allocations if (item.operand, item.level) != (Operand.I, "gb")]
    nest = replace(drawn, allocations=tuple(inner))
    homes = (
        replace(item, level="gb") if (item.operand, item.level) == (Operand.I, "dram") else item
        for item in inner
    )

    load = mesh_load(nest, machine(), frozenset({Operand.I}))

    run = run_nest(replace(nest, allocations=tuple(homes)), machine())
    assert [load.links[link] for link in range(len(run.crossed))] == run.crossed.tolist()


@given(st.integers(0, 11), st.sets(st.integers(0, 11), min_size=1, max_size=4), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_tile_that_meets_no_other_is_under_way_as_long_as_in_the_simulator(port, to, data):
    """As far as it is one packet; from off chip the memory's own time comes on top."""
    others = tuple(sorted(to - {port})) or ((port + 1) % 12,)
    net = network(
        router_cycles=data.draw(st.integers(1, 3)), flit_bits=8, buffer_flits=9, packet_flits=40
    )
    arch, flits = machine(network=net), data.draw(st.integers(1, 40))
    loads = _Loads(data.draw(nests(arch)), arch, mesh_of(arch), frozenset())
    done = int(run(net, [Task(port, others, flits, "", [])]).done[0]) + 1

    for boundary in loads.counts.index.table.boundaries:
        own = flits / 16.0 if boundary.parent == "dram" else 0.0
        assert loads._trip(boundary, port, others, flits) - own == done


SINGLE = replace(
    machine(), levels=tuple(replace(level, double_buffered=False) for level in machine().levels)
)
"""A machine that computes nothing while a tile is under way."""


def nest_of(loops, near, staged=()):
    """Return a nest whose tiles in the children begin at given loops, others where all do.

    Args:
        loops: Dimensions and extents of the temporal loops.
        near: Where the tile of an operand in the children begins.
        staged: Operands whose tile in the scratchpad begins there, too.
    """
    found = []
    for operand in Operand:
        start = near.get(operand, 0)
        found.append(Allocation(operand, "dram", 0))
        if operand is not Operand.W:
            found.append(Allocation(operand, "gb", start if operand in staged else 0))
        found.append(Allocation(operand, "near", start))
    return LoopNest(
        workload=Workload(**dict(loops)),
        temporal=tuple(Loop(Dim(dim), extent) for dim, extent in loops),
        spatial=(),
        allocations=tuple(found),
    )


@pytest.mark.parametrize(
    ("nest", "least"),
    [
        (nest_of([("K", 16), ("C", 9)], {Operand.W: 1}), 0.83),
        (nest_of([("P", 16), ("C", 9)], {Operand.I: 1}, staged=(Operand.I,)), 0.74),
        (nest_of([("K", 16), ("C", 9)], {Operand.O: 1}), 0.84),
        (nest_of([("C", 4), ("K", 8), ("P", 9)], {Operand.O: 2}), 0.97),
    ],
    ids=["weights", "inputs", "outputs", "sums"],
)
def test_where_every_tile_is_waited_for_that_is_how_long_it_takes(nest, least):
    load, run = mesh_load(nest, SINGLE), run_nest(nest, SINGLE)
    closed = network_cycles(evaluate(nest, SINGLE), load)

    assert least * run.cycles <= closed <= run.cycles
    assert mesh_load(nest, machine()).trips == load.trips / 2  # while one comes, one is used


SLOW = replace(SINGLE, levels=(replace(SINGLE.levels[0], read_bandwidth=0.5), *SINGLE.levels[1:]))
"""The same where the scratchpad waits longer than the children."""


@pytest.mark.parametrize(
    ("loops", "operand", "start", "least"),
    [
        ([("C", 4), ("K", 8), ("P", 9)], Operand.O, 2, 0.88),
        ([("P", 16), ("K", 3), ("C", 9)], Operand.I, 1, 0.86),
    ],
    ids=["sums", "inputs"],
)
def test_the_scratchpad_waits_for_what_comes_from_off_chip_and_returns(
    loops, operand, start, least
):
    nest = nest_of(loops, {operand: start}, staged=(operand,))

    closed = network_cycles(evaluate(nest, SLOW), mesh_load(nest, SLOW))

    assert least <= closed / run_nest(nest, SLOW).cycles <= 1


@pytest.mark.parametrize("name", ["simba", "simba-8x8"])
def test_the_closed_form_is_between_the_cost_model_and_a_serial_network(name):
    arch = load_architecture(name)
    nest = map_output_stationary(Workload(R=3, S=3, P=14, Q=14, C=64, K=64), arch).nest
    report, load = evaluate(nest, arch), mesh_load(nest, arch)

    assert report.cycles <= network_cycles(report, load)
    double = MeshLoad(load.links + load.links, load.trips)
    assert network_cycles(report, double) >= 2 * load.busiest
    assert network_cycles(report, load) <= report.cycles + load.trips + sum(load.links.values())
    assert np.isfinite(network_cycles(report, load))


def test_a_machine_without_a_mesh_has_no_load():
    arch = load_architecture("eyeriss")
    nest = map_output_stationary(Workload(P=4, C=4, K=4), arch).nest

    with pytest.raises(ArchitectureError, match="no network"):
        mesh_load(nest, arch)
