"""How tiles leave the chip: dropped where a copy exists elsewhere, written off where none does.

Args:
    p: The problem.
    s: State of the schedule.
    tile: Number of the tile.
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from .....ir.compiled import inner
from .arrays import (
    AT,
    BYTES_LEFT,
    FIRST,
    LAST,
    LAST_TOUCH,
    PENDING,
    READY,
    SEGMENTS,
    SPILL,
    SPILLED,
    STORE,
    TILE,
    TOUCHED,
    XFER_LEFT,
    ScheduleArrays,
    TilingArrays,
)
from .scratchpad import find
from .timing import leave_chip, move


@inner
def free(p: TilingArrays, s: ScheduleArrays, tile: int) -> None:
    """End the placement of a tile that nobody needs any more."""
    k = find(s.segment, s.scalar[SEGMENTS], s.tile[tile, AT])
    s.segment[k, TILE] = -1
    s.segment[k, TOUCHED] = s.tile[tile, LAST_TOUCH]
    leave_chip(s, tile, 0, s.tile[tile, AT], s.tile[tile, FIRST], s.tile[tile, LAST])
    s.tile[tile, AT] = -1
    s.tile[tile, FIRST] = -1


@inner
def store(p: TilingArrays, s: ScheduleArrays, tile: int) -> None:
    """Write a finished output tile off chip and free its space."""
    move(p, s, int(STORE), tile, s.tile[tile, READY], p.xfer[tile], p.size[tile])
    s.scalar[BYTES_LEFT] -= p.size[tile]
    s.scalar[XFER_LEFT] -= p.xfer[tile]
    for k in range(s.scalar[PENDING]):
        if s.pending[k] == tile:
            for j in range(k, s.scalar[PENDING] - 1):
                s.pending[j] = s.pending[j + 1]
            s.scalar[PENDING] -= 1
            break
    free(p, s, tile)


@inner
def evict(p: TilingArrays, s: ScheduleArrays, tile: int) -> None:
    """Take a tile off chip: write it where nothing else has its content."""
    accs = p.finish.shape[0]
    if tile >= p.first_acc + accs:
        store(p, s, tile)
        return
    if tile >= p.first_acc:
        s.tile[tile, SPILLED] = move(
            p, s, int(SPILL), tile, s.tile[tile, READY], p.xfer[tile], p.size[tile]
        )
    free(p, s, tile)


@inner
def flush(p: TilingArrays, s: ScheduleArrays) -> None:
    """Take everything off chip, so that one operation fits wherever memory is fragmented."""
    k = 0
    while k < s.scalar[SEGMENTS]:
        if s.segment[k, TILE] >= 0:
            evict(p, s, s.segment[k, TILE])
        k += 1
