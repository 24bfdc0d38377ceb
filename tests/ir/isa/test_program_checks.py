"""A program that is not one for its machine is refused, by name."""

import dataclasses

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Copy, Mac, Requant, Space
from accnn.ir.isa.program import SpaceSize
from accnn.ir.mapping import Allocation
from accnn.ir.types import DType
from accnn.ir.workload import Dim, Operand

from ...programs import convolution, machine, with_stream


@pytest.fixture(scope="module")
def built():
    return convolution(2)[0]


def changed(built, kind, **fields):
    """The program with the first instruction of a class changed."""
    for number, queue in enumerate(built.queues):
        for position, item in enumerate(queue.instructions):
            if isinstance(item, kind):
                stream = list(queue.instructions)
                stream[position] = dataclasses.replace(item, **fields)
                return with_stream(built, number, stream)
    raise AssertionError(kind)


def with_nest(built, number, **fields):
    nest = dataclasses.replace(built.nests[number], **fields)
    return dataclasses.replace(
        built, nests=(*built.nests[:number], nest, *built.nests[number + 1 :])
    )


def mac_of(built):
    return built.queues[2].instructions[0]


def test_an_honest_program_passes(built):
    built.verify()


@pytest.mark.parametrize("space", [Space.GB, Space.WB, Space.AB, Space.PB])
def test_spaces_are_those_of_the_machine(built, space):
    for factor in (64, 0.5):
        spaces = tuple(
            SpaceSize(item.space, int(item.bytes * (factor if item.space is space else 1)))
            for item in built.spaces
        )
        with pytest.raises(VerifyError, match=f"{space} has .* byte, on toy it has"):
            dataclasses.replace(built, spaces=spaces).verify()


def test_a_broken_machine_is_refused(built):
    arch = dataclasses.replace(machine(), levels=machine().levels[:1])

    with pytest.raises(VerifyError, match="arch: "):
        dataclasses.replace(built, arch=arch).verify()


def test_an_engine_has_one_queue(built):
    twice = dataclasses.replace(built, queues=(*built.queues, built.queues[0]))

    with pytest.raises(VerifyError, match="there are two queues dma0"):
        twice.verify()


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Mac, {"nest": 99}, r"mx0\[0\] \(conv\): nest 99 does not exist"),
        (Mac, {"nest": -1}, "nest -1 does not exist"),
        (Mac, {"layout": 99}, "layout 99 does not exist"),
        (Mac, {"layout": -1}, "layout -1 does not exist"),
        (Mac, {"layout": 0}, "layout 0 is not one of ab"),
        (Mac, {"tile": 1 << 20}, "lie before their tile"),
        (Mac, {"acc_bytes": 3}, "sums of 3 byte, toy has 32 bit"),
        (Mac, {"extents": (1, 3, 5, 6, 3, 4, 1, 1)}, "not for extents"),
        (Mac, {"x_dtype": DType.F32}, r"its operands \(8, 32, 32\) bit"),
        (Copy, {"layout": 0}, "layout 0 is for nothing"),
        (Requant, {"layout": -1}, "layout -1 does not exist"),
    ],
)
def test_an_instruction_that_contradicts_its_descriptor_is_refused(built, kind, fields, message):
    with pytest.raises(VerifyError, match=message):
        changed(built, kind, **fields).verify()


def test_windows_step_as_the_descriptor_says(built):
    window = dataclasses.replace(mac_of(built).window, stride=(2, 1))

    with pytest.raises(VerifyError, match="steps over its input in another way"):
        changed(built, Mac, window=window).verify()


def test_operands_come_from_the_homes_of_the_descriptor(built):
    number = mac_of(built).nest
    chains = tuple(
        Allocation(item.operand, "gb" if item.operand is Operand.O else item.level, item.start)
        for item in built.nests[number].allocations
    )

    with pytest.raises(VerifyError, match="does not take O from ab"):
        with_nest(built, number, allocations=chains).verify()


def test_a_descriptor_for_another_tile_is_refused(built):
    number = mac_of(built).nest
    work = built.nests[number].workload.resized({Dim.K: 2})

    with pytest.raises(VerifyError, match="not for extents"):
        with_nest(built, number, workload=work).verify()


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ({"address": -1}, "acc begins at -1"),
        ({"address": 1 << 40}, "acc begins at 1099511627776, ab has 16384 byte"),
        ({"npu": 1}, "acc: there is no NPU 1"),
        ({"space": Space.GB, "npu": 1}, "all NPUs share gb"),
    ],
)
def test_accesses_lie_in_what_the_queue_can_reach(built, access, message):
    acc = dataclasses.replace(mac_of(built).acc, **access)

    with pytest.raises(VerifyError, match=message):
        changed(built, Mac, acc=acc).verify()
