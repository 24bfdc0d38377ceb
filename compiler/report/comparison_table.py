"""A comparison of two runs as a table for the terminal."""

from collections.abc import Callable

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .comparison import ComparedFigure, ComparedOperators, Comparison
from .figures import UNKNOWN, amount, cycles_text, joule
from .operator_table import shorten

_NAME = 28
"""Columns of a name."""
_SHORTEST_NAME = 10
_WIDE, _FIGURES = 118, 50
"""Columns that all figures take, and those of narrow terminals by themselves."""


def comparison_tables(found: Comparison, *, shown: int, width: int) -> Group:
    """Return a comparison as something that rich prints: the totals, then operators.

    Args:
        found: What to show.
        shown: How many operators at most, those first whose cycles differ most.
        width: Of the terminal [column]; narrow ones get the ratios of energy and bytes alone.
    """
    is_wide = width >= _WIDE
    rows = sorted(found.operators, key=lambda row: row.cycles.difference, reverse=True)[:shown]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("operator", no_wrap=True)
    threes = [(f"{figure} A", "B", "B/A") for figure in ("cycles", "energy", "off chip")]
    short = (*threes[0], "x energy", "x bytes")
    for heading in [item for three in threes for item in three] if is_wide else short:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("all", *_cells(found, is_wide), end_section=True)
    longest = min(_NAME, max(_SHORTEST_NAME, width - _FIGURES))
    for row in rows:
        table.add_row(Text(_name(row, longest)), *_cells(row, is_wide))
    heads = [f"A: {found.first.model} on {found.first.arch}"]
    heads += [f"B: {found.second.model} on {found.second.arch}"]
    heads += [found.note] if found.note else []
    left = len(found.operators) - len(rows)
    tail = [Text(f"{left} more, which differ less")] if left else []
    return Group(*map(Text, heads), table, *tail)


def _name(row: ComparedOperators, longest: int) -> str:
    """Return the longest step's name, and how many there are on the side that has more."""
    count = max(row.in_first, row.in_second)
    more = f" ({count} steps)" if count > 1 else ""
    return f"{shorten(row.called, max(1, longest - len(more)))}{more}"


def _cells(row: ComparedOperators | Comparison, is_wide: bool) -> tuple[str, ...]:
    cycles = _three(row.cycles, cycles_text)
    energy = _three(row.energy_pj, lambda value: amount(joule(value), "J"))
    moved = _three(row.offchip_bytes, lambda value: amount(value, "B"))
    return (*cycles, *energy, *moved) if is_wide else (*cycles, energy[-1], moved[-1])


def _three(figure: ComparedFigure, spelled: Callable[[float | None], str]) -> tuple[str, str, str]:
    ratio = UNKNOWN if figure.ratio is None else f"{figure.ratio:.2f}"
    return spelled(figure.first), spelled(figure.second), ratio
