"""What crosses the mesh is what the nest moves, and it takes as long as it must."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import ArchitectureError
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.mesh import Mesh
from accnn.ir.workload import Dim, Operand, Workload
from accnn.runtime_sim.array.counts import Side, count_accesses
from accnn.runtime_sim.array.nest import ArrayNest
from accnn.runtime_sim.noc.nest_traffic import run_nest
from tests.thinned import examples

from ...nest_strategies import nests
from .nests import I, O, W, machine


def kept_near(nest):
    """Whether every operand has a memory beneath the mesh."""
    return all(nest.of(operand)[-1].level == "near" for operand in Operand)


@given(st.data())
@settings(max_examples=examples(40), deadline=None)  # the first one compiles
def test_children_get_and_send_what_the_counts_say(data):
    arch = machine()
    nest = data.draw(nests(arch).filter(kept_near))
    on_array, mesh = ArrayNest(nest, arch), Mesh(arch.network)
    bits = {
        (item.operand, item.side): item.bits
        for item in count_accesses(on_array, accumulate=False)
        if item.place == "pe"
    }

    run = run_nest(nest, arch)

    leg = next(item for item in on_array.legs(O) if item.hops)
    (hop,) = leg.hops
    added = Fraction(bits[O, Side.UP] * (hop.alike - 1), hop.alike)
    down = sum(bits.get((operand, Side.DOWN), 0) for operand in Operand)
    got = sum(run.crossed[mesh.link_out(child)] for child in range(12))
    sent = sum(run.crossed[mesh.link_in(child)] for child in range(12))
    outside = [loop for loop in nest.temporal[: leg.start] if loop.dim in "PQKNG"]
    tiles = hop.telling
    for loop in outside:
        tiles *= loop.extent
    narrowed = tiles * leg.elements * (24 - nest.workload.output_bits)
    assert 8 * got == down + added
    assert 8 * sent == bits[O, Side.UP] - narrowed
    assert run.cycles >= max(run.compute_cycles, *run.crossed)
    # a child computes or waits, and the last ones end together with what was simulated
    assert sum(run.waits.values()) + run.compute_cycles <= run.simulated_cycles <= run.cycles


def product(k_outside=1, spatial=(), near=2):
    """Return a matrix product whose tiles change with every step of two loops."""
    temporal = (Loop(Dim.P, 16), Loop(Dim.K, k_outside), Loop(Dim.C, 32))
    extents = {Dim.P: 16, Dim.K: k_outside, Dim.C: 32}
    for loop in spatial:
        extents[loop.dim] *= loop.extent
    levels = [(W, "dram", 0), (I, "dram", 0), (O, "dram", 0), (I, "gb", 0), (O, "gb", 0)]
    levels += [(operand, "near", near) for operand in Operand]
    return LoopNest(
        workload=Workload(**{dim.value: extent for dim, extent in extents.items()}),
        temporal=temporal,
        spatial=tuple(spatial),
        allocations=tuple(Allocation(*item) for item in levels),
    )


def test_where_little_moves_the_time_is_that_of_computing():
    nest = product(near=0)

    run = run_nest(nest, machine(network=replace(machine().network, flit_bits=4096)))

    assert run.phases == 1
    assert run.compute_cycles == 512
    memory = 3 * 512 // 16  # a flit of each operand
    assert 512 + memory < run.cycles < 512 + memory + 20


def test_an_element_alone_computes_or_waits():
    run = run_nest(product(), machine())

    assert sum(run.waits.values()) + run.compute_cycles == run.simulated_cycles
    assert run.waits[W] + run.waits[I] > 0


@pytest.mark.parametrize(
    ("slow", "outside", "bits"), [(W, 8, {"weight_bits": 64}), (I, 1, {"input_bits": 64})]
)
def test_waits_are_those_for_what_comes_last(slow, outside, bits):
    nest = product(k_outside=outside)
    wide = replace(nest, workload=replace(nest.workload, **bits))

    waits = run_nest(wide, machine()).waits

    assert max(waits, key=lambda operand: waits[operand]) is slow


def test_double_buffers_hide_transfers():
    arch = machine()
    once = replace(arch.levels[2], double_buffered=False)
    nest = product()

    double, single = (
        run_nest(nest, arch),
        run_nest(nest, replace(arch, levels=(*arch.levels[:2], once))),
    )

    assert single.cycles > double.cycles + 15 * 30  # of 16 tiles of 32 bytes, 15 could hide
    assert (single.crossed == double.crossed).all()


def test_multicast_relieves_the_ports():
    arch = machine()
    spatial = (SpatialLoop(Dim.K, 12, "pe"),)
    nest = product(spatial=spatial)
    alone = replace(arch, fanouts=(replace(arch.fanouts[0], multicast=(W,)), arch.fanouts[1]))
    port = Mesh(arch.network).link_in(12)

    together, each = run_nest(nest, arch), run_nest(nest, alone)

    assert 12 * together.crossed[port] < 12.5 * each.crossed[port] + 12 * 16 * 12
    assert together.cycles < each.cycles / 4


@pytest.mark.parametrize("spatial", [(), (SpatialLoop(Dim.C, 12, "pe"),)], ids=["one", "reduction"])
def test_the_first_phases_tell_of_all(spatial):
    nest = product(k_outside=40, spatial=spatial)

    part, whole = run_nest(nest, machine(), most=2000), run_nest(nest, machine())

    assert part.simulated < part.phases == whole.simulated == 640
    assert part.cycles == pytest.approx(whole.cycles, rel=0.05)
    few = run_nest(nest, machine(), most=1)
    assert few.simulated == 16
    assert few.cycles == pytest.approx(whole.cycles, rel=0.05)


def test_a_machine_without_a_mesh_is_refused():
    with pytest.raises(ArchitectureError, match="no network"):
        run_nest(product(), machine(network=None))


def test_what_lies_in_the_array_does_not_cross_and_old_sums_come_first():
    """A nest of an instruction: weights beneath the mesh, inputs and sums in the scratchpad."""
    levels = [(W, "near", 0), (I, "gb", 0), (O, "gb", 0), (I, "near", 1), (O, "near", 1)]
    whole = product(spatial=(SpatialLoop(Dim.C, 4, "pe"),))
    nest = replace(whole, allocations=tuple(Allocation(*item) for item in levels))
    mesh = Mesh(machine().network)

    fresh, taken_up = (run_nest(nest, machine(), accumulate=flag) for flag in (False, True))

    # 16 x 32 x 4 inputs of a byte, each to one element; 16 sums of three bytes
    out_of_pads = [sum(run.carried[n] for n in mesh.scratchpad_nodes) for run in (fresh, taken_up)]
    assert out_of_pads == [16 * 32 * 4, 16 * 32 * 4 + 16 * 3]
    assert not any(run.carried[node] for run in (fresh, taken_up) for node in mesh.off_chip_nodes)
    assert fresh.cycles == fresh.simulated_cycles + fresh.drain_cycles
    assert 0 < fresh.fill_cycles < taken_up.fill_cycles
    assert fresh.drain_cycles > 0


@pytest.mark.parametrize("parts", [1, 4])
def test_children_get_nothing_of_what_the_scratchpad_has_not_got_yet(parts):
    """With room for one tile there, all inputs cross one link into it, and then one out of it."""
    arch, nest = machine(), product(near=1)
    single = replace(arch.levels[1], double_buffered=False)
    temporal = (Loop(Dim.P, parts), Loop(Dim.P, 16 // parts), Loop(Dim.C, 32))
    levels = [(W, "dram", 0), (I, "dram", 0), (O, "dram", 0), (I, "gb", 1), (O, "gb", 0)]
    levels += [(W, "near", 0), (I, "near", 2), (O, "near", 0)]
    staged = replace(
        nest,
        workload=replace(nest.workload, input_bits=64),
        temporal=temporal,
        allocations=tuple(Allocation(*item) for item in levels),
    )

    run = run_nest(staged, replace(arch, levels=(arch.levels[0], single, arch.levels[2])))

    inputs = 16 * 32 * 8  # bytes, one in each flit
    assert run.cycles >= 2 * inputs
