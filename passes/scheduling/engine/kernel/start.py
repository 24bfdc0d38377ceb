"""A schedule before its first event."""

import numpy as np

from .arrays import (
    COPY_COLUMNS,
    EVENT_COLUMNS,
    QUEUE_COLUMNS,
    SCALARS,
    TILE_COLUMNS,
    Capacity,
    ContentArrays,
    RunArrays,
    TileArrays,
)
from .gaps import idle
from .spaces import empty_spaces


def empty_run(t: TileArrays, r: Capacity, queues: int, size: int) -> RunArrays:
    """Return a schedule without events.

    Args:
        t: Tiles and operations.
        r: The space that tiles may use.
        queues: How many there are.
        size: For how many events there is space in the arrays, and in proportion for all else.
    """
    copies, memories = len(t.tiles) * t.npus, len(r.memories) - 1
    items = np.full((copies, COPY_COLUMNS), -1, np.int64)
    return RunArrays(
        spaces=empty_spaces(memories + 1, size, size),
        holders=np.zeros(size, np.int64),
        ports=idle(t.ports, size),
        contents=_no_contents(t, memories, queues, size),
        copies=items,
        used=np.zeros(copies, np.int64),
        tiles=np.zeros((len(t.tiles), TILE_COLUMNS), np.int64),
        memories=np.zeros((memories + 1, 2), np.int64),
        queues=np.zeros((queues, QUEUE_COLUMNS), np.int64),
        ends=np.zeros((queues, size + 1), np.int64),
        events=np.zeros((size, EVENT_COLUMNS), np.int64),
        waits=np.zeros((4 * size, 2), np.int64),
        placements=np.zeros((size, 4), np.int64),
        scalars=np.zeros(SCALARS, np.int64),
    )


def _no_contents(t: TileArrays, memories: int, queues: int, size: int) -> ContentArrays:
    return ContentArrays(
        blocks=np.zeros((memories, size, 3), np.int64),
        counts=np.zeros(memories, np.int64),
        ticks=np.zeros((2 * size, 3, queues), np.int64),
        authors=np.full(2 * size, -1, np.int64),
        cells=np.zeros((t.cell_count, 2, queues), np.int64),
        tensors=np.full(len(t.tensors), -1, np.int64),
    )
