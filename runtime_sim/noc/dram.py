"""Timing of a dynamic memory behind one controller, access by access.

An access reads or writes some consecutive bytes, in bursts. Bytes lie row by row, rows in turn over
the banks. A bank keeps the row open that was used last (open page):

- *hit*: the first burst comes ``column`` after the access is taken up;
- *empty*: the row is opened first, which takes ``activate``;
- *miss*: the row that is open is closed before, which takes ``precharge``, and begins ``recovery``
  after data was written there.

The last burst is kept, so that an access that goes on where the one before ended does not read or
write it again. Bursts follow each other on the data bus; one that goes the other way than the one
before comes ``turnaround`` later. The controller takes an access up when the bus is busy for as
long as a miss takes, so that rows are opened while the bus works. Every ``interval`` all rows are
closed and nothing goes on for ``refresh``.

Deviation: limits on how many rows may be opened in a short time (tRRD, tFAW) and bank groups are
left out: accesses are packets of a hundred bytes and more, which seldom come near them.

References:
    JEDEC JESD79-4 (DDR4), JESD209-4 (LPDDR4): commands and the names of their times.
    Rixner et al.: Memory access scheduling. ISCA 2000: first ready, first come, first served.
"""

# The stubs of Numba are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...ir.arch import Dram
from ...ir.compiled import entry, inner

Ints = NDArray[np.int64]

PARTS = 256
"""Parts of a cycle in which the time of the off-chip memory counts."""

(
    BURST_BYTES,
    ROW_BYTES,
    BURST,
    COLUMN,
    ACTIVATE,
    PRECHARGE,
    RECOVERY,
    TURNAROUND,
    REFRESH,
    INTERVAL,
    LEAD,
    WINDOW,
    BUS,
    IS_WRITING,
    NEXT_REFRESH,
    PASSED,
    OPENED,
    LAST,
    BURSTS,
) = range(19)
"""Figures of a memory: bytes; times in parts of a cycle, the last of which is that of a miss; how
many in the queue are looked at; then until when the bus is busy, whether the last burst was
written, when the next refresh is due, how often the first in the queue was passed over, how many
rows were opened, the number of the last burst, and how many bursts there were."""

ROW, READY, CLOSE = range(3)
"""Columns of banks: open row, -1 for none; when a burst, and when closing, can be asked for."""


def dram_figures(dram: Dram, clock_hz: float) -> tuple[Ints, Ints]:
    """Return figures and banks of a memory that nobody has used.

    Args:
        dram: Its timing.
        clock_hz: Cycles per second.
    """
    figures = np.zeros(BURSTS + 1, np.int64)
    figures[[BURST_BYTES, ROW_BYTES, WINDOW]] = dram.burst_bytes, dram.row_bytes, dram.window
    times = (dram.burst_ns, dram.column_ns, dram.activate_ns, dram.precharge_ns)
    times += (dram.recovery_ns, dram.turnaround_ns, dram.refresh_ns, dram.interval_ns)
    figures[BURST : INTERVAL + 1] = [round(time * clock_hz / 1e9 * PARTS) for time in times]
    figures[LEAD] = figures[[COLUMN, ACTIVATE, PRECHARGE]].sum()
    figures[NEXT_REFRESH], figures[LAST] = figures[INTERVAL], -1
    banks = np.zeros((dram.banks, 3), np.int64)
    banks[:, ROW] = -1
    return figures, banks


@inner
def is_open(dram: Ints, banks: Ints, byte: int) -> bool:
    """Whether the row of a byte is open.

    Args:
        dram: Figures of the memory.
        banks: Its banks.
        byte: The byte.
    """
    row = byte // dram[ROW_BYTES]
    return banks[row % banks.shape[0], ROW] == row // banks.shape[0]


@inner
def access(dram: Ints, banks: Ints, byte: int, size: int, is_write: bool, now: int) -> int:
    """Return when the last byte has been read or written.

    Args:
        dram: Figures of the memory, which go on.
        banks: Its banks, which go on.
        byte: The first byte.
        size: How many there are.
        is_write: Whether they are written.
        now: When the access is taken up, in parts of a cycle.
    """
    _refresh(dram, banks, now)
    while size:
        part = min(size, dram[ROW_BYTES] - byte % dram[ROW_BYTES])
        _in_row(dram, banks, byte, part, is_write, now)
        byte += part
        size -= part
    return dram[BUS]


