"""What the page of two runs shows, as values: totals, columns of both, a row for each operator."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..comparison import ComparedFigure, ComparedOperators, Comparison
from ..figures import UNKNOWN, amount, cycles_text
from .charts.marks import Chart, Key, Label, Mark, Panel, PathShape, boxes
from .names import short, shown
from .operator_rows import TableCell

_HEIGHT = 140
_WIDE, _GAP = 10, 1
_LOOKS = ("ochre", "blue")
"""Of the first run and of the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """An operator, or all of them, in both runs.

    Attributes:
        number: Position in the first run; -1 for all operators together.
        name: What it is called.
        title: Names of all its steps.
        steps: How many steps each run has for it, where that is not one.
        cells: First, second and quotient of cycles, energy and bytes off chip.
    """

    number: int
    name: str
    title: str
    steps: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """The page.

    Attributes:
        first: Network and machine of the first run.
        second: Those of the second run.
        verdict: What the second run takes, in a sentence.
        note: What else to know; empty for nothing.
        chart: Cycles of both runs; ``None`` where none are known.
        rows: All operators together; then each, those first whose cycles differ most.
    """

    first: str
    second: str
    verdict: str
    note: str
    chart: Chart | None
    rows: tuple[ComparedRow, ...]


def comparison_view(found: Comparison) -> ComparisonView:
    """Return what the page shows of two runs."""
    rows = [_row(number, item) for number, item in enumerate(found.operators)]
    ordered = sorted(range(len(rows)), key=lambda at: -found.operators[at].cycles.difference)
    total = ComparedRow(number=-1, name="all", title="", steps="", cells=_cells(found))
    first, second = found.first, found.second
    return ComparisonView(
        first=shown(f"{first.model} on {first.arch}"),
        second=shown(f"{second.model} on {second.arch}"),
        verdict=_verdict(found),
        note=found.note,
        chart=_chart(found.operators),
        rows=(total, *(rows[at] for at in ordered)),
    )


def _verdict(found: Comparison) -> str:
    named = (("cycles", found.cycles), ("energy", found.energy_pj), ("bytes", found.offchip_bytes))
    known = [f"{item.ratio:.2f} times the {name}" for name, item in named if item.ratio is not None]
    return f"B takes {', '.join(known)} of A" if known else "Nothing of both runs is known"


def _row(number: int, item: ComparedOperators) -> ComparedRow:
    steps = "" if item.in_first == item.in_second == 1 else f"{item.in_first}, {item.in_second}"
    return ComparedRow(
        number=number,
        name=short(item.called, 40),
        title=shown(", ".join(item.operators), 400),
        steps=steps,
        cells=_cells(item),
    )


def _cells(item: ComparedOperators | Comparison) -> tuple[TableCell, ...]:
    return (
        *_three(item.cycles, "", 1),
        *_three(item.energy_pj, "J", 1e-12),
        *_three(item.offchip_bytes, "B", 1),
    )


def _three(figure: ComparedFigure, unit: str, factor: float) -> tuple[TableCell, ...]:
    def cell(value: float | None) -> TableCell:
        if value is None:
            return TableCell(UNKNOWN)
        return TableCell(amount(value * factor, unit) if unit else cycles_text(value), value)

    times = TableCell(UNKNOWN if figure.ratio is None else f"{figure.ratio:.2f}", figure.ratio)
    return cell(figure.first), cell(figure.second), times


def _chart(operators: Sequence[ComparedOperators]) -> Chart | None:
    """Return the cycles of each operator in both runs, on one scale."""
    columns = [
        [round(getattr(item.cycles, side) or 0) for item in operators]
        for side in ("first", "second")
    ]
    most = max((value for column in columns for value in column), default=0)
    if not most:
        return None
    return Chart(
        name="compared",
        caption="Cycles of each operator in both runs, on one scale",
        description=(
            f"{len(operators)} operators or groups that both runs have in common, in the first "
            f"run's order; the longest takes {most:,} cycles."
        ),
        unit="operator",
        end=_WIDE * len(operators),
        panels=tuple(
            Panel(
                name=run,
                labels=(Label(cycles_text(most), 6), Label(run, _HEIGHT - 6)),
                height=_HEIGHT,
                extent=most,
                marks=tuple(_marks(operators, column, run, look, most)),
            )
            for run, look, column in zip("AB", _LOOKS, columns, strict=True)
        ),
        legend=tuple(Key(f"{look} full", run) for run, look in zip("AB", _LOOKS, strict=True)),
    )


def _marks(
    operators: Sequence[ComparedOperators], values: Sequence[int], run: str, look: str, most: int
) -> list[Mark]:
    return [
        Mark(
            shape=PathShape.BOXES,
            look=f"{look} full",
            path=boxes([(_WIDE * number + _GAP, _WIDE * (number + 1) - _GAP, most - value, most)]),
            title=f"{run}: {short(item.called)}: {value:,} cycles",
            operator=number,
        )
        for number, (item, value) in enumerate(zip(operators, values, strict=True))
        if value
    ]
