"""Columns give back what they were made of, or say that they are damaged."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.codec.column_codec import dump_columns, parse_columns
from accnn.ir.errors import ParseError
from accnn.ir.isa.program import Program
from accnn.ir.tiles.graph import Range
from accnn.ir.tiles.schedule import TileSchedule
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.thinned import examples


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    number: int
    text: str
    part: float | None
    colour: Colour
    box: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Nothing:
    pass


@dataclass(frozen=True)
class Sheet:
    """Every form that a value may have, but for instructions."""

    rows: tuple[Row, ...]
    pairs: tuple[tuple[int, str], ...]
    row: Row | None
    by_name: Mapping[str, tuple[int, ...]]
    either: int | float | str | bool | None
    is_set: bool
    nested: tuple[tuple[int | None, ...], ...]
    nothing: Nothing


RANGES = st.builds(Range, st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.builds(
    Row,
    number=st.integers(-(2**70), 2**70),
    text=st.text(),
    part=st.none() | FLOATS,
    colour=st.sampled_from(Colour),
    box=st.lists(RANGES, max_size=3).map(tuple),
)
SHEETS = st.builds(
    Sheet,
    rows=st.lists(ROWS, max_size=4).map(tuple),
    pairs=st.lists(st.tuples(st.integers(), st.text()), max_size=4).map(tuple),
    row=st.none() | ROWS,
    by_name=st.dictionaries(st.text(), st.lists(st.integers(), max_size=3).map(tuple), max_size=3),
    either=st.none() | st.integers() | FLOATS | st.text() | st.booleans(),
    is_set=st.booleans(),
    nested=st.lists(st.lists(st.none() | st.integers(), max_size=3).map(tuple), max_size=3).map(
        tuple
    ),
    nothing=st.just(Nothing()),
)
SHEET = Sheet(
    rows=(
        Row(number=1, text="a", part=1.0, colour=Colour.RED, box=(Range(0, 4), Range(1, 9, 2))),
        Row(number=2, text="b", part=None, colour=Colour.BLUE),
    ),
    pairs=((1, "x"),),
    row=None,
    by_name={"b": (1,), "a": ()},
    either=True,
    is_set=False,
    nested=((1, None), ()),
    nothing=Nothing(),
)


def schedule(arch: str = "flexer-arch5") -> TileSchedule:
    found = compile_graph(*residual_network(), arch).module.tile_schedule
    assert found is not None
    return found


def unpacked(data: bytes) -> Any:
    return json.loads(zlib.decompress(data))


def packed(columns: object) -> bytes:
    return zlib.compress(json.dumps(columns).encode())


@given(SHEETS)
@settings(max_examples=examples(100))
def test_what_is_written_is_read_back(sheet: Sheet) -> None:
    again = parse_columns(dump_columns(sheet), Sheet)

    assert again == sheet
    unordered = {"by_name": {}}
    assert repr(replace(again, **unordered)) == repr(replace(sheet, **unordered))  # 1 is not 1.0
    assert dump_columns(again) == dump_columns(sheet)


@pytest.mark.parametrize("arch", ["simba", "edge-1m", "flexer-arch5"])
def test_a_tile_schedule_is_read_back(arch: str) -> None:
    found = schedule(arch)

    again = parse_columns(dump_columns(found), TileSchedule)

    again.verify()
    assert again == found
    assert repr(again) == repr(found)


def test_equal_values_give_equal_bytes() -> None:
    other = {"a": (), "b": (1,)}

    assert dump_columns(SHEET) == dump_columns(replace(SHEET, by_name=other))


@pytest.mark.parametrize("place", range(0, 100, 5))
def test_damaged_bytes_are_refused_or_mean_the_same(place: int) -> None:
    """A repetition may be copied from elsewhere: then the text, and its checksum, are as before."""
    data = bytearray(dump_columns(schedule()))
    data[len(data) * place // 100] ^= 0x10

    try:
        found = parse_columns(bytes(data), TileSchedule)
    except ParseError as error:
        assert "no columns of TileSchedule" in str(error)
    else:
        assert found == schedule()


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_truncated_bytes_are_refused(kept: int) -> None:
    with pytest.raises(ParseError, match="no columns of Sheet"):
        parse_columns(dump_columns(SHEET)[:kept], Sheet)


def change(columns: Any, path: tuple[str | int, ...], value: object) -> None:
    *outer, last = path
    for key in outer:
        columns = columns[key]
    columns[last] = value


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("rows", "of", "number"), [1], "1 values instead of 2"),
        (("rows", "of", "number"), [1, "2"], "values are not int"),
        (("rows", "of", "number"), [1, True], "values are not int"),
        (("rows", "of", "part", "of"), [1.0, 2.0], "2 values instead of 1"),
        (("rows", "of", "part", "none"), [5], "out of range"),
        (("rows", "of", "text", "at"), [0, 2], "range"),
        (("rows", "of", "text", "at"), [0, -1], "negative"),
        (("rows", "of", "colour", "words"), ["red", "green"], "green"),
        (("rows", "of", "box", "sizes"), [1, 0], "instead of 1"),
        (("rows", "sizes"), [3], "instead of 3"),
        (("rows", "of"), {"number": [1, 2]}, "fields of Row are number"),
        (("pairs", "of"), [[1]], "longer"),
        (("either", "of"), [[1]], "no 1 values"),
        (("is_set",), [0], "values are not bool"),
        (("by_name", "keys"), ["a"], "instead of 2"),
        (("extra",), [1], "fields of Sheet are"),
        (("nested",), None, "NoneType"),
    ],
)
def test_columns_of_something_else_are_refused(
    path: tuple[str | int, ...], value: object, complaint: str
) -> None:
    columns = unpacked(dump_columns(SHEET))
    assert parse_columns(packed(columns), Sheet) == SHEET
    change(columns, path, value)

    with pytest.raises(ParseError, match=complaint):
        parse_columns(packed(columns), Sheet)


@pytest.mark.parametrize("data", [b"[]", b"1", b"null", b'{"a": 1}', b"{", b"\xff", b"[" * 99999])
def test_what_is_no_column_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match="no columns of Sheet"):
        parse_columns(zlib.compress(data), Sheet)


@pytest.mark.parametrize("part", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(part: float) -> None:
    row = Row(number=1, text="", part=part, colour=Colour.RED)

    with pytest.raises(ValueError, match="JSON"):
        dump_columns(row)


def test_instructions_have_no_columns() -> None:
    program = compile_graph(*residual_network(), "edge-1m").program

    with pytest.raises(TypeError, match="no columns"):
        dump_columns(program)
    with pytest.raises(ParseError, match="Program"):
        parse_columns(packed({}), Program)