@inner
def _in_row(dram: Ints, banks: Ints, byte: int, size: int, is_write: bool, now: int) -> None:
    """Read or write bytes of one row."""
    row = byte // dram[ROW_BYTES]
    bank, row = row % banks.shape[0], row // banks.shape[0]
    begin = _open_row(dram, banks, bank, row, now)
    bus = dram[BUS]
    if is_write != dram[IS_WRITING]:
        bus += dram[TURNAROUND]
    first, last = byte // dram[BURST_BYTES], (byte + size - 1) // dram[BURST_BYTES]
    bursts = last - first + 1
    if first == dram[LAST] and is_write == dram[IS_WRITING]:
        bursts -= 1
    if not bursts:
        return
    dram[BURSTS] += bursts
    end = max(begin + dram[COLUMN], bus) + bursts * dram[BURST]
    dram[BUS], dram[IS_WRITING], dram[LAST] = end, is_write, last
    banks[bank, READY] = end - dram[COLUMN]
    banks[bank, CLOSE] = end + dram[RECOVERY] if is_write else end


@inner
def _open_row(dram: Ints, banks: Ints, bank: int, row: int, now: int) -> int:
    """Open a row unless it is; return when a burst can be asked for."""
    begin = max(now, banks[bank, READY])
    if banks[bank, ROW] == row:
        return begin
    dram[OPENED] += 1
    if banks[bank, ROW] >= 0:
        begin = max(begin, banks[bank, CLOSE]) + dram[PRECHARGE]
    banks[bank, ROW] = row
    return begin + dram[ACTIVATE]


@inner
def _refresh(dram: Ints, banks: Ints, now: int) -> None:
    """Do the refreshes that are due, those of idle times included."""
    while dram[INTERVAL] and dram[NEXT_REFRESH] <= max(now, dram[BUS]):
        end = max(dram[NEXT_REFRESH], dram[BUS]) + dram[PRECHARGE] + dram[REFRESH]
        dram[BUS] = end
        for bank in range(banks.shape[0]):
            banks[bank, ROW] = -1
            banks[bank, READY] = banks[bank, CLOSE] = end
        dram[NEXT_REFRESH] += dram[INTERVAL]


@dataclass(frozen=True, slots=True)
class Served:
    """What accesses, one after the other, take of the off-chip memory.

    Attributes:
        cycles: How long it is busy, refreshes counted on average [cycle].
        rows: Rows that are opened, and closed again some time.
        bursts: Bursts of data.
    """

    cycles: float
    rows: int
    bursts: int

    def __add__(self, other: "Served") -> "Served":
        """Return what both take, one after the other."""
        cycles, rows = self.cycles + other.cycles, self.rows + other.rows
        return Served(cycles, rows, self.bursts + other.bursts)


UNUSED = Served(0.0, 0, 0)
"""Of an off-chip memory that nothing asks for."""


def served(dram: Dram, clock_hz: float, starts: Ints, size: int, *, is_write: bool) -> Served:
    """Return what accesses of one size take; rows are closed before.

    Args:
        dram: Timing of the memory.
        clock_hz: Cycles per second.
        starts: First byte of each access.
        size: Bytes of each.
        is_write: Whether they write.
    """
    figures, banks = dram_figures(dram, clock_hz)
    figures[INTERVAL], figures[IS_WRITING] = 0, is_write
    parts = _in_turn(figures, banks, starts, size, is_write)
    cycles = parts / PARTS * (1 + dram.refresh_ns / dram.interval_ns)
    return Served(cycles, int(figures[OPENED]), int(figures[BURSTS]))


@entry
def _in_turn(dram: Ints, banks: Ints, starts: Ints, size: int, is_write: bool) -> int:
    """Return when the last of some accesses is over, in parts of a cycle."""
    for place in range(starts.shape[0]):
        now = max(dram[BUS] - dram[LEAD], 0)
        access(dram, banks, starts[place], size, is_write, now)
    return dram[BUS]
