"""Every instance of a memory of the array has room for what the program gives it."""

import dataclasses

import numpy as np
import pytest

from accnn.ir.arch import Architecture, Fanout, MemoryLevel, VectorUnit
from accnn.ir.errors import SimulationError
from accnn.ir.isa.instructions import (
    Access,
    Copy,
    Fill,
    Halt,
    Mac,
    Requant,
    Space,
    Unit,
    Wait,
    Window,
)
from accnn.ir.isa.program import Program, Queue, SpaceSize, SymbolKind
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.types import DType
from accnn.ir.workload import Dim, Operand, Workload
from accnn.runtime_sim.simulate import simulate

from ...programs import at, symbol

LANES = 4
W, I, O = Operand.W, Operand.I, Operand.O  # noqa: E741


def machine(wb=8, ab=64, ib=8, double=False):
    """Four lanes with weights and sums of their own; inputs pass through a buffer of theirs."""
    return Architecture(
        name="lanes",
        mac_energy=1.0,
        levels=(
            MemoryLevel(name="dram", holds=(W, I, O), capacity=None),
            MemoryLevel(name="gb", holds=(I, O), capacity=256),
            MemoryLevel(name="ib", holds=(I,), capacity=ib, double_buffered=double),
            MemoryLevel(name="wb", holds=(W,), capacity=wb),
            MemoryLevel(name="ab", holds=(O,), capacity=ab),
        ),
        scratchpad="gb",
        fanouts=(Fanout(name="lane", below="gb", size=LANES),),
        vector=VectorUnit(parameter_bytes=64),
    )


def product(K, P, lanes_over, *, arch=None, weights_at=0, sums_at=0, again=None):
    """``K`` outputs for ``P`` positions of one channel, ``lanes_over`` unrolled over the lanes.

    Returns the program: weights and inputs come in, one MAC instruction, sums become outputs.
    ``again`` is the address of a second tile of the same weights, brought in before the MAC.
    """
    arch = arch or machine()
    work = Workload(K=K, P=P, output_bits=32)
    spatial = (SpatialLoop(lanes_over, LANES, "lane"),)
    extents = {Dim.K: K, Dim.P: P}
    extents[lanes_over] //= LANES
    temporal = tuple(Loop(dim, extent) for dim, extent in extents.items() if extent > 1)
    nests = (
        LoopNest(
            workload=work,
            temporal=temporal,
            spatial=spatial,
            allocations=(
                Allocation(W, "wb", 0),
                Allocation(I, "gb", 0),
                Allocation(I, "ib", 0),
                Allocation(O, "ab", 0),
            ),
        ),
        *(
            LoopNest(
                workload=work,
                temporal=temporal,
                spatial=spatial,
                allocations=(Allocation(operand, level, 0),),
            )
            for operand, level in ((W, "wb"), (O, "ab"))
        ),
    )
    load = Copy(
        dst=at(Space.WB, weights_at, 1),
        src=at(Space.DRAM, 0, 1),
        shape=(K,),
        element_bytes=1,
        layout=1,
    )
    others = [] if again is None else [dataclasses.replace(load, dst=at(Space.WB, again, 1))]
    inwards = Copy(dst=at(Space.GB, 0, 1), src=at(Space.DRAM, 64, 1), shape=(P,), element_bytes=1)
    factor = Copy(dst=at(Space.PB, 0, 1), src=at(Space.DRAM, 128, 1), shape=(4,), element_bytes=1)
    dma = [load, *others, inwards, factor]
    mac = Mac(
        acc=Access(Space.AB, 0, sums_at, (0, 0, 4 * P, 4, 0)),
        x=Access(Space.GB, 0, 0, (0, 0, 0, 1, 0)),
        w=Access(Space.WB, 0, weights_at, (0, 1, 0, 0, 0)),
        extents=(1, 1, P, 1, 1, K, 1, 1),
        window=Window(stride=(1, 1), dilation=(1, 1), rows=P, columns=1, top=0, left=0),
        x_dtype=DType.S8,
        w_dtype=DType.S8,
        nest=0,
        tile=sums_at,
        layout=2,
        waits=(Wait(0, len(dma)),),
    )
    finish = Requant(
        dst=Access(Space.GB, 0, 64, (P, 1)),
        acc=Access(Space.AB, 0, sums_at, (4 * P, 4)),
        bias=None,
        multiplier=Access(Space.PB, 0, 0, (0, 0)),
        shape=(K, P),
        dtype=DType.S8,
        zero_point=0,
        low=-128,
        high=127,
        layout=2,
        waits=(Wait(1, 1),),
    )
    store = Copy(
        dst=at(Space.DRAM, 192, 1),
        src=at(Space.GB, 64, 1),
        shape=(K * P,),
        element_bytes=1,
        waits=(Wait(2, 1),),
    )
    streams = {Unit.DMA: [*dma, store], Unit.MX: [mac], Unit.VX: [finish]}
    return Program(
        name="product",
        arch=arch,
        spaces=(
            *(SpaceSize(space, size) for space, size in space_bytes(arch).items()),
            SpaceSize(Space.DRAM, 512),
        ),
        symbols=(
            symbol("w", SymbolKind.CONSTANT, 0, DType.S8, K),
            symbol("x", SymbolKind.INPUT, 64, DType.S8, P),
            symbol("m", SymbolKind.CONSTANT, 128, DType.F32, 1),
            symbol("y", SymbolKind.OUTPUT, 192, DType.S8, K, P),
        ),
        operators=("product",),
        nests=nests,
        queues=tuple(
            Queue(unit=unit, index=0, instructions=(*stream, Halt()))
            for unit, stream in streams.items()
        ),
    )


