"""The slowest operators as a table that fits the terminal: names give way, numbers never do."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from ...ir.report import OperatorReport
from .figures import UNKNOWN, amount, cycles_text, joule, ratio
from .proofs import scopes_text

_WIDE = 100
_GAP = 2
_SHORTEST_NAME = 12
QUANTISED = "_QuantizeLinear_Output"
"""What the quantiser appends to every name."""
_ADDED = ("_QuantizeLinear", "_DequantizeLinear")
"""Ends of the names of nodes that the quantiser adds."""
_RENAMED = (QUANTISED, "_QuantizeLinear_Input")
"""What it appends to tensors, by which nodes without a name are called."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of the table; ``is_number`` ones are aligned to the right."""

    title: str
    is_number: bool = False


_HEADINGS = (
    Heading("operator"),
    Heading("kind"),
    Heading("mapper"),
    Heading("status"),
    Heading("cycles", is_number=True),
    Heading("x bound", is_number=True),
    Heading("use", is_number=True),
    Heading("energy", is_number=True),
)
_MAPPER, _STATUS = 2, 3
_GIVE_WAY = (_MAPPER, _STATUS, 1)
"""Columns that narrow terminals do without, the first one first: mapper, status, kind."""


@dataclass(frozen=True)
class OperatorTable:
    """The operators with most cycles.

    Narrow terminals do without the mapper's name, narrower ones without status and kind. Names are
    shortened in the middle, since both ends of ``layer3.0.downsample.conv`` tell.

    Attributes:
        operators: All operators.
        shown: How many rows to show at most.
    """

    operators: Sequence[OperatorReport]
    shown: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for the width at hand."""
        del console
        yield self.table(options.max_width)

    def table(self, width: int) -> Table:
        """Return the table for a terminal of ``width`` columns."""
        slowest = sorted(self.operators, key=lambda item: -(item.cycles or 0))[: self.shown]
        called = labels(self.operators)
        cells = [_cells(item, called[item.name]) for item in slowest]
        columns = list(range(len(_HEADINGS)))
        for column in _GIVE_WAY:
            is_tight = column == _MAPPER or _left(width, columns, cells) < _SHORTEST_NAME
            if width < _WIDE and is_tight:
                columns.remove(column)
        rows = [[row[column] for column in columns] for row in cells]
        headings = [_HEADINGS[column] for column in columns]
        space = _left(width, columns, cells)
        title = f"slowest {len(rows)} of {len(self.operators)} operators"
        table = Table(
            box=box.SIMPLE_HEAD,
            title=title,
            title_justify="left",
            padding=(0, _GAP - 1, 0, 0),
            pad_edge=False,
            show_edge=False,
            caption=scopes_text((item.status, item.scope) for item in slowest) or None
            if _STATUS in columns
            else None,
            caption_justify="left",
        )
        for heading in headings:
            table.add_column(
                heading.title, justify="right" if heading.is_number else "left", no_wrap=True
            )
        for name, *others in rows:
            table.add_row(Text(shorten(name, max(space, _SHORTEST_NAME))), *others)
        return table


def labels(operators: Sequence[OperatorReport]) -> Mapping[str, str]:
    """Return how operators are called for people, by name; see :func:`label_of`.

    Where a node became several operators, the operator's own name.
    """
    found = {item.name: label_of(item.name, item.nodes) for item in operators}
    counts = Counter(found.values())
    return {name: text if counts[text] == 1 else _plain(name) for name, text in found.items()}


def label_of(name: str, nodes: Sequence[str]) -> str:
    """Return how an operator is called for people: its first ONNX node, and how many more.

    Nodes that the quantiser added count where there are no others.

    Args:
        name: Of the operator; it is called by that where it comes from no node.
        nodes: ONNX nodes that it comes from.
    """
    own = [node for node in nodes if not node.endswith(_ADDED)] or nodes
    if not own:
        return _plain(name)
    others = len(own) - 1
    return f"{_plain(own[0])} +{others}" if others else _plain(own[0])


def _plain(name: str) -> str:
    """Return a name without what the quantiser appends."""
    for ending in _RENAMED:
        name = name.removesuffix(ending)
    return name


def shorten(text: str, width: int) -> str:
    """Return a text of at most ``width`` characters, cut in the middle where it is longer."""
    if len(text) <= width:
        return text
    tail = width // 2
    return f"{text[: width - tail - 1]}…{text[len(text) - tail :]}"


def _cells(item: OperatorReport, label: str) -> tuple[str, ...]:
    return (
        label,
        item.kind,
        item.mapper or UNKNOWN,
        item.status or UNKNOWN,
        cycles_text(item.cycles),
        ratio(item.cycles, item.cycles_lower_bound),
        UNKNOWN if item.utilization is None else f"{item.utilization:.0%}",
        amount(joule(item.energy_pj), "J"),
    )


def _left(width: int, columns: Sequence[int], cells: Sequence[Sequence[str]]) -> int:
    """Return the columns of a terminal that are left for names."""
    headings = [_HEADINGS[column] for column in columns]
    rows = [[row[column] for column in columns] for row in cells]
    return width - sum(_widths(headings, rows)[1:]) - _GAP * len(columns)


def _widths(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> list[int]:
    def cells(column: int) -> Iterator[str]:
        yield headings[column].title
        yield from (row[column] for row in rows)

    return [max(map(len, cells(column))) for column in range(len(headings))]
