"""No written form forgets a field: whatever is changed in a value is read back."""

import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import pytest

from accnn.backend.arch_tables import dump_architecture, read_tables
from accnn.backend.binary.encode import ProgramHead, decode, encode, head_of
from accnn.ir.arch import (
    Architecture,
    Dma,
    Dram,
    Fanout,
    FanoutGroup,
    MemoryLevel,
    MeshNetwork,
    Npu,
    Precision,
    VectorUnit,
)
from accnn.ir.codec.json_codec import dump_json, parse_json
from accnn.ir.codec.schema import Form, columns, shape_of
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.program import Program
from accnn.ir.text.parser import parse_program
from accnn.ir.text.printing.program import print_program
from accnn.ir.workload import Dim, Operand
from accnn.passes.options import option_fields
from accnn.passes.pipeline import Pipeline, parse_pipeline
from tests.passes.sample_passes import SAMPLES, TuneAll
from tests.programs import convolution

LEVEL = MemoryLevel(
    name="dram",
    holds=(Operand.W, Operand.I, Operand.O),
    capacity=64,
    read_bandwidth=1.5,
    write_bandwidth=2.5,
    ports=2,
)
ARCH = Architecture(
    name="full",
    levels=(LEVEL, replace(LEVEL, name="gb")),
    scratchpad="gb",
    fanouts=(Fanout(name="mac", below="gb", size=2, link_bandwidth=1.0, dims=(Dim.C, Dim.K)),),
    groups=(FanoutGroup(fanouts=("mac",), limit=2),),
    npus=(Npu(name="npu0", sizes=(("mac", 4),)),),
    precision=Precision.INT8,
    vector=VectorUnit(),
    dma=Dma(),
    dram=Dram(
        burst_bytes=64,
        burst_ns=3.0,
        banks=4,
        row_bytes=1024,
        column_ns=1.0,
        activate_ns=1.0,
        precharge_ns=1.0,
        recovery_ns=1.0,
        turnaround_ns=1.0,
        refresh_ns=1.0,
        interval_ns=9.0,
    ),
    network=MeshNetwork(
        fanout="mac", columns=2, rows=2, scratchpad_ports=((0, 0),), off_chip_ports=((1, 1),)
    ),
)
"""Every optional field has a value, and every tuple an item."""


def changes(value: Any) -> Iterator[Any]:
    """Yield copies of a value that differ in one field somewhere within."""
    if is_dataclass(value):
        for item in fields(value):
            if item.compare:
                for new in changes(getattr(value, item.name)):
                    yield replace(value, **{item.name: new})
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            for new in changes(item):
                yield (*value[:place], new, *value[place + 1 :])
    elif isinstance(value, Enum):
        members = list(type(value))
        yield members[(members.index(value) + 1) % len(members)]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        yield f"{value}_"
    else:
        assert value is None


def toml(arch: Architecture) -> Architecture:
    return read_tables("x", tomllib.loads(dump_architecture(arch)))


def json(arch: Architecture) -> Architecture:
    return parse_json(dump_json(arch), Architecture)


@pytest.mark.parametrize("read_back", [toml, json])
def test_every_key_of_an_architecture_is_written(read_back) -> None:
    others = list(changes(ARCH))

    assert len(others) > 50
    for other in (ARCH, *others):
        assert read_back(other) == other


def small_program() -> Program:
    return replace(convolution(1)[0], arch=ARCH)


def binary(program: Program) -> Program:
    return decode(encode(program))


def text(program: Program) -> Program:
    return parse_program("".join(print_program(program)))


@pytest.mark.parametrize("read_back", [binary, text])
def test_every_field_of_an_instruction_is_written(read_back) -> None:
    program = small_program()
    seen: set[type] = set()
    for place, queue in enumerate(program.queues):
        for instruction in queue.instructions:
            if type(instruction) in seen:
                continue
            seen.add(type(instruction))
            for other in changes(instruction):
                changed = replace(queue, instructions=(other,))
                queues = (*program.queues[:place], changed, *program.queues[place + 1 :])
                whole = replace(program, queues=queues)
                assert read_back(whole) == whole
    assert len(seen) >= 4


def test_the_head_of_a_program_has_every_field_of_it() -> None:
    assert [c.name for c in columns(ProgramHead)] == [c.name for c in columns(Program)]
    head = head_of(small_program())

    for other in (head, *changes(replace(head, arch=ARCH))):
        assert parse_json(dump_json(other), ProgramHead) == other


def test_every_option_of_a_pass_is_written() -> None:
    item = TuneAll(limit=3, note="some", budget=2)
    others = list(changes(item))

    assert len(others) == len(option_fields(TuneAll))
    for other in others:
        pipeline = Pipeline((other,))
        assert parse_pipeline(str(pipeline), SAMPLES) == pipeline


def test_annotations_without_a_written_form_are_refused() -> None:
    with pytest.raises(TypeError, match="has no written form"):
        shape_of(set[int])
    with pytest.raises(TypeError, match="has no written form"):
        shape_of(Npu | int)
    assert shape_of(int | str | None).form is Form.CHOICE
    assert shape_of(int | None).optional
    assert Space.GB in list(shape_of(Space).kind)
