"""Figure 7 of the Flexer paper: which weight of a spilled tile its memory benefits follow from.

Tile sizes are read off the column of memory overheads: the new tiles of set1 are one IN and two OT
(5), of set23 one WT and two OT (4), of set24 two WT and two OT (6). The scratchpad is full, so as
much leaves as arrives, kind by kind. A new tile that a set shares does not count as reused there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import pytest

from accnn.passes.scheduling.flexer.kernel.spills import spill_weight

IN, WT, OT = 3, 2, 1
NPUS = 2


class FigureRow(NamedTuple):
    """A row of Figure 7 (c): its reused and its new tiles as counts of IN, WT and OT."""

    name: str
    reused: tuple[int, int, int]
    new: tuple[int, int, int]
    benefit: int
    overhead: int


ROWS = (
    FigureRow("set1", (0, 2, 0), (1, 0, 2), -4, 5),
    FigureRow("set2", (1, 1, 0), (1, 1, 2), -5, 7),
    FigureRow("set23", (2, 0, 0), (0, 1, 2), 2, 4),
    FigureRow("set24", (2, 0, 0), (0, 2, 2), 0, 6),
    FigureRow("set25", (1, 0, 0), (1, 1, 2), -7, 7),
    FigureRow("set28", (1, 0, 0), (1, 2, 2), -3, 13),
    FigureRow("set29", (1, 0, 1), (1, 2, 1), -7, 8),
)


def ours(size: int, left: int) -> float:
    """The weight that the kernel has: the one that the paper prints."""
    plain = cast("Any", spill_weight).py_func
    return plain(size, left, NPUS)


def multiplied(size: int, left: int) -> float:
    """The weight that keeps what is used often."""
    return size * min(NPUS, left)


def unweighted(size: int, left: int) -> float:
    """The size alone."""
    del left
    return size


def benefit(row: FigureRow, weight: Callable[[int, int], float]) -> float:
    """Reused less spilled data. IN leaves with two uses left, WT1, WT2 and OT with one."""
    reused = sum(n * size for n, size in zip(row.reused, (IN, WT, OT), strict=True))
    leaving = zip(row.new, (IN, WT, OT), (2, 1, 1), strict=True)
    return reused - sum(n * weight(size, left) for n, size, left in leaving)


def explained(weight: Callable[[int, int], float]) -> list[str]:
    """Names of the rows whose memory benefit follows."""
    return [row.name for row in ROWS if benefit(row, weight) == row.benefit]


def test_sizes_explain_the_overheads_of_all_rows_but_one() -> None:
    wrong = [r.name for r in ROWS if r.new[0] * IN + r.new[1] * WT + r.new[2] * OT != r.overhead]

    assert wrong == ["set28"]


def test_size_times_uses_explains_the_same_rows() -> None:
    assert explained(multiplied) == ["set1", "set2", "set23", "set24", "set25", "set29"]


@pytest.mark.parametrize("weight", [ours, unweighted])
def test_neither_the_printed_weight_nor_the_size_explains_more_than_two(
    weight: Callable[[int, int], float],
) -> None:
    assert explained(weight) == ["set23", "set24"]


def test_uses_beyond_one_set_do_not_count() -> None:
    assert ours(IN, 7) == ours(IN, NPUS) < ours(IN, 1)
