"""Cells tell what elements tell: which written boxes a box that is read meets."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.cells import TensorCells, cut
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from accnn.ir.tiles.regions import Region, region_of

ROWS, COLUMNS = 4, 6


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Range, Range]:
    ends = [sorted(draw(st.sets(st.integers(0, n), min_size=2, max_size=2))) for n in (4, 6)]
    steps = [draw(st.integers(1, 2)), draw(st.integers(1, 3))]
    first, second = (Range(*end, step) for end, step in zip(ends, steps, strict=True))
    return first, second


def tile(role: Role, box: tuple[Range, ...], view: tuple[int, ...]) -> Tile:
    return Tile(
        tensor="x", role=role, view=view, box=box, element_bytes=1, space=Space.GB, address=0
    )


def operation(out: int) -> TileOp:
    return TileOp(operator="op", unit=Unit.VX, box=(Range(0, 1),), reads=(), out=out)


@settings(deadline=None)
@given(st.lists(boxes(), min_size=1, max_size=5), boxes(), st.booleans())
def test_a_box_meets_the_cells_of_its_elements(written, read, is_turned):
    views = (COLUMNS, 1), (1, COLUMNS) if is_turned else (COLUMNS, 1)
    seen = read[::-1] if is_turned else read
    tiles = (*(tile(Role.O, box, views[0]) for box in written), tile(Role.I, seen, views[1]))
    graph = TileGraph(
        operators=("op",), tiles=tiles, ops=tuple(operation(item) for item in range(len(written)))
    )
    cells = TensorCells(graph)

    for number, box in enumerate(written):
        overlaps = bool(elements(tiles[-1]) & elements(tiles[number]))
        assert overlaps == bool(set(cells.of(len(written))) & set(cells.of(number))), box


def elements(item: Tile) -> set[int]:
    marks = np.zeros(ROWS * COLUMNS, np.bool_)
    region_of(item).within(marks)[...] = True
    return set(np.flatnonzero(marks).tolist())


@settings(deadline=None)
@given(st.lists(boxes(), max_size=5))
def test_a_written_box_is_made_of_whole_cells(written):
    regions = [region_of(tile(Role.O, box, (COLUMNS, 1))) for box in written]
    labels, count = cut(ROWS * COLUMNS, regions)

    for region in regions:
        inside = np.zeros(ROWS * COLUMNS, np.bool_)
        region.within(inside)[...] = True
        assert not set(labels[inside].tolist()) & set(labels[~inside].tolist())
    assert labels.max() < count


def test_what_nobody_writes_is_one_cell():
    graph = TileGraph(operators=("op",), tiles=(tile(Role.W, (Range(0, 2),), (1,)),), ops=())

    assert TensorCells(graph).of(0) == (0,)
    assert TensorCells(graph).count("x") == 1


def test_disjoint_tiles_are_cells_of_their_own():
    regions = [Region(0, (3,), (1,)), Region(3, (3,), (1,))]

    assert cut(6, regions)[0].tolist() == [1, 1, 1, 2, 2, 2]


def test_disjoint_boxes_are_cells_of_their_own():
    """One that lies within another is not: the other one is two cells then."""
    inner, outer, apart = (
        (Range(0, 2), Range(0, 2)),
        (Range(0, 4), Range(0, 3)),
        (Range(0, 4), Range(3, 6)),
    )
    tiles = tuple(tile(Role.O, box, (COLUMNS, 1)) for box in (outer, apart, inner))

    def cells(count: int) -> list[tuple[int, ...]]:
        ops = tuple(operation(number) for number in range(count))
        found = TensorCells(TileGraph(operators=("op",), tiles=tiles, ops=ops))
        return [found.of(number) for number in range(count)]

    assert cells(2) == [(1,), (2,)]
    assert cells(3) == [(1, 3), (2,), (3,)]
