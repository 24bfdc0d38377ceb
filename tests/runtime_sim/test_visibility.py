"""Operands are read when an instruction starts, results are visible when it retires."""

import dataclasses

import numpy as np
import pytest

from accnn.ir.errors import SimulationError
from accnn.ir.isa.instructions import Copy, Fill, Mac, Space, Sync, Wait, Window
from accnn.ir.isa.program import SymbolKind
from accnn.ir.types import DType
from accnn.runtime_sim.functional.execute import begin
from accnn.runtime_sim.functional.machine import Machine
from accnn.runtime_sim.simulate import simulate

from ..programs import at, machine, program, symbol

OUTPUT = (symbol("y", SymbolKind.OUTPUT, 0, DType.U8, 4),)


def fill(value, waits=()):
    dst = at(Space.GB, 0, 1)
    return Fill(dst=dst, shape=(4,), element_bytes=1, value=value, waits=waits)


def store(waits=()):
    return Copy(
        dst=at(Space.DRAM, 0, 1),
        src=at(Space.GB, 0, 1),
        shape=(4,),
        element_bytes=1,
        waits=waits,
    )


def stored(delay, seed=None):
    """What is stored if the store starts some cycles after a fill of 4 cycles did."""
    streams = {"ld0": [fill(1), fill(2)], "dma0": [*[Sync()] * delay, store()]}
    built = program(streams, OUTPUT)
    result = simulate(built, {}, {}, detect_races=False, interleaving_seed=seed)
    return result.outputs["y"].tolist()


@pytest.mark.parametrize(("delay", "seen"), [(3, 0xCD), (4, 1), (5, 1), (7, 1), (8, 2), (9, 2)])
def test_a_result_is_seen_from_its_retirement_on(delay, seen):
    """The fills run from cycle 0 to 4 and from 4 to 8; a sync takes one cycle."""
    assert stored(delay) == [seen] * 4


def test_a_racy_program_may_end_in_several_ways():
    assert {stored(3, seed)[0] for seed in range(30)} == {0xCD, 1, 2}


def test_operands_are_read_at_the_start():
    """The store starts at 0 and takes 11 cycles; what comes meanwhile is not in it."""
    first = program(
        {"ld0": [fill(1)], "dma0": [store((Wait(0, 1),))], "st0": [fill(2, (Wait(0, 1),))]},
        OUTPUT,
    )

    result = simulate(first, {}, {}, detect_races=False, trace=True)

    dma, st = result.timelines[1:]
    assert dma.starts[0] < st.ends[0] < dma.ends[0]
    assert result.outputs["y"].tolist() == [1] * 4


def product(dtypes, acc_bytes):
    """A ``Mac`` that adds 1 * 1 to one accumulator."""
    x_dtype, w_dtype = dtypes
    return Mac(
        acc=at(Space.AB, 0, 0, 0, 0, 0, 0),
        x=at(Space.GB, 0, 0, 0, 0, 0, 0),
        w=at(Space.WB, 0, 0, 0, 0, 0, 0),
        extents=(1,) * 8,
        window=Window(stride=(1, 1), dilation=(1, 1), rows=1, columns=1, top=0, left=0),
        x_dtype=x_dtype,
        w_dtype=w_dtype,
        acc_bytes=acc_bytes,
        accumulate=True,
    )


@pytest.mark.parametrize(
    ("dtypes", "acc_bytes", "one"),
    [
        ((DType.U8, DType.S8), 3, np.int8(1)),
        ((DType.U8, DType.S8), 4, np.int8(1)),
        ((DType.F32, DType.F32), 4, np.float32(1)),
    ],
)
def test_a_queue_sees_its_own_results_before_others_do(dtypes, acc_bytes, one):
    """Three sums to one accumulator begin before the first retires."""
    made = Machine(program({"mx0": []}))
    port = made.ports[0]
    for space in (Space.GB, Space.WB):
        made.memories[space, 0].bytes[: one.nbytes] = np.frombuffer(one.tobytes(), np.uint8)
    sums = made.memories[Space.AB, 0].bytes
    sums[:4] = 0

    def held():
        kind = np.dtype("<f4") if dtypes[0] is DType.F32 else np.dtype("<i4")
        return sums[:4].view(kind).item()

    for _ in range(3):
        begin(port, product(dtypes, acc_bytes))
    assert held() == 0
    for retired in (1, 2, 3):
        port.pending.retire()
        assert held() == retired


def test_what_a_queue_sees_is_hidden_again_after_an_error():
    made = Machine(program({"mx0": []}))
    port, sums = made.ports[0], made.memories[Space.AB, 0].bytes
    sums[:4] = 7
    mac = product((DType.U8, DType.S8), 4)
    begin(port, mac)

    with pytest.raises(SimulationError, match="out of reach"):
        begin(port, dataclasses.replace(mac, w=at(Space.WB, 0, 0, 0, 0, 0, 0, npu=1)))

    assert sums[:4].tolist() == [7] * 4


def test_seeds_agree_on_a_program_without_races_whose_macs_overlap():
    """Two accumulations in a row, read by the vector unit's neighbour after both have retired."""
    one = {"element_bytes": 1, "shape": (1,), "value": 1}
    mac = product((DType.U8, DType.S8), 4)
    streams = {
        "ld0": [
            Fill(dst=at(Space.GB, 0, 1), **one),
            Copy(dst=at(Space.WB, 0, 1), src=at(Space.GB, 0, 1), shape=(1,), element_bytes=1),
        ],
        "mx0": [
            dataclasses.replace(mac, accumulate=False, waits=(Wait(0, 2),)),
            mac,
            mac,
        ],
        "st0": [
            Copy(
                dst=at(Space.DRAM, 0, 1),
                src=at(Space.AB, 0, 1),
                shape=(4,),
                element_bytes=1,
                waits=(Wait(1, 3),),
            )
        ],
    }
    built = program(streams, OUTPUT, arch=machine(1, 2))

    for seed in (None, *range(20)):
        result = simulate(built, {}, {}, detect_races=True, interleaving_seed=seed)
        assert result.outputs["y"].tolist() == [3, 0, 0, 0]