def run(built):
    K, P = built.symbol["y"].type.shape
    w, x = np.arange(K, dtype=np.int8), np.arange(P, dtype=np.int8)
    data = {"w": w, "m": np.ones(1, np.float32)}
    result = simulate(built, data, {"x": x})
    np.testing.assert_array_equal(result.outputs["y"], np.outer(w, x))
    return result


def test_what_fits_runs():
    run(product(8, 2, Dim.K))
    run(product(4, 4, Dim.P))


def test_weights_that_several_lanes_hold_count_in_each_of_them():
    """Eight weights over four lanes are two in each; copied to each lane they are eight."""
    run(product(8, 4, Dim.P, arch=machine(wb=8)))
    run(product(8, 2, Dim.K, arch=machine(wb=2)))

    with pytest.raises(SimulationError, match=r"dma0\[0\].*8 byte of every instance of wb"):
        run(product(8, 4, Dim.P, arch=machine(wb=7)))
    with pytest.raises(SimulationError, match="2 byte of every instance of wb"):
        run(product(8, 2, Dim.K, arch=machine(wb=1)))


def test_a_copy_of_weights_displaces_a_tile_that_no_address_of_its_own_meets():
    """Addresses 0..7 of 32 are the first tile's; its copies take bytes 0..7 of every lane."""
    built = product(8, 4, Dim.P, arch=machine(wb=16), again=32)
    run(built)

    with pytest.raises(SimulationError, match="another took over some of its bytes"):
        run(product(8, 4, Dim.P, arch=machine(wb=16), again=8))


def test_a_tile_begins_in_the_first_lane():
    with pytest.raises(SimulationError, match="does not begin at a multiple of the 4 instances"):
        run(product(4, 4, Dim.P, weights_at=2))


def test_sums_count_in_every_lane():
    """Lane by lane two positions of two outputs are four sums, 16 byte."""
    run(product(8, 2, Dim.K, arch=machine(ab=16)))

    with pytest.raises(SimulationError, match=r"mx0\[0\].*16 byte of every instance of ab"):
        run(product(8, 2, Dim.K, arch=machine(ab=15)))


