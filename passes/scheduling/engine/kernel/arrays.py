"""What the engine reads and writes: tiles, an order of turns, space for them, and a schedule.

Memories are numbered by space, then by the NPU that they belong to: number ``space * npus + npu``;
behind them is one more for tiles whose address is known beforehand. Copies of tiles are numbered
``tile * npus + npu``, where NPU 0 stands for all of shared memories. Queues are those of the DMA
channels, then those of each unit, by NPU.

*Cells* are what is written at once of tensors that are resident (:mod:`.....ir.tiles.cells`), and
the rows of tiles that roll. Those of all tensors and tiles are numbered together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .gaps import Busy
from .spaces import Spaces

Ints = NDArray[np.int64]

FETCHED, SUMS, RESULT, INNER = range(4)
"""Kinds of tiles: those that come from off-chip memory; unfinished sums, which may be spilled; and
those that remain until they are done with: of results, and those that lie on chip only."""

MEMORY, SHARED, BYTES, KIND, TENSOR, ROLLS, CELL, WRITERS, READERS, MAKER = range(10)
"""Columns of tiles: memory of NPU 0; whether all NPUs share it; bytes; kind; number of the resident
tensor it is part of, or -1; rows that are there at once of one that rolls, or 0; its first cell;
operations that write it; operations that read it; unit of the first that writes it, or -1."""

ADDRESS, SIZE, PLACE = range(3)
"""Columns of resident tensors: first byte, bytes, and the memory."""

UNIT, OUT, ADDS, FINISHES, READS, FIRST_WRITTEN, LAST_WRITTEN = range(7)
"""Columns of operations: kind of engine; tile that is written; whether it adds to sums; whether it
finishes those that it reads first; its first read; the first of the cells that it writes in the
list of cells, and past the last, or ``WHOLE``."""

TILE, FIRST, LAST = range(3)
"""Columns of reads: the tile, and its first cell in the list of cells, and past the last, or
``WHOLE``."""

WHOLE = np.int64(-1)
"""First and last cell of what is touched where that is all of a content."""

NPU, OPS, TILES = range(3)
"""Columns of turns: who executes the operations; the first of these, and of the tiles."""

CLEARS, WORK = range(2)
"""Columns of what operations do: whether they start sums from zero, and their work."""

INWARDS, OUTWARDS, USES = range(3)
"""Columns of what is known of copies: the work of moving them, and the first of their uses."""

LEAD, FILL, DRAIN, LENGTH = range(4)
"""Columns of works [cycle], see :class:`~accnn.passes.scheduling.timing.work.Work`."""

BASE, EXTENT, RESULTS = range(3)
"""Columns of memories: first byte that tiles may use, how many bytes, and what results take of them
at most [byte]."""

KNOWN, SINCE, PATIENT = range(3)
"""Columns of what tiles may do: lie at an address that is known, or -1; from which position in the
order of turns on; and whether they are not fetched for a channel that is idle."""

LOAD, STORE, SPILL, RETRIEVE, COMPUTE = map(np.int64, range(5))
"""Kinds of events. A function would be compiled anew for each literal of Python's that it is given.
"""

NO, YES = map(np.int64, range(2))
"""Whether something is so, where functions are told."""

EVENT_KIND, SUBJECT, QUEUE, EVENT_CLEARS, EVENT_WORK, UNTIL, WAITS = range(7)
EVENT_COLUMNS = 7
"""Columns of events: kind, tile or operation, queue, whether sums start from zero, the work, when
it ends, as predicted [cycle]; and the first of its waits."""

CONTENT, AT, CLAIM, FIRST_EVENT, LAST_EVENT, ENTERED = range(6)
COPY_COLUMNS = 6
"""Columns of copies of tiles: what lies there for those who wait; first byte; number of the content
in its memory, or -1 where it is not on chip; first and last event that touched it, or -1; how many
had come to any memory before."""

WRITTEN, READ, SPILLED, HURRIED, OUTSIDE = range(5)
TILE_COLUMNS = 5
"""Columns of what has happened to tiles: how many operations have written it; have read it; whether
it lies off chip unfinished; whether it left before anything read it; the number of its content off
chip and 1, or 0 before it was there."""

UPPER, MADE = range(2)
"""Columns of memories in use: whether the tile that came last lies in the upper half: sums change
sides, so that the array adds to some while others are finished; how many memories were asked for
before it and 1, or 0 if nobody has asked for it."""

BEGIN, DONE, ENDED, COUNT, AWAITED = range(5)
QUEUE_COLUMNS = 5
"""Columns of queues: begin, done and end of the last event [cycle]; how many events there are; how
many of them the next event waits for."""

(
    EVENTS,
    ALL_WAITS,
    PLACEMENTS,
    CLAIMS,
    CONTENTS,
    COMERS,
    MEMORIES,
    HORIZON,
    SCOUT,
    POSITION,
    MISSING,
    FULL,
) = range(12)
SCALARS = 12
"""Numbers of a schedule in the making: how many events, waits, placements, contents of memories,
contents that events wait for, tiles that came and memories there are; the position up to which
tiles remain; the one up to which was fetched ahead; the one that is issued; the copy of a tile that
found no space; and whether there was no space left in arrays."""

SCHEDULED, OVERFLOW, LACKING = range(3)
"""How a run ends: with a schedule; with arrays that are too small; or without space for the copy of
a tile at ``MISSING``."""


class TileArrays(NamedTuple):
    """Tiles and operations of a tile graph.

    Attributes:
        npus: How many share the work.
        channels: Of the DMA engine.
        ports: Of off-chip memory: one for each direction, or one for both.
        cell_count: How many cells there are.
        tiles: See the columns ``[tiles, 10]``.
        tensors: Resident tensors, see the columns ``[., 3]``.
        ops: See the columns; behind the last one, where reads end ``[ops + 1, 7]``.
        reads: See the columns ``[., 3]``.
        cells: Numbers of cells ``[.]``.
    """

    npus: int
    channels: int
    ports: int
    cell_count: int
    tiles: Ints
    tensors: Ints
    ops: Ints
    reads: Ints
    cells: Ints


class IssueOrder(NamedTuple):
    """Operations in the order in which they are issued.

    What one NPU executes one right after the other is a turn: one operation, or the last one that
    adds to accumulators, the one that finishes them, and those that work on what each before has
    made.

    Attributes:
        turns: See the columns; behind the last one, where operations and tiles end
            ``[turns + 1, 3]``.
        ops: Numbers of the operations ``[.]``.
        tiles: Numbers of the tiles that a turn reads and writes, in the order of their first touch
            ``[.]``.
    """

    turns: Ints
    ops: Ints
    tiles: Ints


class TurnArrays(NamedTuple):
    """The order in which operations are issued, and what that takes.

    Attributes:
        turns: See the columns; behind the last one, where operations and tiles end
            ``[turns + 1, 3]``.
        ops: Numbers of the operations ``[.]``.
        tiles: Numbers of the tiles that they touch ``[.]``.
        does: What operations do, see the columns ``[ops, 2]``.
        copies: See the columns; behind the last one, where uses end ``[copies + 1, 3]``.
        uses: Positions at which copies are used, ascending for each ``[.]``.
        works: See the columns ``[., 4]``.
    """

    turns: Ints
    ops: Ints
    tiles: Ints
    does: Ints
    copies: Ints
    uses: Ints
    works: Ints


class Capacity(NamedTuple):
    """The space that tiles may use.

    Attributes:
        memories: See the columns ``[memories + 1, 3]``.
        tiles: See the columns ``[tiles, 3]``.
    """

    memories: Ints
    tiles: Ints


class ContentArrays(NamedTuple):
    """What lies at which addresses, and the last events of each queue that touched it.

    Attributes:
        blocks: Of each memory, disjoint ranges, ascending: first byte, byte past the last, content
            ``[memories, ., 3]``.
        counts: How many of these there are ``[memories]``.
        ticks: Of each content the last events that wrote it, that read it, and those before on its
            addresses: how many events their queues have by then, 0 none ``[., 3, queues]``.
        authors: Kind of the events that write it in parts, -1 none ``[.]``.
        cells: The last events that wrote each cell; that read it ``[cells, 2, queues]``.
        tensors: Content of each resident tensor, -1 before it is touched ``[tensors]``.
    """

    blocks: Ints
    counts: Ints
    ticks: Ints
    authors: Ints
    cells: Ints
    tensors: Ints


class RunArrays(NamedTuple):
    """A schedule in the making; every array is mutable.

    Attributes:
        spaces: Who lies where in each memory.
        holders: Which copy of a tile each content in these is ``[.]``.
        ports: When off-chip memory is busy.
        contents: What events wait for.
        copies: See the columns ``[copies, 6]``.
        used: How many uses of each copy are over ``[copies]``.
        tiles: See the columns ``[tiles, 5]``.
        memories: See the columns ``[memories + 1, 2]``.
        queues: See the columns ``[queues, 5]``.
        ends: When each event of a queue ends, 0 of none [cycle] ``[queues, .]``.
        events: See the columns; behind the last one, where waits end ``[., 7]``.
        waits: A queue, and how many of its events must have ended ``[., 2]``.
        placements: Copy of a tile, first byte, first and last event ``[., 4]``.
        scalars: See the constants ``[12]``.
    """

    spaces: Spaces
    holders: Ints
    ports: Busy
    contents: ContentArrays
    copies: Ints
    used: Ints
    tiles: Ints
    memories: Ints
    queues: Ints
    ends: Ints
    events: Ints
    waits: Ints
    placements: Ints
    scalars: Ints
