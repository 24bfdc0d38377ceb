"""Tile graphs: what tiles and operations say of themselves, and each way to be no graph at all."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp, shifted

from .test_schedule import ACC, I0, OUT, PARAM, W0, W1, graph, tile

ADDS, FINISHES = 0, 2
"""Operations: the first product, and what finishes."""


def with_tile(number: int, **changes: object) -> TileGraph:
    old = graph()
    tiles = list(old.tiles)
    tiles[number] = replace(tiles[number], **changes)
    return replace(old, tiles=tuple(tiles))


def with_op(number: int, **changes: object) -> TileGraph:
    old = graph()
    ops = list(old.ops)
    ops[number] = replace(ops[number], **changes)
    return replace(old, ops=tuple(ops))


def copies(*boxes: tuple[int, int], size: int = 8, **changes: object) -> TileGraph:
    """Return copies of an input into boxes of an inner tile, and one from it to an output."""
    inner = replace(tile(Role.INNER, 1, size), **changes)  # columns from size on
    tiles = (tile(Role.I, 0, size), inner, tile(Role.O, 0, size))
    ops = [
        TileOp(operator="op", unit=Unit.VX, box=(Range(*box),), reads=(0,), out=1) for box in boxes
    ]
    last = TileOp(operator="op", unit=Unit.VX, box=(Range(0, size),), reads=(1,), out=2)
    return TileGraph(operators=("op",), tiles=tiles, ops=(*ops, last))


RIGHT: dict[str, Callable[[], TileGraph]] = {
    "a product, a product and a finish": graph,
    "a layout": lambda: with_tile(W0, layout=0),
    "a footprint of its bytes": lambda: with_tile(W0, footprint=16),
    "a larger footprint": lambda: with_tile(W0, footprint=17),
    "a shift for each tile": lambda: with_op(ADDS, shifts=(0, 0, 0)),
    "a tile of one element": lambda: with_tile(W0, box=(Range(3, 4),)),
    "an inner tile written at once": lambda: copies((8, 16)),
    "an inner tile written in parts": lambda: copies((8, 11), (11, 12), (12, 16)),
    "outputs that are read": lambda: copies((8, 11), (11, 16), role=Role.O),
}


@pytest.mark.parametrize("what", RIGHT)
def test_a_graph_is_right(what: str) -> None:
    RIGHT[what]().verify()


WRONG: dict[str, tuple[Callable[[], TileGraph], str]] = {
    "a tile without axes": (lambda: with_tile(W0, box=(), view=()), "tile 0 of %W is empty"),
    "an axis without indices": (lambda: with_tile(W0, box=(Range(4, 4),)), "tile 0 of %W is empty"),
    "one of two axes without indices": (
        lambda: with_tile(W0, box=(Range(3, 4), Range(4, 4)), view=(8, 1)),
        "tile 0 of %W is empty",
    ),
    "a view of two axes": (lambda: with_tile(W1, view=(8, 1)), "tile 1 of %W: box and view"),
    "a layout that is none": (lambda: with_tile(W0, layout=1), "tile 0 of %W has no such layout"),
    "a layout below zero": (lambda: with_tile(W0, layout=-1), "tile 0 of %W has no such layout"),
    "a footprint too small": (
        lambda: with_tile(W0, footprint=15),
        "tile 0 of %W is larger than its footprint",
    ),
    "a read of no tile": (lambda: with_op(ADDS, reads=(I0, 6)), "operation 0 uses a tile that"),
    "a read below zero": (lambda: with_op(ADDS, reads=(-1, W0)), "operation 0 uses a tile that"),
    "a result in no tile": (lambda: with_op(FINISHES, out=6), "operation 2 uses a tile that does"),
    "a nest that is none": (lambda: with_op(ADDS, nests=(1,)), "operation 0 has a nest that does"),
    "a nest below zero": (lambda: with_op(ADDS, nests=(-1,)), "operation 0 has a nest that does"),
    "products into outputs": (
        lambda: with_tile(ACC, role=Role.O),
        "operation 0 cannot write tile 3",
    ),
    "a finish into sums": (lambda: with_op(FINISHES, out=ACC), "operation 2 cannot write tile 3"),
    "somebody else's operation": (
        lambda: with_op(ADDS, operator="other"),
        "operation 0 works for unknown %other",
    ),
    "a shift too few": (lambda: with_op(ADDS, shifts=(0, 0)), "operation 0 has no shift for each"),
    "a shift too many": (lambda: with_op(ADDS, shifts=(0,) * 4), "operation 0 has no shift for"),
    "a shift below zero": (lambda: with_op(ADDS, shifts=(0, 0, -1)), "operation 0 has no shift"),
    "sums that nobody finishes": (
        lambda: with_op(FINISHES, reads=(I0, PARAM)),
        "sums in tile 3 of %O are not finished once",
    ),
    "sums that are finished twice": (
        lambda: replace(graph(), ops=(*graph().ops, graph().ops[FINISHES])),
        "sums in tile 3 of %O are not finished once",
    ),
    "a resident inner tile": (lambda: copies((8, 16), address=0), "must lie in a workspace"),
    "an inner tile of the array": (lambda: copies((8, 16), space=Space.AB), "must lie in a work"),
    "an inner tile that nobody writes": (lambda: copies(), "is not written and read"),
    "an inner tile that nobody reads": (
        lambda: replace(copies((8, 16)), ops=copies((8, 16)).ops[:1]),
        "inner tile 1 of %inner is not written and read",
    ),
    "a column that nobody writes": (lambda: copies((8, 11), (12, 16)), "not written once in full"),
    "a column written twice": (lambda: copies((8, 12), (11, 16)), "is not written once in full"),
    "a part before the tile": (lambda: copies((7, 12), (12, 16)), "is not written once in full"),
    "a part behind the tile": (lambda: copies((8, 12), (12, 17)), "is not written once in full"),
    "a box before the tile": (lambda: copies((7, 15)), "is not written once in full"),
    "all but the last column": (lambda: copies((8, 15)), "is not written once in full"),
    "outputs that are read and not all written": (
        lambda: copies((8, 15), role=Role.O),
        "tile 1 of %inner is not written once in full",
    ),
    "outputs that are read and nobody writes": (
        lambda: copies(role=Role.O),
        "tile 1 of %inner is read and not written",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_graph_is_wrong(what: str) -> None:
    damaged, message = WRONG[what]

    with pytest.raises(VerifyError, match=message):
        damaged().verify()


@pytest.mark.parametrize("axis", range(5))
@pytest.mark.parametrize(("start", "stop"), [(-1, 1), (0, 3), (1, 3)])
def test_products_that_leave_the_sums_along_any_axis_are_wrong(
    axis: int, start: int, stop: int
) -> None:
    """The sums are two along each of the axes ``N G K P Q``."""
    place = {0: 6, 1: 7, 2: 5, 3: 2, 4: 3}[axis]  # among R S P Q C K N G
    whole = [Range(0, 2 if at in (2, 3, 5, 6, 7) else 1) for at in range(8)]
    outside = [*whole[:place], Range(start, stop), *whole[place + 1 :]]

    def adding(box: list[Range]) -> TileGraph:
        old = with_tile(ACC, box=(Range(0, 2),) * 5)
        first, second, finish = old.ops
        inside = replace(second, box=tuple(whole))
        return replace(old, ops=(replace(first, box=tuple(box)), inside, finish))

    adding(whole).verify()
    with pytest.raises(VerifyError, match="operation 0 adds outside of tile 3"):
        adding(outside).verify()


def test_a_range_counts_its_indices() -> None:
    for start in range(3):
        for stop in range(start, 9):
            for step in (1, 2, 3):
                assert Range(start, stop, step).size == len(range(start, stop, step))


def test_a_placed_tile_is_dense_and_a_resident_one_is_not() -> None:
    box = (Range(0, 4, 2), Range(1, 4), Range(0, 5))
    placed = Tile(
        tensor="x", role=Role.I, view=(100, 10, 1), box=box, element_bytes=2, space=Space.GB
    )

    assert placed.shape == (2, 3, 5)
    assert placed.bytes == 60
    assert placed.strides == (30, 10, 2)
    assert replace(placed, address=8).strides == (400, 20, 2)


def test_what_an_operation_is() -> None:
    found = graph()
    adds, _, finishes = found.ops

    assert adds.accumulates and not finishes.accumulates
    assert found.finishes(finishes) and not found.finishes(adds)
    assert found.sums_of(adds) == found.sums_of(finishes) == ACC
    assert found.writers == {ACC: (0, 1), OUT: (2,)}
    assert found.readers == {I0: (0, 1), W0: (0,), W1: (1,), ACC: (2,), PARAM: (2,)}
    copy = copies((8, 16)).ops[0]
    assert copies((8, 16)).sums_of(copy) is None
    assert not copies((8, 16)).finishes(replace(copy, reads=()))
    assert (copy.works_for, replace(copy, member="mine").works_for) == ("op", "mine")
    assert [replace(copy, shifts=(3, 5)).shift(at) for at in (0, -1)] == [3, 5]
    assert copy.shift(0) == 0


def test_an_operand_that_is_read_twice_is_read_by_one_operation() -> None:
    assert with_op(ADDS, reads=(I0, I0)).readers[I0] == (0, 1)


def test_rows_are_kept_in_an_inner_tile_from_another_tile_of_the_same_tensor() -> None:
    first, second = (replace(tile(Role.INNER, at, 8), tensor="x") for at in range(2))
    other = replace(second, tensor="y")
    keep = TileOp(operator="op", unit=Unit.DMA, box=(Range(4, 8),), reads=(0,), out=1)

    def keeps(*tiles: Tile, **changes: object) -> bool:
        op = replace(keep, **changes)
        return TileGraph(operators=("op",), tiles=tiles, ops=(op,)).keeps(op)

    assert keeps(first, second)
    assert not keeps(first, other)
    assert keeps(replace(first, role=Role.I), second)
    assert not keeps(first, replace(second, role=Role.O))
    assert not keeps(replace(first, role=Role.PSUM), second)
    assert not keeps(first, second, reads=())


N, ROW, COLUMN = Range(0, 1), Range(2, 4), Range(5, 8)
ONE, FOUR = Range(0, 1), Range(3, 7)


def test_finished_sums_are_written_where_their_operation_says() -> None:
    sums, own = (N, ONE, FOUR, ROW, COLUMN), (N, FOUR, ROW, COLUMN)
    finish = TileOp(operator="op", unit=Unit.VX, box=sums, reads=(0,), out=1)

    def box(op: TileOp) -> tuple[Range, ...]:
        tiles = tuple(
            Tile(tensor="x", role=role, view=(1,) * 5, box=b, element_bytes=1, space=Space.GB)
            for role, b in ((Role.PSUM, sums), (Role.O, op.written or sums))
        )
        return TileGraph(operators=("op",), tiles=tiles, ops=(op,)).written_box(op)

    assert box(finish) == sums
    assert box(replace(finish, written=own)) == own
    moved = Range(FOUR.start + 9, FOUR.stop + 9)
    assert box(replace(finish, written=own, shifts=(0, 9))) == (N, moved, ROW, COLUMN)


def test_a_box_is_shifted_along_its_channels() -> None:
    box = (N, Range(1, 7, 2), ROW, COLUMN)

    assert shifted(box, 0) == box
    assert shifted(box, 4) == (N, Range(5, 11, 2), ROW, COLUMN)
