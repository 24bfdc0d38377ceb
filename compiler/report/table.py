"""The report as tables for the terminal: totals, slowest operators, plan, verification."""

from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...ir.report import (
    GraphScheduleReport,
    OperatorReport,
    Report,
    Totals,
    Verification,
    VerificationStatus,
)

_UNKNOWN = "-"
_PREFIXES = (
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "u"),
    (1e-9, "n"),
    (1e-12, "p"),
)
_STYLE = {
    VerificationStatus.VERIFIED: "bold green",
    VerificationStatus.FAILED: "bold red",
    VerificationStatus.NOT_VERIFIED: "yellow",
}


def report_tables(report: Report, *, slowest: int = 10) -> Group:
    """Return the report as something that rich prints; its last line is the verification.

    Args:
        report: What to show.
        slowest: How many operators to list, those with most cycles first.
    """
    parts: list[RenderableType] = [
        Text(f"{report.model.name} on {report.arch.name}", style="bold"),
        _totals_table(report.totals),
    ]
    if report.operators and slowest > 0:
        parts.append(_operator_table(report.operators, slowest))
    if report.graph_schedule is not None:
        parts.append(Text(graph_schedule_line(report.graph_schedule)))
    parts += [Text(f"note: {note}", style="yellow") for note in report.notes]
    parts.append(
        Text(verification_line(report.verification), style=_STYLE[report.verification.status])
    )
    return Group(*parts)


def verification_line(found: Verification) -> str:
    """Return e.g. ``verified: 0 of 1000 elements differ from onnxruntime 1.20``."""
    if found.status is VerificationStatus.NOT_VERIFIED:
        return "not verified"
    line = f"{found.status}: {found.mismatches} of {found.elements} elements differ"
    against = f" from {found.against}" if found.against else ""
    first = f"; first in {found.first_difference}" if found.first_difference else ""
    return f"{line}{against}{first}"


def graph_schedule_line(plan: GraphScheduleReport) -> str:
    """Return one line on the plan of the scratchpad: traffic, bound, spills."""
    return (
        f"scratchpad plan ({plan.status}): {amount(plan.objective_bytes, 'B')} off chip, "
        f"bound {amount(plan.bound_bytes, 'B')}, {len(plan.spills)} spills, "
        f"{len(plan.retrieves)} retrieves, {len(plan.streams)} streams in "
        f"{amount(plan.budget_bytes, 'B')}"
    )


def amount(value: float | None, unit: str = "") -> str:
    """Return a number with a decimal prefix and its unit: ``4.09 G``, ``950 B``, ``2.50 mJ``."""
    if value is None:
        return _UNKNOWN
    if isinstance(value, int) and abs(value) < 1000:
        return f"{value} {unit}".rstrip()
    factor, prefix = next((pair for pair in _PREFIXES if abs(value) >= pair[0]), (1.0, ""))
    return f"{value / factor:.2f} {prefix}{unit}".rstrip()


def _totals_table(totals: Totals) -> Table:
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("remark", style="dim")
    cycles = totals.cycles_simulated or totals.cycles_model
    rows = [
        ("MACs", amount(totals.macs), ""),
        ("cycles, model", amount(totals.cycles_model), ""),
        ("cycles, simulated", amount(totals.cycles_simulated), ""),
        (
            "cycles, lower bound",
            amount(totals.cycles_lower_bound),
            _times(cycles, totals.cycles_lower_bound),
        ),
        ("energy", amount(_joule(totals.energy_pj), "J"), ""),
        ("off-chip", amount(totals.offchip_bytes, "B"), ""),
        (
            "off-chip, compulsory",
            amount(totals.offchip_bytes_compulsory, "B"),
            _times(totals.offchip_bytes, totals.offchip_bytes_compulsory),
        ),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _operator_table(operators: Iterable[OperatorReport], slowest: int) -> Table:
    everyone = tuple(operators)
    shown = sorted(everyone, key=lambda item: -(item.cycles or 0))[:slowest]
    title = f"slowest {len(shown)} of {len(everyone)} operators"
    table = Table(box=box.SIMPLE, title=title, title_justify="left", pad_edge=False)
    for name in ("operator", "kind", "mapper", "status"):
        table.add_column(name)
    for name in ("cycles", "x bound", "utilization", "energy"):
        table.add_column(name, justify="right")
    for item in shown:
        table.add_row(
            item.name,
            item.kind,
            item.mapper or _UNKNOWN,
            item.status or _UNKNOWN,
            amount(item.cycles),
            _ratio(item.cycles, item.cycles_lower_bound),
            _UNKNOWN if item.utilization is None else f"{item.utilization:.0%}",
            amount(_joule(item.energy_pj), "J"),
        )
    return table


def _joule(picojoule: float | None) -> float | None:
    return None if picojoule is None else picojoule / 1e12


def _ratio(value: int | None, bound: int | None) -> str:
    return f"{value / bound:.2f}" if value is not None and bound else _UNKNOWN


def _times(value: int | None, bound: int | None) -> str:
    ratio = _ratio(value, bound)
    return "" if ratio == _UNKNOWN else f"we need {ratio} times that"