def test_memories_inside_hold_one_tile_or_two_halves():
    run(product(4, 8, Dim.K, arch=machine(ib=8)))
    run(product(4, 8, Dim.K, arch=machine(ib=16, double=True)))

    with pytest.raises(SimulationError, match=r"ib would hold 8 byte of tiles \(I 8\), it has 7"):
        run(product(4, 8, Dim.K, arch=machine(ib=7)))
    with pytest.raises(SimulationError, match="it has 7 \\(one of two halves\\)"):
        run(product(4, 8, Dim.K, arch=machine(ib=15, double=True)))


def with_nest(built, number, nest):
    nests = (*built.nests[:number], nest, *built.nests[number + 1 :])
    return dataclasses.replace(built, nests=nests)


def test_a_layout_that_says_less_than_the_loops_is_found_out():
    built = product(8, 4, Dim.P)
    layout = built.nests[1]
    halved = dataclasses.replace(
        layout, workload=layout.workload.resized({Dim.K: 4}), temporal=(Loop(Dim.K, 4),)
    )

    with pytest.raises(SimulationError, match=r"needs 8 byte of the tile at wb:0x0, it holds 4"):
        run(with_nest(built, 1, halved))


def test_sums_are_finished_where_they_were_started():
    built = product(8, 2, Dim.K)
    vx = built.queues[2]
    finish = vx.instructions[0]
    elsewhere = dataclasses.replace(finish, layout=1)

    with pytest.raises(Exception, match="layout 1 is not one of ab"):
        run(
            dataclasses.replace(
                built,
                queues=(
                    *built.queues[:2],
                    dataclasses.replace(vx, instructions=(elsewhere, *vx.instructions[1:])),
                ),
            )
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temporal": ()}, "the loops over P cover 1 of 2"),
        (
            {"spatial": (SpatialLoop(Dim.K, 8, "lane"),)},
            "lane has 4 children, 8 are used",
        ),
        ({"spatial": (SpatialLoop(Dim.K, 4, "lanes"),)}, "lanes has no fan-out lanes"),
        ({"temporal": (Loop(Dim.K, 0), Loop(Dim.P, 2))}, "a loop over K has 0 steps"),
    ],
)
def test_loops_that_the_machine_cannot_run_are_refused(change, message):
    built = product(8, 2, Dim.K)

    with pytest.raises(SimulationError, match=message):
        run(with_nest(built, 0, dataclasses.replace(built.nests[0], **change)))


@pytest.mark.parametrize(("lanes_over", "steps"), [(Dim.K, 2 * 8), (Dim.P, 8 * 2)])
def test_time_and_energy_follow_from_the_loops(lanes_over, steps):
    result = run(product(8, 8, lanes_over))

    assert {item.unit: item.cycles for item in result.total.busy}[Unit.MX] == steps + 1  # halt
    assert result.total.macs == 8 * 8
    assert result.total.energy.compute == steps * LANES * 1.0


def test_steps_of_padding_take_time_and_energy():
    built = product(8, 8, Dim.K, arch=machine(ib=16, ab=128))
    padded = [
        dataclasses.replace(nest, temporal=(*nest.temporal, Loop(Dim.P, 2))) for nest in built.nests
    ]

    result = run(dataclasses.replace(built, nests=tuple(padded)))

    assert {item.unit: item.cycles for item in result.total.busy}[Unit.MX] == 2 * 2 * 8 + 1  # halt
    assert result.total.macs == 8 * 8
    assert result.total.energy.compute == 2 * 2 * 8 * LANES


def test_fill_reaches_no_memory_of_the_array():
    built = product(8, 2, Dim.K)
    fill = Fill(dst=at(Space.AB, 0, 1), shape=(4,), element_bytes=1, value=0)
    dma = built.queues[0]
    stream = (fill, *dma.instructions)

    with pytest.raises(Exception, match="fill cannot reach ab"):
        run(
            dataclasses.replace(
                built,
                queues=(dataclasses.replace(dma, instructions=stream), *built.queues[1:]),
            )
        )
