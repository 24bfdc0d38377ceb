"""Schedule tiles in the order of their loop nest, with transfers running ahead.

Operations keep the order of the nest. On several NPUs whole accumulations are dealt out in turn,
which unrolls the innermost loop that changes the output. Before an operation is issued, the tiles
of the next ones are fetched as far as there is space; the tile whose next use is furthest away
makes space. A channel that would be idle before the array is fetches what later operations read, if
that leaves space for outputs. Accumulator tiles that leave unfinished are spilled and retrieved.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.isa.instructions import Space
from ....ir.tiles.graph import TileGraph
from ....ir.tiles.schedule import TileSchedule
from ..engine.kernel.arrays import IssueOrder
from .attempts import Attempt, Attempts
from .demand import check_demand
from .fixed_places import fixed_places
from .issue_order import Dealing, dealings
from .tables import GraphTables

Ints = NDArray[np.int64]

_Rated = TypeVar("_Rated", TileSchedule, Attempt)


def schedule_static(
    graph: TileGraph,
    arch: Architecture,
    ranges: Mapping[Space, tuple[int, int]],
    *,
    other_ways: bool = True,
) -> TileSchedule:
    """Return the schedule of a tile graph in its own order.

    Tiles that are fetched for an idle channel, and have to leave before anything reads them, come
    for nothing. They wait until their turn is near in a second attempt, and all tiles of their
    tensors in a third one. Where space is left in pieces only, inner tiles get their addresses
    beforehand. On several NPUs all this is done for each way to deal operations out. Of what fits,
    cycles and bytes decide alike.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        ranges: First byte and size of the range of each space that tiles may use.
        other_ways: Whether to try other ways, too, in which NPUs share the work.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    return best_of(dealt_schedules(graph, arch, ranges, other_ways=other_ways).values()).schedule


def dealt_schedules(
    graph: TileGraph,
    arch: Architecture,
    ranges: Mapping[Space, tuple[int, int]],
    *,
    other_ways: bool = True,
) -> Mapping[Dealing, Attempt]:
    """Return the schedules that fit, by how accumulations are dealt out; at least one.

    Args:
        graph: Tiles and operations.
        arch: The machine.
        ranges: First byte and size of the range of each space that tiles may use.
        other_ways: Whether to try other ways, too, in which NPUs share the work.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    found: dict[Dealing, Attempt] = {}
    tables = GraphTables(graph, arch)
    complaint: InfeasibleError | None = None
    for dealing, order in dealings(tables.tiles, other_ways=other_ways).items():
        try:
            found[dealing] = schedule_turns(tables, ranges, order)
        except InfeasibleError as error:
            complaint = complaint or error
    if complaint is not None and not found:
        raise complaint
    return found


def schedule_turns(
    tables: GraphTables,
    ranges: Mapping[Space, tuple[int, int]],
    order: IssueOrder,
    numbers: Ints | None = None,
) -> Attempt:
    """Return the schedule of a tile graph whose operations are issued in a given order.

    Args:
        tables: Tiles and operations.
        ranges: First byte and size of the range of each space that tiles may use.
        order: All operations, each with its NPU.
        numbers: Of the operations, in the order in which the schedule is to name them; as in the
            tables by default.

    Raises:
        InfeasibleError: The tiles of one operation do not fit together.
    """
    check_demand(tables.graph, tables.tiles, order, ranges)
    try:
        return _best_attempt(Attempts(tables, order, ranges, numbers=numbers))
    except InfeasibleError:
        for places in fixed_places(tables.graph, order, ranges):
            with suppress(InfeasibleError):
                return _best_attempt(Attempts(tables, order, places.ranges, places, numbers))
        raise


def _best_attempt(attempts: Attempts) -> Attempt:
    """Return the best of attempts in which ever more tiles wait until they are needed."""
    found = [attempts.run()]
    if hurried := found[0].hurried:
        found.append(attempts.run(hurried))
        if found[1].hurried:
            tiles = attempts.tables.graph.tiles
            tensors = {tiles[number].tensor for number in hurried | found[1].hurried}
            patient = {number for number, tile in enumerate(tiles) if tile.tensor in tensors}
            found.append(attempts.run(frozenset(patient)))
    return best_of(found)


def best_of(schedules: Iterable[_Rated]) -> _Rated:
    """Return the schedule in which cycles and bytes together are least.

    Args:
        schedules: Of the same operators.
    """
    return min(schedules, key=rating_of)


def rating_of(schedule: TileSchedule | Attempt) -> int:
    """Return what a schedule is compared by with others of the same tiles.

    Args:
        schedule: The schedule.
    """
    return rating(schedule.cycles, schedule.transferred_bytes)


def rating(cycles: int, moved: int) -> int:
    """Return what schedules of the same tiles are compared by: cycles and bytes count alike.

    Args:
        cycles: Of a schedule.
        moved: Bytes that it transfers; among those that transfer nothing, cycles decide.
    """
    return cycles * (moved + 1)
