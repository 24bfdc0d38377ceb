import dataclasses

import numpy as np
import pytest

from accnn.ir.errors import InputError, RaceError, SimulationError, VerifyError
from accnn.ir.isa.instructions import Copy, Fill, Space, Sync, Unit, Wait
from accnn.ir.isa.program import SymbolKind
from accnn.ir.types import DType
from accnn.runtime_sim.simulate import simulate

from ..programs import (
    at,
    convolution,
    convolution_reference,
    machine,
    program,
    symbol,
    with_stream,
)
from ..programs import without_wait as drop


def test_a_double_buffered_convolution_equals_the_formula():
    built, constants, inputs = convolution()

    result = simulate(built, constants, inputs, detect_races=True)

    np.testing.assert_array_equal(result.outputs["y"], convolution_reference(constants, inputs))


@pytest.mark.parametrize("seed", range(8))
def test_random_legal_interleavings_give_equal_results(seed):
    built, constants, inputs = convolution()
    timed = simulate(built, constants, inputs)

    result = simulate(built, constants, inputs, detect_races=True, interleaving_seed=seed)

    np.testing.assert_array_equal(result.outputs["y"], timed.outputs["y"])
    assert result.cycles == timed.cycles
    assert result.total == timed.total


def test_a_dropped_wait_is_a_race():
    built, constants, inputs = convolution()
    needed = 0
    for queue, stream in enumerate(built.queues):
        for position, instruction in enumerate(stream.instructions):
            for number in range(len(instruction.waits)):
                changed = drop(built, queue, position, number)
                if _implied(changed, built, queue, position, number):
                    simulate(changed, constants, inputs, detect_races=True)
                    continue
                needed += 1
                with pytest.raises(
                    SimulationError, match="no wait orders them|nothing has written"
                ):
                    simulate(changed, constants, inputs, detect_races=True)
    assert needed > 10


def _implied(changed, built, queue, position, number):
    """Whether other waits imply the dropped one: what an instruction knows, transitively."""
    dropped = built.queues[queue].instructions[position].waits[number]
    known, todo = set(), [(queue, position)]
    while todo:
        q, p = todo.pop()
        if (q, p) in known:
            continue
        known.add((q, p))
        if p:
            todo.append((q, p - 1))
        waits = changed.queues[q].instructions[p].waits
        todo += [(wait.queue, wait.count - 1) for wait in waits]
    return (dropped.queue, dropped.count - 1) in known


def test_a_race_names_both_instructions_and_the_byte():
    built, constants, inputs = convolution()

    with pytest.raises(RaceError) as caught:
        simulate(drop(built, 2, 0, 0), constants, inputs, detect_races=True)

    assert str(caught.value) == (
        "mx0[0] (conv): race on byte 0x0 of gb: it reads what dma0[0] (conv) wrote, and no wait "
        "orders them"
    )


def test_the_order_of_execution_does_not_hide_a_race():
    built, constants, inputs = convolution()
    changed = drop(built, 3, 1, 0)

    for seed in range(6):
        with pytest.raises(RaceError):
            simulate(changed, constants, inputs, detect_races=True, interleaving_seed=seed)


def test_neighbouring_bytes_do_not_race():
    """Two queues that write interleaved bytes: the race is exact per byte."""
    even = Fill(dst=at(Space.GB, 0, 2), shape=(8,), element_bytes=1, value=1)
    odd = Fill(dst=at(Space.GB, 1, 2), shape=(8,), element_bytes=1, value=2)
    apart = program({"ld0": [even], "st0": [odd]})
    together = program({"ld0": [even], "st0": [even]})

    simulate(apart, {}, {}, detect_races=True)
    with pytest.raises(RaceError, match="it writes what ld0"):
        simulate(together, {}, {}, detect_races=True)


@pytest.mark.parametrize("is_ordered", [True, False])
def test_a_race_is_told_before_what_may_follow_from_it(is_ordered: bool):
    """Something else is wrong later, before the detector compares what it has seen."""
    wrote = Fill(dst=at(Space.GB, 0, 1), shape=(8,), element_bytes=1, value=1)
    again = dataclasses.replace(wrote, waits=(Wait(0, 1),) if is_ordered else ())
    unknown = Copy(
        dst=at(Space.WB, 0, 1),
        src=at(Space.GB, 64, 1),
        shape=(4,),
        element_bytes=1,
        waits=(Wait(1, 1),),
    )
    built = program({"ld0": [wrote, unknown], "st0": [again]})

    error, message = (
        (SimulationError, r"ld0\[1\]: reads byte 0x40 of gb, which nothing has written")
        if is_ordered
        else (RaceError, "st0.*it writes what ld0")
    )

    with pytest.raises(error, match=message):
        simulate(built, {}, {}, detect_races=True)


