"""Reads of bytes that nothing has written are caught, byte for byte."""

import numpy as np
import pytest

from accnn.ir.errors import SimulationError
from accnn.ir.isa.instructions import Copy, Fill, Space, Wait
from accnn.ir.isa.program import SymbolKind
from accnn.ir.types import DType
from accnn.runtime_sim.simulate import simulate

from ...programs import at, program, symbol

ON_CHIP = (Space.GB, Space.WB, Space.AB, Space.PB)


def copy(to, of, size, waits=()):
    return Copy(dst=to, src=of, shape=(size,), element_bytes=1, waits=waits)


def fill(to, size):
    return Fill(dst=to, shape=(size,), element_bytes=1, value=1)


@pytest.mark.parametrize("space", ON_CHIP)
def test_a_byte_too_much_is_caught_in_every_memory(space):
    wrote = [fill(at(Space.GB, 16, 1), 8)]
    if space is not Space.GB:
        wrote.append(copy(at(space, 16, 1), at(Space.GB, 16, 1), 8))
    out = at(Space.DRAM, 0, 1)

    def run(start, size):
        built = program({"ld0": [*wrote, copy(out, at(space, start, 1), size)]})
        simulate(built, {}, {}, detect_races=True)

    run(16, 8)
    name = str(space) if space.is_shared else f"{space}0"
    with pytest.raises(SimulationError) as caught:
        run(16, 9)
    message = f"ld0[{len(wrote)}]: reads byte 0x18 of {name}, which nothing has written"
    assert str(caught.value) == message
    with pytest.raises(SimulationError, match="reads byte 0xf of"):
        run(15, 9)


def test_what_is_skipped_by_strides_is_not_read():
    """Every other byte is written, and every other byte is read."""
    even = Fill(dst=at(Space.GB, 0, 2), shape=(8,), element_bytes=1, value=1)

    def run(start):
        read = copy(at(Space.WB, 0, 1), at(Space.GB, start, 2), 4)
        simulate(program({"ld0": [even, read]}), {}, {}, detect_races=True)

    run(0)
    run(4)
    with pytest.raises(SimulationError, match="byte 0x1 of gb"):
        run(1)


def test_off_chip_only_inputs_and_constants_are_there():
    symbols = (
        symbol("x", SymbolKind.INPUT, 0, DType.U8, 4),
        symbol("c", SymbolKind.CONSTANT, 8, DType.U8, 4),
        symbol("t", SymbolKind.ACTIVATION, 16, DType.U8, 4),
        symbol("y", SymbolKind.OUTPUT, 24, DType.U8, 4),
    )
    four = np.zeros(4, np.uint8)

    def run(start, size, *before):
        read = copy(at(Space.GB, 0, 1), at(Space.DRAM, start, 1), size)
        built = program({"dma0": [*before, read]}, symbols)
        simulate(built, {"c": four}, {"x": four}, detect_races=True)

    run(0, 4)
    run(8, 4)
    run(16, 4, fill(at(Space.DRAM, 16, 1), 4))
    run(24, 4, fill(at(Space.DRAM, 24, 1), 4))
    for start, size, byte in ((0, 5, 0x4), (7, 2, 0x7), (16, 1, 0x10), (24, 4, 0x18)):
        with pytest.raises(SimulationError, match=rf"reads byte {byte:#x} of dram, which nothing"):
            run(start, size)


def test_a_read_that_was_right_may_be_wrong_elsewhere():
    """What is remembered of one access does not speak for another of the same shape."""
    wrote = fill(at(Space.GB, 0, 1), 8)
    right = copy(at(Space.WB, 0, 1), at(Space.GB, 0, 1), 8)
    wrong = copy(at(Space.WB, 0, 1), at(Space.GB, 4, 1), 8)

    simulate(program({"ld0": [wrote, right, right]}), {}, {}, detect_races=True)
    with pytest.raises(SimulationError, match=r"ld0\[3\]: reads byte 0x8"):
        simulate(program({"ld0": [wrote, right, right, wrong]}), {}, {}, detect_races=True)


def test_another_engines_write_counts():
    wrote = fill(at(Space.GB, 0, 1), 8)
    read = copy(at(Space.WB, 0, 1), at(Space.GB, 0, 1), 8, (Wait(0, 1),))

    simulate(program({"dma0": [wrote], "ld0": [read]}), {}, {}, detect_races=True)
