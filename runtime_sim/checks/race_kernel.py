"""Which accesses are concurrent and meet between their bounds: the inner loop of race detection.

Accesses stand in a log, behind each other, and name the one before them of the same queue, memory
and direction, so that those of a queue are met backwards, the latest first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...ir.compiled import entry

Ints = NDArray[np.int64]

QUEUE, POSITION, PLACE, MEMORY, WRITES, LOW, HIGH, BEFORE = range(8)
"""Columns of a log: who accesses, the number of what is touched, where that is, 1 for a write, from
which byte to which, and the access before it of the same queue, memory and direction, -1 for none.
"""


class Clocks(NamedTuple):
    """What is known to have retired, by vector clocks.

    Attributes:
        latest: Of the last instruction of every queue ``[queues, queues]``.
        awaited: Of every instruction that others wait for ``[awaited, queues]``.
        row: Row of the instruction there, -1 where nobody waits for it ``[instructions]``.
        first: First instruction of every queue ``[queues]``.
        wait: Of all waits, ordered by instruction: queue, and row in ``awaited`` ``[waits, 2]``.
        least: How many instructions of its queue each wait waits for ``[waits]``.
        wait_from: First wait of every instruction, and one past the last ``[instructions + 1]``.
    """

    latest: Ints
    awaited: Ints
    row: Ints
    first: Ints
    wait: Ints
    least: Ints
    wait_from: Ints


@entry
def advance(clocks: Clocks, queue: int, position: int) -> None:
    """Set the clock of an instruction's retirement.

    Args:
        clocks: The clocks, which go on.
        queue: Number of its queue.
        position: Its position there.
    """
    known = clocks.latest[queue]
    number = clocks.first[queue] + position
    for k in range(clocks.wait_from[number], clocks.wait_from[number + 1]):
        if known[clocks.wait[k, 0]] < clocks.least[k]:
            other = clocks.awaited[clocks.wait[k, 1]]
            for q in range(known.shape[0]):
                known[q] = max(known[q], other[q])
    known[queue] = position + 1
    if clocks.row[number] >= 0:
        clocks.awaited[clocks.row[number]] = known


@entry
def meetings(clocks: Clocks, instructions: Ints, log: Ints, begin: int, heads: Ints) -> Ints:
    """Take instructions in; return the pairs of accesses that have to be looked at.

    Args:
        clocks: The clocks, which go on.
        instructions: Queue, position and one past the last access of each ``[instructions, 3]``.
        log: All accesses so far, then theirs, whose ``BEFORE`` is filled in ``[accesses, 8]``.
        begin: The first of theirs.
        heads: Last access of each memory, direction and queue, -1 for none; goes on.

    Returns:
        The later access of each pair and the earlier one ``[pairs, 2]``.
    """
    found, pairs = np.empty((64, 2), np.int64), 0
    for n in range(instructions.shape[0]):
        queue, position, end = instructions[n]
        advance(clocks, queue, position)
        known = clocks.latest[queue]
        for number in range(begin, end):
            row = log[number]
            memory, writes = row[MEMORY], row[WRITES]
            for direction in range(1 - writes, 2):  # reads do not race with reads
                for other in range(known.shape[0]):
                    if other == queue:
                        continue
                    at = heads[memory, direction, other]
                    while at >= 0 and log[at, POSITION] >= known[other]:
                        if log[at, LOW] < row[HIGH] and row[LOW] < log[at, HIGH]:
                            if pairs == found.shape[0]:
                                found = np.concatenate((found, np.empty_like(found)))
                            found[pairs, 0], found[pairs, 1] = number, at
                            pairs += 1
                        at = log[at, BEFORE]
            row[BEFORE] = heads[memory, writes, queue]
            heads[memory, writes, queue] = number
        begin = end
    return found[:pairs]
