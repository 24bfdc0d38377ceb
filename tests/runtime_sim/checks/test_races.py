"""The race detector against the definition, pair by pair and byte by byte."""

import itertools
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import RaceError
from accnn.ir.isa.instructions import Access, Copy, Fill, Space, Wait
from accnn.ir.isa.program import SymbolKind
from accnn.ir.types import DType
from accnn.runtime_sim.accesses import touches
from accnn.runtime_sim.checks import races
from accnn.runtime_sim.checks.races import Overlaps
from accnn.runtime_sim.simulate import simulate
from tests.thinned import examples

from ...programs import machine, program, symbol

QUEUES = ("dma0", "ld0", "st0")
FIRST = Wait(len(QUEUES), 1)
"""For the instruction that writes all bytes before any is read."""
STRIDES = st.sampled_from([-5, -2, 1, 2, 3, 7])


@st.composite
def programs(draw):
    """Instructions in one legal order, each with waits for earlier ones."""
    streams = {name: [] for name in QUEUES}
    for _ in range(draw(st.integers(2, 7))):
        name = draw(st.sampled_from(QUEUES))
        waits = tuple(
            Wait(number, draw(st.integers(1, len(streams[other]))))
            for number, other in enumerate(QUEUES)
            if other != name and streams[other] and draw(st.booleans())
        )
        waits += (FIRST,) if not streams[name] else ()
        shape = (draw(st.integers(1, 3)), draw(st.integers(1, 4)))
        size = draw(st.sampled_from([1, 2]))
        target, source = (
            Access(Space.GB, 0, draw(st.integers(40, 90)), draw(st.tuples(STRIDES, STRIDES)))
            for _ in range(2)
        )
        fields = {"dst": target, "shape": shape, "element_bytes": size, "waits": waits}
        fill = draw(st.booleans())
        instruction = Fill(value=1, **fields) if fill else Copy(src=source, **fields)
        streams[name].append(instruction)
    everything = Fill(dst=Access(Space.GB, 0, 0, (1,)), shape=(200,), element_bytes=1, value=0)
    return program({**streams, "dma1": [everything]}, arch=machine(1, 2))


def bytes_of(access, shape, size):
    return {
        access.address + sum(i * s for i, s in zip(index, access.strides, strict=True)) + byte
        for index in itertools.product(*map(range, shape))
        for byte in range(size)
    }


def touched(instruction):
    """Bytes read and bytes written."""
    shape, size = instruction.shape, instruction.element_bytes
    source = getattr(instruction, "src", None)
    read = bytes_of(source, shape, size) if source is not None else set()
    return read, bytes_of(instruction.dst, shape, size)


def before(built, node):
    """All instructions that are known to have retired when one starts."""
    known, todo = set(), [node]
    while todo:
        queue, position = todo.pop()
        waits = built.queues[queue].instructions[position].waits
        direct = [(wait.queue, wait.count - 1) for wait in waits]
        if position:
            direct.append((queue, position - 1))
        todo += [other for other in direct if other not in known]
        known.update(direct)
    return known


def has_race(built):
    nodes = [
        (queue, position)
        for queue, stream in enumerate(built.queues)
        for position in range(len(stream.instructions) - 1)
    ]
    for a, b in itertools.combinations(nodes, 2):
        if a in before(built, b) or b in before(built, a):
            continue
        (read_a, write_a), (read_b, write_b) = (
            touched(built.queues[queue].instructions[position]) for queue, position in (a, b)
        )
        if write_a & (read_b | write_b) or write_b & read_a:
            return True
    return False


@settings(max_examples=examples(300), deadline=None)
@given(programs(), st.none() | st.integers(0, 5), st.sampled_from([1, 2, 256]))
def test_a_race_is_found_if_and_only_if_there_is_one(built, seed, at_once):
    """Also if instructions are compared one by one, and what all know is forgotten at once."""
    try:
        with mock.patch.object(races, "_AT_ONCE", at_once):
            simulate(built, {}, {}, detect_races=True, interleaving_seed=seed)
        found = False
    except RaceError:
        found = True

    assert found == has_race(built)