def test_two_reads_do_not_race():
    read = Copy(dst=at(Space.WB, 0, 1), src=at(Space.GB, 0, 1), shape=(4,), element_bytes=1)
    other = dataclasses.replace(read, dst=at(Space.WB, 100, 1))

    wrote = Fill(dst=at(Space.GB, 0, 1), shape=(4,), element_bytes=1, value=1)
    read, other = (dataclasses.replace(item, waits=(Wait(2, 1),)) for item in (read, other))

    streams = {"ld0": [read], "st0": [other], "dma0": [wrote]}
    simulate(program(streams), {}, {}, detect_races=True)


def test_a_deadlock_says_what_each_queue_waits_for():
    built = program(
        {"ld0": [Sync(waits=(Wait(1, 1),))], "st0": [Sync(), Sync(waits=(Wait(0, 1),))]}
    )
    changed = with_stream(built, 1, built.queues[1].instructions[1:])

    assert simulate(built, {}, {}).cycles == 4
    with pytest.raises(SimulationError) as caught:
        simulate(changed, {}, {})

    assert str(caught.value) == (
        "deadlock: no queue can go on\n"
        "  ld0[0] sync waits for st0 >= 1 (is 0)\n"
        "  st0[0] sync waits for ld0 >= 1 (is 0)"
    )


@pytest.mark.parametrize("races", [False, True])
def test_out_of_bounds_names_queue_instruction_and_operator(races):
    inside = Fill(dst=at(Space.GB, (1 << 14) - 4, 1), shape=(4,), element_bytes=1, value=1, op=0)
    outside = dataclasses.replace(inside, shape=(5,))
    below = dataclasses.replace(inside, dst=at(Space.GB, -1, 1))

    simulate(program({"ld0": [inside]}), {}, {}, detect_races=races)
    with pytest.raises(SimulationError) as caught:
        simulate(program({"ld0": [inside, outside]}), {}, {}, detect_races=races)
    assert str(caught.value) == (
        "ld0[1] (conv): access to bytes 16380..16384 of gb, which has 16384"
    )
    with pytest.raises(VerifyError, match=r"ld0\[0\] \(conv\): dst begins at -1, gb has 16384"):
        simulate(program({"ld0": [below]}), {}, {}, detect_races=races)


@pytest.mark.parametrize("races", [False, True])
def test_malformed_accesses_are_told(races):
    right = Copy(dst=at(Space.WB, 0, 1), src=at(Space.GB, 0, 1), shape=(4,), element_bytes=1)
    wrong = {
        "wb:0x0 has 2 strides for 1 loops": {"dst": at(Space.WB, 0, 4, 1)},
        "gb:0x0 has 2 strides for 1 loops": {"src": at(Space.GB, 0, 4, 1)},
        r"has extents \(0,\)": {"shape": (0,)},
    }
    wrote = Fill(dst=at(Space.GB, 0, 1), shape=(4,), element_bytes=1, value=1)

    simulate(program({"ld0": [wrote, right]}), {}, {}, detect_races=races)
    for message, change in wrong.items():
        built = program({"ld0": [wrote, dataclasses.replace(right, **change)]})
        with pytest.raises(SimulationError, match=r"ld0\[1\]: access to .*" + message):
            simulate(built, {}, {}, detect_races=races)


def test_a_queue_reaches_only_its_own_npu():
    copy = Copy(
        dst=at(Space.WB, 0, 1, npu=1), src=at(Space.DRAM, 0, 1), shape=(1,), element_bytes=1
    )

    with pytest.raises(VerifyError, match="NPU 0 cannot reach wb of NPU 1"):
        simulate(program({"ld0": [copy]}, arch=machine(npus=2)), {}, {})
    with pytest.raises(VerifyError, match="there is no NPU 1"):
        simulate(program({"ld0": [copy]}), {}, {})


def test_parameters_are_of_no_npu():
    fill = Fill(dst=at(Space.PB, 0, 1, npu=1), **_ONE)

    with pytest.raises(VerifyError, match="all NPUs share pb"):
        simulate(program({"ld1": [fill]}, arch=machine(npus=2)), {}, {})


def test_a_fill_has_no_layout_for_the_array():
    fill = Fill(dst=at(Space.WB, 0, 1), **_ONE)

    with pytest.raises(VerifyError, match="fill cannot reach wb"):
        simulate(program({"ld0": [fill]}), {}, {})


