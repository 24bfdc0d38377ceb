"""A comparison of two runs as a table for the terminal."""

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .comparison import ComparedFigure, ComparedOperators, Comparison
from .figures import UNKNOWN, amount
from .operator_table import shorten

_NAME = 28
"""Columns of a name."""


def comparison_tables(found: Comparison, *, shown: int) -> Group:
    """Return a comparison as something that rich prints: the totals, then operators.

    Args:
        found: What to show.
        shown: How many operators at most, those first whose cycles differ most.
    """
    rows = sorted(found.operators, key=_difference, reverse=True)[:shown]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("operator", no_wrap=True)
    for figure in ("cycles", "energy", "off chip"):
        for heading in (f"{figure} A", "B", "B/A"):
            table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("all", *_cells(found), end_section=True)
    for row in rows:
        table.add_row(Text(_name(row)), *_cells(row))
    heads = [f"A: {found.first.model} on {found.first.arch}"]
    heads += [f"B: {found.second.model} on {found.second.arch}"]
    if not found.same_model:
        heads.append("The networks are not the same file; operators are compared by name.")
    left = len(found.operators) - len(rows)
    tail = [Text(f"{left} more, which differ less")] if left else []
    return Group(*map(Text, heads), table, *tail)


def _difference(row: ComparedOperators) -> float:
    return abs((row.cycles.second or 0.0) - (row.cycles.first or 0.0))


def _name(row: ComparedOperators) -> str:
    """Return the last operator's name, and how many there are on the side that has more."""
    count = max(row.in_first, row.in_second)
    more = f" ({count} steps)" if count > 1 else ""
    return f"{shorten(row.operators[-1], _NAME - len(more))}{more}"


def _cells(row: ComparedOperators | Comparison) -> tuple[str, ...]:
    return (
        *_three(row.cycles, ""),
        *_three(row.energy_pj, "J", 1e-12),
        *_three(row.offchip_bytes, "B"),
    )


def _three(figure: ComparedFigure, unit: str, factor: float = 1) -> tuple[str, str, str]:
    first, second = (
        amount(None if value is None else value * factor, unit)
        for value in (figure.first, figure.second)
    )
    return first, second, UNKNOWN if figure.ratio is None else f"{figure.ratio:.2f}"
