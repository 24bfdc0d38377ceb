"""What the compiled scheduler reads and writes: a tile problem, a goal, a choice, and its state.

Tiles are numbered inputs, weights, accumulators, outputs; the output of accumulator ``t`` is
``t + accs``. The scratchpad is a list of *segments* by address that cover it without gaps: each
holds one tile or nothing, and knows when it was last touched.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LOAD, STORE, SPILL, RETRIEVE, COMPUTE, FINISH = range(6)
"""Kinds of events."""

BALANCED, FIRST_FIT, SMALL_SPILL, FURTHEST = range(4)
"""Who makes space."""

EAGER = 4
"""Added to one of these: a tile takes the space that is free first, not that of an equal."""

APART = 8
"""Added to one of these: accumulators take free space from its end, other tiles from its start."""

BENEFIT, MIN_TRANSFER, MIN_SPILL = range(3)
"""Which set of operations comes next."""

PRODUCT, SUM = range(2)
"""How cycles and bytes make a metric."""

DONE, ABORTED, STUCK = range(3)
"""How a schedule ends."""

ADDRESS, SIZE, TILE, TOUCHED = range(4)
"""Columns of a segment: first byte, bytes, tile or -1, last touch [cycle]."""

AT, READY, LAST_TOUCH, LEFT, FIRST, LAST, SPILLED, SEEN, PINNED, NEXT, END, BY = range(12)
"""Columns of a tile: address or -1; when its content is complete; when it was last touched;
operations that will still touch it; first and last event of its placement; when its spill was
complete or -1; whether it was moved or made before; equals the stamp where it must remain; index
into ``uses`` of its next use, and past its last; the NPU that added to it last, or -1."""

FREE, GAP_START, GAP_END = range(3)
"""Columns of a port: when it has served all transfers so far; from when to when it is idle before
the last one [cycle]."""

KEPT_READY, KEPT_TOUCHED, KEPT_FIRST, KEPT_LAST = range(4)
"""Columns of a parameter tensor in a slot."""

(
    SEGMENTS,
    BYTES,
    EVENTS,
    PLACEMENTS,
    PENDING,
    STAMP,
    BYTES_LEFT,
    XFER_LEFT,
    WORK_LEFT,
    MAKESPAN,
    ISSUED,
    GROUPS,
    TAKES,
    MOVED,
    KEPT_NEXT,
) = range(15)
SCALARS = 15
"""Single numbers of a state; ``TAKES`` is the length of the plan, ``KEPT_NEXT`` the next slot."""

NEVER = 1 << 60


class TilingArrays(NamedTuple):
    """One tiling of one operator; operations in the order of a dataflow.

    Attributes:
        capacity: Bytes of the scratchpad that tiles may take.
        channels: DMA channels.
        reads: Input, weight and accumulator tile of every operation ``[ops, 3]``.
        latency: Of every operation on every NPU, where sums start from zero [cycle]
            ``[ops, npus]``.
        adding: The same where it adds to sums that are there.
        fill: Before an operation, unless it hides behind the one before [cycle] ``[ops, npus]``.
        drain: After it, until its sums are there [cycle] ``[ops, npus]``.
        size: Of every tile [byte] ``[tiles]``.
        startup: Of every transfer, before the port is asked for anything [cycle].
        sides: 2 where off-chip memory has a port for each direction, 1 where both share one.
        xfer: Of moving a tile through the whole port [cycle] ``[tiles]``.
        resident: Whether a tile needs neither space nor transfer ``[tiles]``.
        finish: Of turning accumulators into outputs [cycle] ``[accs]``.
        first_acc: Number of the first accumulator tile.
        params: Which parameters an accumulator tile is finished with ``[accs]``.
        param_bytes: Of each parameter tensor ``[keys, tensors]``.
        param_xfer: Of moving it [cycle] ``[keys, tensors]``.
        slots: How many sets of parameters are kept.
        commute: Whether operations that add into one tile may run in any order.
    """

    capacity: int
    channels: int
    reads: Ints
    latency: Ints
    adding: Ints
    fill: Ints
    drain: Ints
    size: Ints
    startup: int
    sides: int
    xfer: Ints
    resident: NDArray[np.bool_]
    finish: Ints
    first_acc: int
    params: Ints
    param_bytes: Ints
    param_xfer: Ints
    slots: int
    commute: bool


class Goal(NamedTuple):
    """What is minimised, and when to give up.

    ``PRODUCT``: ``cycles ** latency_power * bytes ** bytes_power``; ``SUM``: ``fixed + cycles *
    latency_power + bytes * bytes_power``.

    Attributes:
        kind: ``PRODUCT`` or ``SUM``.
        latency_power: See above.
        bytes_power: See above.
        fixed: See above.
        limit: A schedule that cannot remain below this is abandoned ...
        most_cycles: ... and one that cannot end by then [cycle] ...
        most_bytes: ... or moves more than this [byte].
    """

    kind: int
    latency_power: float
    bytes_power: float
    fixed: float
    limit: float
    most_cycles: float
    most_bytes: float


class Choice(NamedTuple):
    """How a schedule is made.

    Attributes:
        memory: Who makes space: ``BALANCED``, ``FIRST_FIT``, ``SMALL_SPILL``, or ``FURTHEST``
            (only where the order is known); ``EAGER`` and ``APART`` may be added.
        priority: ``BENEFIT``, ``MIN_TRANSFER`` or ``MIN_SPILL``.
        beam: Sets of each size that are extended.
        window: Operations that are considered in each step.
        trials: Complete sets whose memory operations are worked out in each step.
    """

    memory: int
    priority: int
    beam: int
    window: int
    trials: int


class ScheduleArrays(NamedTuple):
    """A schedule in the making; every array is mutable.

    Attributes:
        segment: Scratchpad by address, see the columns ``[., 4]``.
        trial: The same after a set that is only considered.
        tile: What is known of every tile, see the columns ``[tiles, 12]``.
        uses: Positions in the order at which a tile is used, by tile ``[.]``.
        is_done: Operations that are issued ``[ops]``.
        dma: When a channel is free ``[channels]``.
        port: The off-chip ports, inwards and outwards if there are two, see the columns
            ``[sides, 3]``.
        mx: When a MAC array is free ``[npus]``.
        vx: When a vector unit is free ``[npus]``.
        kept: Parameters in each slot, -1 none; all NPUs have the same ``[slots]``.
        kept_item: Each tensor of them, see the columns ``[slots, tensors, 4]``.
        pending: Output tiles that wait to be stored ``[accs]``.
        oldest: Those that waited before the set that is being issued ``[accs]``.
        members: Operations of the set that is considered ``[npus]``.
        queue: When operands of a member are there, the member, its NPU; and when each NPU is
            free ``[npus, 4]``.
        needed: Tiles that the set has to bring ``[.]``.
        position: Where those without space stood in that list ``[.]``.
        take: The plan: tile (or -1), first and last segment of the run that it takes, its
            position among the needed, and whether it lies at the end of the run ``[., 5]``.
        arrival: When the space of a placed tile is free, the tile, its position ``[., 3]``.
        scalar: See the constants ``[SCALARS]``.
        order: Operations as issued ``[ops]``.
        group: Sizes of the sets ``[ops]``.
        event: Kind, subject, engine, start, end, clear; empty unless kept ``[., 6]``.
        placement: Tile (parameters: -1 - number), NPU, address, first and last event ``[., 5]``.
    """

    segment: Ints
    trial: Ints
    tile: Ints
    uses: Ints
    is_done: NDArray[np.bool_]
    dma: Ints
    port: Ints
    mx: Ints
    vx: Ints
    kept: Ints
    kept_item: Ints
    pending: Ints
    oldest: Ints
    members: Ints
    queue: Ints
    needed: Ints
    position: Ints
    take: Ints
    arrival: Ints
    scalar: Ints
    order: Ints
    group: Ints
    event: Ints
    placement: Ints
