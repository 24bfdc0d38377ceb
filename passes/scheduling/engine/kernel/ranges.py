"""Disjoint ranges in rows of an array, ascending: looked up, and replaced."""

# Numba's compiled functions take scalars of NumPy, and give them back.
# pyright: reportArgumentType=false, reportReturnType=false

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import inner

Ints = NDArray[np.int64]

LOW, HIGH, CONTENT = range(3)
"""Columns of ranges: first byte, byte past the last, number of the content."""


@inner
def first_row(rows: Ints, count: int, column: int, least: int) -> int:
    """Return the first row in which a column is not less than something.

    Args:
        rows: The rows, ascending in that column.
        count: How many of them count.
        column: The column.
        least: What it has to be.
    """
    first, last = 0, count
    while first < last:
        middle = (first + last) // 2
        if rows[middle, column] >= least:
            last = middle
        else:
            first = middle + 1
    return first


@inner
def overlapped(rows: Ints, count: int, low: int, high: int) -> tuple[int, int]:
    """Return the first row that overlaps a range, and the one past the last.

    Args:
        rows: The ranges.
        count: How many of them count.
        low: First byte.
        high: Byte past the last.
    """
    first = first_row(rows, count, HIGH, low + 1)
    last = first
    while last < count and rows[last, LOW] < high:
        last += 1
    return first, last


@inner
def put_range(rows: Ints, count: int, low: int, high: int, content: int) -> tuple[int, int]:
    """Put a range in the place of those that it overlaps; what sticks out of them remains.

    Args:
        rows: The ranges; there is space for two more.
        count: How many of them count.
        low: First byte.
        high: Byte past the last.
        content: Of the range.

    Returns:
        How many ranges there are then, and which row it has.
    """
    first, last = overlapped(rows, count, low, high)
    before = first < last and rows[first, LOW] < low
    after = first < last and rows[last - 1, HIGH] > high
    end, old = rows[last - 1, HIGH], rows[last - 1, CONTENT]
    by = first + 1 + before + after - last
    for step in range(count - last):
        row = last + step if by < 0 else count - 1 - step
        for column in range(rows.shape[1]):
            rows[row + by, column] = rows[row, column]
    if before:
        rows[first, HIGH] = low
    at = first + before
    rows[at, LOW], rows[at, HIGH], rows[at, CONTENT] = low, high, content
    if after:
        rows[at + 1, LOW], rows[at + 1, HIGH], rows[at + 1, CONTENT] = high, end, old
    return count + by, at
