"""The slowest operators as a table that fits the terminal: names give way, numbers never do."""

from collections import Counter
from collections.abc import Mapping, Sequence
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


_HEADINGS = ("operator", "kind", "mapper", "status", "cycles", "x bound", "use", "energy")
_TEXTS = frozenset({"operator", "kind", "mapper", "status"})
"""Columns that are aligned to the left."""


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
        columns: dict[str, Sequence[str]] = {
            name: [row[at] for row in cells] for at, name in enumerate(_HEADINGS)
        }
        names = columns.pop("operator")
        if width < _WIDE:
            del columns["mapper"]
            give_way(columns, ("status", "kind"), width)
        scopes = scopes_text((item.status, item.scope) for item in slowest)
        return fitted(
            names,
            columns,
            width,
            title=f"slowest {len(cells)} of {len(self.operators)} operators",
            caption=scopes if "status" in columns else "",
        )


def give_way(columns: dict[str, Sequence[str]], names: Sequence[str], width: int) -> None:
    """Take columns away until the others leave space for names.

    Args:
        columns: Cells by heading, but for the names of rows.
        names: Columns that may go, the first one first.
        width: Of the terminal [column].
    """
    for name in names:
        if _left(width, columns) < _SHORTEST_NAME:
            del columns[name]


def fitted(
    names: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    width: int,
    *,
    title: str,
    caption: str = "",
) -> Table:
    """Return a table of operators whose names are as long as the other columns leave space for.

    Args:
        names: Of the rows.
        columns: Cells by heading.
        width: Of the terminal [column].
        title: Above it.
        caption: Beneath it.
    """
    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        padding=(0, _GAP - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        caption=caption or None,
        caption_justify="left",
    )
    space = max(_left(width, columns), _SHORTEST_NAME)
    whole = {"operator": [shorten(name, space) for name in names], **columns}
    for name in whole:
        table.add_column(name, justify="left" if name in _TEXTS else "right", no_wrap=True)
    for row in zip(*whole.values(), strict=True):
        table.add_row(*map(Text, row))
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


def _left(width: int, columns: Mapping[str, Sequence[str]]) -> int:
    """Return the columns of a terminal that are left for names."""
    widths = (max(map(len, (name, *cells))) + _GAP for name, cells in columns.items())
    return width - sum(widths) - _GAP
