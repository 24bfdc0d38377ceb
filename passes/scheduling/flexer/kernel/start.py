"""A schedule before its first operation."""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from .....ir.compiled import inner
from .arrays import (
    AT,
    BY,
    BYTES_LEFT,
    END,
    FIRST,
    LAST,
    LEFT,
    NEXT,
    SCALARS,
    SEEN,
    SEGMENTS,
    SIZE,
    SPILLED,
    TILE,
    WORK_LEFT,
    XFER_LEFT,
    ScheduleArrays,
    TilingArrays,
)

_MAX_SEGMENTS = 1024
_EVENT_FIELDS = 6
_PLACEMENT_FIELDS = 5


def start(p: TilingArrays, keep: bool) -> ScheduleArrays:
    """Return space for a schedule, all zeros; see :func:`fill_in`.

    Args:
        p: The tiling.
        keep: Whether to keep events and placements.
    """
    ops, tiles, npus = p.reads.shape[0], p.size.shape[0], p.latency.shape[1]
    accs, tensors = p.finish.shape[0], p.param_bytes.shape[1]
    events = 16 * ops + 4 * npus * tensors * (1 + accs) if keep else 0
    rows = min(_MAX_SEGMENTS, 2 * tiles + 64)
    return ScheduleArrays(
        np.zeros((rows, 4), np.int64),
        np.zeros((rows, 4), np.int64),
        np.zeros((tiles, 12), np.int64),
        np.zeros(3 * ops, np.int64),
        np.zeros(ops, np.bool_),
        np.zeros(p.channels, np.int64),
        np.zeros((p.sides, 3), np.int64),
        np.zeros(npus, np.int64),
        np.zeros(npus, np.int64),
        np.zeros(p.slots, np.int64),
        np.zeros((p.slots, tensors, 4), np.int64),
        np.zeros(accs, np.int64),
        np.zeros(accs, np.int64),
        np.zeros(npus, np.int64),
        np.zeros((npus, 4), np.int64),
        np.zeros(4 * npus + 4, np.int64),
        np.zeros(4 * npus + 4, np.int64),
        np.zeros((rows + 4 * npus + 4, 5), np.int64),
        np.zeros((4 * npus + 4, 3), np.int64),
        np.zeros(SCALARS, np.int64),
        np.zeros(ops, np.int64),
        np.zeros(ops, np.int64),
        np.zeros((events, _EVENT_FIELDS), np.int64),
        np.zeros((events, _PLACEMENT_FIELDS), np.int64),
    )


@inner
def fill_in(p: TilingArrays, s: ScheduleArrays) -> None:
    """Fill in what is not zero before the first operation.

    Args:
        p: The tiling.
        s: The schedule, all zeros.
    """
    s.segment[0, SIZE] = p.capacity
    s.segment[0, TILE] = -1
    s.scalar[SEGMENTS] = 1
    for slot in range(p.slots):
        s.kept[slot] = -1
    _start_tiles(p, s)
    for o in range(p.reads.shape[0]):
        s.scalar[WORK_LEFT] += least_work(p, o)


@inner
def _start_tiles(p: TilingArrays, s: ScheduleArrays) -> None:
    """Fill in the table of tiles and what is left to move."""
    tiles, accs = p.size.shape[0], p.finish.shape[0]
    for o in range(p.reads.shape[0]):
        for role in range(3):
            s.tile[p.reads[o, role], LEFT] += 1
    used = 0
    for t in range(tiles):
        row = s.tile[t]
        row[AT] = row[FIRST] = row[LAST] = row[SPILLED] = row[BY] = -1
        row[NEXT] = used
        used += row[LEFT]
        row[END] = used
        if p.resident[t]:
            row[SEEN] = 1
        elif t < p.first_acc or t >= p.first_acc + accs:
            s.scalar[BYTES_LEFT] += p.size[t]
            s.scalar[XFER_LEFT] += p.xfer[t]


@inner
def least_work(p: TilingArrays, op: int) -> int:
    """Return the time of an operation on the NPU that is fastest at it [cycle]."""
    least = min(p.latency[op, 0], p.adding[op, 0])
    for npu in range(1, p.latency.shape[1]):
        least = min(least, min(p.latency[op, npu], p.adding[op, npu]))
    return least
