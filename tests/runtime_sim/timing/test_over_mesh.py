"""Where traffic crosses the mesh no instruction takes less, and links are ports."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.execute import QUICK, compile_model
from accnn.ir.arch import Npu
from accnn.ir.errors import ArchitectureError
from accnn.ir.isa.instructions import Copy, Mac, Space
from accnn.ir.mesh import mesh_of
from accnn.runtime_sim.array.arrays import Arrays
from accnn.runtime_sim.noc.nest_traffic import run_nest
from accnn.runtime_sim.timing.demands import Demand
from accnn.runtime_sim.timing.events import TimingModel, demands_of, time_of
from accnn.runtime_sim.timing.over_mesh import check_timed

from ...onnx_rows import convolutions_in_a_row


def compiled():
    """Return a program of two convolutions."""
    model = convolutions_in_a_row((8, 16, 3, 1), (16, 32, 1, 1))
    return compile_model(model, "simba", QUICK).result.module.program


@pytest.fixture(scope="module")
def program():
    return compiled()


def work_of(program, timing):
    """Return instructions with what each asks for, and the ports."""
    demands = demands_of(program, Arrays(program), timing)
    lines = range(len(program.queues))
    works = [work for line in lines for work in demands.queue(line)]
    return [item for queue in program.queues for item in queue.instructions], works, demands.ports


def alone(work: Demand, ports):
    moved = [ports.cycles(port, size) for port, size in work.demands]
    return work.fill + work.lead + max(work.least, *moved, 0) + work.drain


def cycles(program, timing):
    return max(line[-1].end for line in time_of(program, timing=timing).queues)


def test_no_instruction_takes_less_over_the_mesh(program):
    instructions, plain, ports = work_of(program, TimingModel.ANALYTICAL)
    _, meshed, links = work_of(program, TimingModel.NETWORK)

    longer = 0
    for before, after in zip(plain, meshed, strict=True):
        assert alone(after, links) >= alone(before, ports)
        longer += alone(after, links) > alone(before, ports)
    kinds = {type(item) for item in instructions}
    assert {Copy, Mac} <= kinds
    assert longer


def test_the_time_lies_between_the_lower_bound_and_the_serial_sum(program):
    _, works, ports = work_of(program, TimingModel.NETWORK)
    load = [0] * len(ports.ports)
    for work in works:
        for port, size in work.demands:
            load[port] += size
    steps = sum(work.least for work in works if work.fill)
    bound = max(steps, *(ports.cycles(port, size) for port, size in enumerate(load)))

    found = cycles(program, TimingModel.NETWORK)

    assert bound <= found <= sum(alone(work, ports) for work in works)
    assert found >= cycles(program, TimingModel.ANALYTICAL)


def test_a_mac_instruction_is_its_nest_over_the_mesh(program):
    instructions, works, ports = work_of(program, TimingModel.NETWORK)
    arch = program.arch.for_npu(program.arch.npus[0])
    mesh, seen = mesh_of(arch), 0
    names = {port.name: number for number, port in enumerate(ports.ports)}

    for item, work in zip(instructions, works, strict=True):
        if isinstance(item, Mac):
            run = run_nest(program.nests[item.nest], arch, accumulate=item.accumulate)
            assert work.fill + work.least + work.drain >= run.cycles
            moved = dict(work.demands)
            for link, flits in run.carried.items():
                carried = moved.get(names[f"mesh {mesh.link_name(link)}"], 0)
                assert carried * 8 == flits * mesh.network.flit_bits
            seen += 1
    assert seen


def test_what_is_read_off_chip_crosses_the_links_of_its_ports(program):
    """Flits out of the ports of the off-chip memory carry all bytes of a copy, and no more."""
    instructions, works, ports = work_of(program, TimingModel.NETWORK)
    out = [n for n, port in enumerate(ports.ports) if port.name.startswith("mesh from off-chip")]
    assert len(out) == 4

    seen = 0
    for item, work in zip(instructions, works, strict=True):
        if isinstance(item, Copy) and (item.src.space, item.dst.space) == (Space.DRAM, Space.GB):
            size = item.element_bytes
            for extent in item.shape:
                size *= extent
            moved = sum(size for port, size in work.demands if port in out)
            assert size <= moved < size + 8 * len(out)
            seen += 1
    assert seen


def test_a_faster_memory_and_wider_links_come_down_to_the_bandwidths(program):
    """With links and memory that never limit, little but latencies is left."""
    arch = program.arch
    wide = replace(arch.network, flit_bits=4096, buffer_flits=16)
    quick = replace(program, arch=replace(arch, network=wide, dram=None))

    plain, found = (cycles(quick, timing) for timing in TimingModel)
    slow = cycles(program, TimingModel.NETWORK)

    assert plain <= found < slow
    assert found < 1.3 * plain


def test_machines_without_a_mesh_or_with_several_npus_are_refused():
    simba = load_architecture("simba")
    check_timed(simba)
    for arch in (
        replace(simba, network=None),
        replace(simba, npus=(Npu(name="a"), Npu(name="b"))),
    ):
        with pytest.raises(ArchitectureError):
            check_timed(arch)


def test_slower_links_never_make_a_program_faster(program):
    arch = program.arch
    narrow = [replace(arch.network, flit_bits=bits) for bits in (64, 16, 8)]
    found = [
        cycles(replace(program, arch=replace(arch, network=item)), TimingModel.NETWORK)
        for item in narrow
    ]
    assert all(before < after for before, after in pairwise(found))


def loads(program):
    """Return the bytes of every copy from off chip, with what it asks for, and the ports."""
    instructions, works, ports = work_of(program, TimingModel.NETWORK)
    found = [
        (item.element_bytes * math.prod(item.shape), work)
        for item, work in zip(instructions, works, strict=True)
        if isinstance(item, Copy) and item.src.space is Space.DRAM
    ]
    return found, ports


def test_a_copy_over_slow_links_waits_for_its_first_burst_as_well(program):
    """Links that limit cannot begin before the row is open: what that takes is added, in full."""
    arch = program.arch
    slow = replace(arch, network=replace(arch.network, flit_bits=8))
    dram = replace(slow.dram, activate_ns=400.0)
    first = (400.0 + dram.column_ns + dram.burst_ns) * arch.clock_hz / 1e9

    without, ports = loads(replace(program, arch=replace(slow, dram=None)))
    opened, _ = loads(replace(program, arch=replace(slow, dram=dram)))

    out = sum(port.name.startswith("mesh from off-chip") for port in ports.ports)
    assert without and out
    for (size, before), (_, after) in zip(without, opened, strict=True):
        assert before.least >= size / out
        assert after.least + 1 >= before.least + first


def test_a_copy_from_a_slow_memory_takes_the_time_of_all_its_bursts(program):
    arch = program.arch
    dram = replace(arch.dram, burst_ns=500.0)
    cycles_of_a_burst = dram.burst_ns * arch.clock_hz / 1e9

    found, _ = loads(replace(program, arch=replace(arch, dram=dram)))

    assert found
    for size, work in found:
        assert work.least >= size / dram.burst_bytes * cycles_of_a_burst