@settings(max_examples=300, deadline=None)
@given(
    *[st.tuples(st.integers(40, 90), st.tuples(STRIDES, STRIDES, STRIDES))] * 2,
    st.tuples(*[st.integers(1, 4)] * 3),
    st.sampled_from([1, 2, 4]),
)
def test_overlaps_are_exact_and_name_a_common_byte(one, other, shape, size):
    places = [Access(Space.GB, 0, address, strides) for address, strides in (one, other)]
    bytes_a, bytes_b = (bytes_of(access, shape, size) for access in places)
    a, b = (touches(Fill(dst=x, shape=shape, element_bytes=size, value=0))[0] for x in places)

    byte = Overlaps().common_byte(a, b)

    assert (byte is not None) == (not bytes_a.isdisjoint(bytes_b))
    assert byte is None or byte in bytes_a & bytes_b


def test_overlaps_are_remembered_by_distance():
    """Two of four bytes 8 apart, next to each other and on top of each other."""
    overlaps = Overlaps()

    def meet(first, second):
        fills = (
            Fill(dst=Access(Space.GB, 0, x, (8, 1)), shape=(2, 2), element_bytes=1, value=0)
            for x in (first, second)
        )
        return overlaps.common_byte(*(touches(item)[0] for item in fills))

    assert [meet(0, x) for x in (2, 1, 8, 9, 16, 2, 1)] == [None, 1, 8, 9, None, None, 1]
    assert [meet(100, 100 + x) for x in (2, 1)] == [None, 101]


def test_equal_addresses_of_two_npus_are_two_places():
    """Two queues write one address of the weights' memory at the same time."""
    symbols = (symbol("c", SymbolKind.CONSTANT, 0, DType.U8, 4),)
    constants = {"c": np.zeros(4, np.uint8)}
    one, other = (
        Copy(
            dst=Access(Space.WB, npu, 0, (1,)),
            src=Access(Space.DRAM, 0, 0, (1,)),
            shape=(4,),
            element_bytes=1,
        )
        for npu in (0, 1)
    )

    simulate(program({"ld0": [one], "ld1": [other]}, symbols, arch=machine(2)), constants, {})
    with pytest.raises(RaceError, match="race on byte 0x0 of wb1"):
        simulate(program({"ld1": [other], "st1": [other]}, symbols, arch=machine(2)), constants, {})


def test_what_is_written_to_parameters_reaches_all_npus():
    fill = Fill(dst=Access(Space.PB, 0, 0, (1,)), shape=(4,), element_bytes=1, value=1)
    after = replace(fill, waits=(Wait(0, 1),))

    simulate(program({"ld0": [fill], "ld1": [after]}, arch=machine(2)), {}, {})
    with pytest.raises(RaceError, match="race on byte 0x0 of pb"):
        simulate(program({"ld0": [fill], "ld1": [fill]}, arch=machine(2)), {}, {})


def test_a_read_that_only_begins_in_a_constant_may_race():
    """Nothing writes the constant of 4 bytes; another queue writes the input behind it."""
    symbols = (
        symbol("c", SymbolKind.CONSTANT, 0, DType.U8, 4),
        symbol("x", SymbolKind.INPUT, 4, DType.U8, 4),
    )
    write = Fill(dst=Access(Space.DRAM, 0, 4, (1,)), shape=(4,), element_bytes=1, value=1)
    constants = {"c": np.zeros(4, np.uint8)}

    def run(size, waits):
        read = Copy(
            src=Access(Space.DRAM, 0, 0, (1,)),
            dst=Access(Space.GB, 0, 0, (1,)),
            shape=(size,),
            element_bytes=1,
            waits=waits,
        )
        built = program({"dma0": [write], "dma1": [read]}, symbols, arch=machine(1, 2))
        simulate(built, constants, {"x": np.zeros(4, np.uint8)})

    run(4, ())
    run(8, (Wait(0, 1),))
    with pytest.raises(RaceError, match="race on byte 0x4 of dram"):
        run(8, ())