_ONE = {"shape": (1,), "element_bytes": 1, "value": 1}


def test_a_write_may_not_meet_an_element_twice():
    fill = Fill(dst=at(Space.GB, 0, 0), shape=(2,), element_bytes=1, value=1)

    with pytest.raises(SimulationError, match="meets an element more than once"):
        simulate(program({"ld0": [fill]}), {}, {})


def test_constants_cannot_be_written():
    symbols = (
        symbol("c", SymbolKind.CONSTANT, 64, DType.U8, 4),
        symbol("y", SymbolKind.OUTPUT, 128, DType.U8, 4),
    )
    to_output = Fill(dst=at(Space.DRAM, 128, 1), shape=(4,), element_bytes=1, value=9)
    to_constant = dataclasses.replace(to_output, dst=at(Space.DRAM, 67, 1))
    data = {"c": np.zeros(4, np.uint8)}

    result = simulate(program({"dma0": [to_output]}, symbols), data, {})
    assert result.outputs["y"].tolist() == [9] * 4
    assert result.stored == {"y"}
    with pytest.raises(SimulationError, match=r"dma0\[0\]: write to the constant c"):
        simulate(program({"dma0": [to_constant]}, symbols), data, {})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"input 'x' \(u8<4x3x5x6>\) is missing"),
        ({"x": np.zeros((4, 3, 5, 6), np.int8)}, "is int8.*must be uint8"),
        ({"x": np.zeros((4, 3, 5), np.uint8)}, r"must be uint8\[4, 3, 5, 6\]"),
    ],
)
def test_inputs_are_checked(inputs, message):
    built, constants, _ = convolution()

    with pytest.raises(InputError, match=message):
        simulate(built, constants, inputs)


def test_unknown_inputs_are_refused():
    built, constants, inputs = convolution()

    with pytest.raises(InputError, match="has no input 'z'"):
        simulate(built, constants, {**inputs, "z": inputs["x"]})


def test_a_changed_constant_changes_the_result():
    built, constants, inputs = convolution()
    right = simulate(built, constants, inputs).outputs["y"]
    constants["w"][2, 1, 0, 1, 1] ^= 64

    assert (simulate(built, constants, inputs).outputs["y"] != right).any()


def test_every_tensor_can_be_read_afterwards():
    built, constants, inputs = convolution()

    result = simulate(built, constants, inputs)

    np.testing.assert_array_equal(result.tensor("x"), inputs["x"])
    np.testing.assert_array_equal(result.tensor("y"), result.outputs["y"])
    with pytest.raises(KeyError):
        result.tensor("nothing")


def test_times_follow_waits():
    """Copies of 16 bytes take 10 + 4 off chip and 4 + 1 on chip."""
    off = Copy(dst=at(Space.GB, 0, 1), src=at(Space.DRAM, 0, 1), shape=(16,), element_bytes=1)
    on = Copy(
        dst=at(Space.WB, 0, 1),
        src=at(Space.GB, 0, 1),
        shape=(16,),
        element_bytes=1,
        waits=(Wait(0, 1),),
    )

    built = program({"dma0": [off, off], "ld0": [on]})
    result = simulate(built, {}, {}, trace=True, detect_races=False)

    dma, ld = result.timelines
    assert dma.starts.tolist() == [0, 14, 28]
    assert ld.starts.tolist() == [14, 19]
    assert result.cycles == 29


def test_accounts_add_up():
    built, constants, inputs = convolution()

    result = simulate(built, constants, inputs)

    (conv,) = result.operators
    moved = {item.kind: (item.read, item.written) for item in conv.off_chip}
    assert moved == {
        SymbolKind.INPUT: (inputs["x"].nbytes, 0),
        SymbolKind.CONSTANT: (constants["w"].nbytes + constants["p"].nbytes, 0),
        SymbolKind.OUTPUT: (0, result.outputs["y"].nbytes),
    }
    steps = 3 * 3 * 5 * 6 * 3 * 4
    assert conv.macs == 4 * steps
    assert {item.unit: item.cycles for item in conv.busy}[Unit.MX] == 4 * steps
    read, written = inputs["x"].nbytes + constants["w"].nbytes + 32, result.outputs["y"].nbytes
    off_chip = conv.energy.levels[0]
    assert off_chip.pj == pytest.approx(read / 8 * 100 + written / 8 * 200)
    assert conv.energy.vector == pytest.approx(written * 0.25)
    assert result.energy_pj == pytest.approx(conv.energy.total)
    assert result.overhead.instructions == 4
