"""How a value shows itself in a notebook: a table of static HTML, every text in it escaped."""

import html
from collections.abc import Iterable, Sequence
from itertools import islice

MOST_ROWS = 50
"""Rows that a table shows before it says how many more there are."""

Cell = str | int | float | None


def table_html(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Cell]], most: int = MOST_ROWS
) -> str:
    """Return a table as HTML that needs neither style sheet nor script.

    Args:
        caption: What it is.
        headings: Of the columns.
        rows: A cell for each column: numbers stand to the right, ``None`` is empty.
        most: How many rows to show.
    """
    waiting = iter(rows)
    shown = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(waiting, most)]
    more = sum(1 for _ in waiting)
    if more:
        shown.append(f'<tr><td colspan="{len(headings)}">and {more:,} more</td></tr>')
    titles = "".join(f'<th scope="col">{escaped(title)}</th>' for title in headings)
    return (
        f"<table><caption>{escaped(caption)}</caption><thead><tr>{titles}</tr></thead>"
        f"<tbody>{''.join(shown)}</tbody></table>"
    )


def escaped(text: str) -> str:
    """Return a text for HTML; what a browser would not show is spelt out."""
    return html.escape("".join(map(_visible, text)))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def _cell(value: Cell) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, str):
        return f'<td style="text-align:left">{escaped(value)}</td>'
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f'<td style="text-align:right">{text}</td>'
