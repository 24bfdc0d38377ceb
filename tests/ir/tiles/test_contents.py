"""Tiles that roll: where their rows lie, and which of them are there."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.contents import RollingRows
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp, dense_strides


def rolling(planes: int, rows: int, columns: int, rolls: int, size: int = 1) -> Tile:
    shape = (1, planes, rows, columns)
    return Tile(
        tensor="x",
        role=Role.INNER,
        view=dense_strides(shape),
        box=tuple(Range(0, extent) for extent in shape),
        element_bytes=size,
        space=Space.GB,
        rolls=rolls,
    )


sizes = st.integers(1, 5)


@given(sizes, st.integers(1, 9), sizes, st.integers(1, 9), st.sampled_from([1, 4]))
def test_rows_that_are_there_together_lie_apart(
    planes: int, rows: int, columns: int, rolls: int, size: int
):
    tile = rolling(planes, rows, columns, rolls, size)

    for first in range(rows):
        there = range(first, min(rows, first + rolls))
        places = [
            sum(i * stride for i, stride in zip(index, tile.strides, strict=True))
            for index in product((0,), range(planes), there, range(columns))
        ]
        assert len(set(places)) == len(places)
        assert min(places) >= 0
        assert max(places) + size <= tile.occupied


def test_one_that_does_not_roll_is_dense():
    assert rolling(3, 4, 5, 4).strides == rolling(3, 4, 5, 0).strides
    assert rolling(3, 4, 5, 4).occupied == rolling(3, 4, 5, 0).occupied == 60


def rows_of(*boxes: Range, rolls: int = 2) -> RollingRows:
    """Return a tile of six rows, and what writes them in parts."""
    ops = tuple(
        TileOp(
            operator="g",
            unit=Unit.VX,
            box=(Range(0, 1), Range(0, 1), rows, Range(0, 1)),
            reads=(),
            out=0,
        )
        for rows in boxes
    )
    graph = TileGraph(operators=("g",), tiles=(rolling(1, 6, 1, rolls),), ops=ops)
    return RollingRows(graph, 0)


def row(number: int) -> Range:
    return Range(number, number + 1)


def test_rows_are_there_when_they_are_written():
    rows = rows_of(row(0), row(1))

    assert rows.write(row(0), 0, 10)
    assert not rows.read(row(0), 9, 12)
    assert rows.read(row(0), 10, 12)
    assert not rows.read(Range(0, 2), 10, 12)


def test_a_row_is_there_when_all_parts_of_it_are():
    rows = rows_of(row(0), row(0))

    assert rows.write(row(0), 0, 10)
    assert not rows.read(row(0), 20, 22)
    assert rows.write(row(0), 5, 15)
    assert rows.read(row(0), 15, 16)


def test_rows_are_gone_when_new_ones_take_their_place():
    rows = rows_of(*map(row, range(4)))

    assert all(rows.write(row(number), number, number + 1) for number in range(3))
    assert not rows.read(row(0), 10, 12)
    assert rows.read(Range(1, 3), 10, 12)


def test_rows_are_written_over_when_they_have_been_read():
    rows = rows_of(*map(row, range(4)))
    assert rows.write(row(0), 0, 1)
    assert rows.write(row(1), 1, 2)
    assert rows.read(Range(0, 2), 2, 9)

    assert not rows.write(row(2), 8, 10)
    assert rows.write(row(2), 9, 10)


def test_rows_are_written_over_when_they_were_written():
    rows = rows_of(row(0), row(2))
    assert rows.write(row(0), 0, 7)

    assert not rows.write(row(2), 6, 8)
    assert rows.write(row(2), 7, 8)


def written_and_read(tile: Tile) -> TileGraph:
    copied = TileOp(operator="g", unit=Unit.ST, box=tile.box, reads=(), out=0)
    read = replace(copied, reads=(0,), out=1, rows=tile.box[2:3] if tile.rolls else ())
    result = replace(tile, tensor="y", role=Role.O, rolls=0)
    return TileGraph(operators=("g",), tiles=(tile, result), ops=(copied, read))


def test_what_rolls_is_inner_and_has_rows():
    tile = rolling(2, 5, 3, 4)
    written_and_read(tile).verify()

    for wrong in (
        replace(tile, rolls=6),
        replace(tile, rolls=-1),
        replace(tile, role=Role.I),
        replace(tile, address=64),
        replace(tile, view=(1,), box=(Range(0, 5),)),
    ):
        graph = written_and_read(tile)
        with pytest.raises(VerifyError, match="cannot roll"):
            replace(graph, tiles=(wrong, graph.tiles[1])).verify()


def test_rows_are_what_an_operation_touches_of_a_tile_that_rolls():
    graph = written_and_read(rolling(2, 5, 3, 4))
    written, read = graph.ops
    some = replace(written, box=(*written.box[:2], Range(1, 3), *written.box[3:]))

    assert graph.rows(some, 0) == (1, 2)
    assert graph.rows(replace(read, rows=(Range(2, 5),)), 0) == (2, 3, 4)
    assert graph.rows(read, 1) is None


@pytest.mark.parametrize("rolls", [0, 4])
def test_operations_say_which_rows_they_read_of_what_rolls(rolls: int):
    graph = written_and_read(rolling(2, 5, 3, rolls))
    graph.verify()
    other = () if rolls else (Range(0, 5),)

    with pytest.raises(VerifyError, match=f"has {len(other)} ranges of rows"):
        replace(graph, ops=(graph.ops[0], replace(graph.ops[1], rows=other))).verify()
