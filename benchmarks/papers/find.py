"""Where a figure stands in what a command printed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


class Find(Protocol):
    """Finds one figure in a text."""

    def find(self, text: str) -> float | None:
        """Return the figure, ``None`` where the text has none."""
        ...


def number_of(text: str) -> float | None:
    """Return the first number of a text."""
    found = _NUMBER.search(text)
    return None if found is None else float(found.group().replace(",", ""))


@dataclass(frozen=True, slots=True)
class Match:
    """The group of a regular expression, or the first number behind it."""

    pattern: str

    def find(self, text: str) -> float | None:
        """Return the number of the first match."""
        found = re.search(self.pattern, text)
        return None if found is None else number_of(found.group(1))


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the first Markdown table behind a line.

    Attributes:
        after: What the line begins with.
        row: What the row's first cells are, joined by `` | ``.
        column: Heading of the column.
        last: Whether the last such row is meant, not the first.
    """

    after: str
    row: str
    column: str
    last: bool = False

    def find(self, text: str) -> float | None:
        """Return the number in the cell."""
        rows = list(_table(text, self.after))
        if not rows or self.column not in rows[0]:
            return None
        at = rows[0].index(self.column)
        named = self.row.split(" | ")
        found = [row[at] for row in rows[1:] if row[: len(named)] == named]
        return number_of(found[-1 if self.last else 0]) if found else None


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest figure of a column of the first Markdown table behind a line."""

    after: str
    column: str

    def find(self, text: str) -> float | None:
        """Return the largest number of the column."""
        rows = list(_table(text, self.after))
        if not rows or self.column not in rows[0]:
            return None
        at = rows[0].index(self.column)
        found = [number_of(row[at]) for row in rows[2:] if len(row) > at]
        return max((value for value in found if value is not None), default=None)


@dataclass(frozen=True, slots=True)
class Times:
    """One of the ratios, ``1.5x``, in a cell of the first Markdown table behind a line.

    Attributes:
        after: What the line begins with.
        row: The row's first cell.
        column: Heading of the column.
        number: Which of the ratios, from 0.
    """

    after: str
    row: str
    column: str
    number: int

    def find(self, text: str) -> float | None:
        """Return the ratio."""
        rows = list(_table(text, self.after))
        if not rows or self.column not in rows[0]:
            return None
        at = rows[0].index(self.column)
        found = [re.findall(r"([\d.]+)x", row[at]) for row in rows[1:] if row[0] == self.row]
        ratios = found[0] if found else []
        return float(ratios[self.number]) if self.number < len(ratios) else None


@dataclass(frozen=True, slots=True)
class Quotient:
    """One figure over another one."""

    above: Find
    below: Find

    def find(self, text: str) -> float | None:
        """Return the quotient, ``None`` where either is missing."""
        above, below = self.above.find(text), self.below.find(text)
        return None if above is None or not below else above / below


def _table(text: str, after: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of the first table behind a line, the heading first."""
    lines = iter(text.splitlines())
    if after and not any(line.startswith(after) for line in lines):
        return
    inside = False
    for line in lines:
        if line.startswith("|"):
            inside = True
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]
        elif inside:
            return
