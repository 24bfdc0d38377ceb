"""When engines and ports are idle, so that work can be put into the gaps."""

# pyright: reportArgumentType=false, reportReturnType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry
from .ranges import first_row

Ints = NDArray[np.int64]

START, END = range(2)
"""Columns of spans [cycle]."""


class Busy(NamedTuple):
    """Cycles during which engines work.

    Attributes:
        spans: Of each engine, ascending and never adjacent, see the columns ``[engines, ., 2]``.
        counts: How many of these there are ``[engines]``.
    """

    spans: Ints
    counts: Ints


def idle(engines: int, spans: int) -> Busy:
    """Return engines that do not work yet.

    Args:
        engines: How many.
        spans: For how many spans of each there is space in the arrays.
    """
    return Busy(np.zeros((engines, spans, 2), np.int64), np.zeros(engines, np.int64))


@entry
def first_gap(b: Busy, engine: int, ready: int, cycles: int) -> int:
    """Return the first cycle at which an engine is idle long enough.

    Args:
        b: The engines.
        engine: Which one.
        ready: Not before this [cycle].
        cycles: How long [cycle].
    """
    number = first_row(b.spans[engine], b.counts[engine], START, ready + 1)
    start = max(ready, b.spans[engine, number - 1, END]) if number else ready
    while number < b.counts[engine] and b.spans[engine, number, START] < start + cycles:
        start = b.spans[engine, number, END]
        number += 1
    return start


@entry
def occupy(b: Busy, engine: int, start: int, cycles: int) -> bool:
    """Work from an idle cycle on; whether there was space in the arrays.

    Args:
        b: The engines.
        engine: Which one.
        start: First cycle.
        cycles: How many.
    """
    spans, count, end = b.spans[engine], b.counts[engine], start + cycles
    number = first_row(spans, count, START, start + 1)
    joins_before = number > 0 and spans[number - 1, END] == start
    joins_after = number < count and spans[number, START] == end
    if joins_before and joins_after:
        spans[number - 1, END] = spans[number, END]
        for k in range(number, count - 1):
            spans[k, START], spans[k, END] = spans[k + 1, START], spans[k + 1, END]
        b.counts[engine] -= 1
    elif joins_before:
        spans[number - 1, END] = end
    elif joins_after:
        spans[number, START] = start
    else:
        if count == spans.shape[0]:
            return False
        for k in range(count, number, -1):
            spans[k, START], spans[k, END] = spans[k - 1, START], spans[k - 1, END]
        spans[number, START], spans[number, END] = start, end
        b.counts[engine] += 1
    return True
