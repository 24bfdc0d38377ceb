"""In which order, and on which NPU, the operations of a loop nest are issued."""

from collections.abc import Mapping
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..engine.kernel.arrays import IssueOrder, TileArrays
from ..engine.kernel.issue import (
    FROM_FIRST,
    ON,
    ON_BY_UNIT,
    TILE_COLUMNS,
    Accumulations,
    deal_out,
    empty_contents,
    find_turns,
    lay_out,
)
from ..timing.issued import firsts

Ints = NDArray[np.int64]


class Dealing(Enum):
    """Which NPUs get accumulations that are too few for all of them."""

    FROM_FIRST = int(FROM_FIRST)
    """The first ones, so that each NPU keeps its tiles."""
    ON = int(ON)
    """Those after the last one that got work, so that all get as much."""
    ON_BY_UNIT = int(ON_BY_UNIT)
    """Those after the last one that got work for the same unit: copies shift no products."""


def dealings(tiles: TileArrays, *, other_ways: bool = True) -> Mapping[Dealing, IssueOrder]:
    """Return the orders of issue by how accumulations are dealt out; on as well, if that differs.

    Args:
        tiles: Tiles and operations.
        other_ways: Whether to deal on at all.
    """
    first = issue_order(tiles)
    if tiles.npus == 1 or not other_ways:
        return {Dealing.FROM_FIRST: first}
    on = issue_order(tiles, Dealing.ON)
    is_same = all(map(np.array_equal, first, on))
    return {Dealing.FROM_FIRST: first} | ({} if is_same else {Dealing.ON: on})


def issue_order(
    tiles: TileArrays, dealing: Dealing = Dealing.FROM_FIRST, ops: Ints | None = None
) -> IssueOrder:
    """Return operations in the order of issue: accumulations dealt out in turn, interleaved.

    Args:
        tiles: Tiles and operations.
        dealing: Which NPUs get those that are too few for all.
        ops: Numbers of the operations that there are, in their order; all of them by default, as
            they are numbered.
    """
    found = accumulations(tiles, ops)
    issued = np.zeros((len(found.members), 2), np.int64)
    if tiles.npus == 1:
        issued[:, 0] = np.arange(len(issued))
    else:
        dealt = np.zeros(len(tiles.ops), np.int64)  # units are fewer
        deal_out(tiles, found, dealing.value, empty_contents(tiles), dealt, issued)
    return in_turns(tiles, found, issued)


def accumulations(tiles: TileArrays, ops: Ints | None = None) -> Accumulations:
    """Return operations as accumulations, each with what finishes it and goes on with that.

    Args:
        tiles: Tiles and operations.
        ops: As for :func:`issue_order`.
    """
    order = np.arange(len(tiles.ops) - 1) if ops is None else ops
    known = np.empty((len(tiles.tiles), TILE_COLUMNS), np.int64)
    last = np.empty(len(tiles.tiles), np.int64)
    found = np.empty((2, len(order)), np.int64)
    turns = find_turns(tiles, order, known, last, found)
    turn, accumulation = found[0], found[1, :turns]
    return Accumulations(
        ops=order[np.argsort(turn, kind="stable")],
        turns=firsts(np.bincount(turn, minlength=turns)),
        members=np.argsort(accumulation, kind="stable"),
        begins=firsts(np.bincount(accumulation)),
    )


def in_turns(tiles: TileArrays, turns: Accumulations, issued: Ints) -> IssueOrder:
    """Return turns in the order in which they are issued.

    Args:
        tiles: Tiles and operations.
        turns: The turns.
        issued: Turn and NPU, in order ``[turns, 2]``.
    """
    most = len(tiles.reads) + len(tiles.ops)
    found = IssueOrder(
        turns=np.zeros((len(issued) + 1, 3), np.int64),
        ops=np.empty(len(turns.ops), np.int64),
        tiles=np.empty(most, np.int64),
    )
    seen = np.full(len(tiles.tiles), -1, np.int64)
    named = lay_out(tiles, turns, issued, found, seen)
    return found._replace(tiles=found.tiles[:named])
