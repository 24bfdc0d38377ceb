"""The report as tables for the terminal: totals, slowest operators, plan, verification."""

from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...ir.graph_schedule import SolveStatus
from ...ir.report import (
    NOTICEABLE,
    Accuracy,
    GraphScheduleReport,
    OperatorReport,
    PassRun,
    QuantizationReport,
    Report,
    Totals,
    Verification,
    VerificationStatus,
)
from .figures import UNKNOWN, amount, cycles_text, joule, percent, ratio
from .mesh_table import mesh_parts
from .off_chip import plan_line, planned_scope
from .operator_table import OperatorTable, labels

_WORST = 3
"""Layers whose signal-to-noise ratio is listed."""

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
        _totals_table(report.totals, report.graph_schedule),
    ]
    if report.operators and slowest > 0:
        parts.append(OperatorTable(report.operators, slowest))
    if report.mesh is not None and slowest > 0:
        parts += mesh_parts(report.mesh, labels(report.operators), slowest)
    if any(item.mapper for item in report.operators):
        parts.append(Text(mapping_line(report.operators)))
    if any(item.difference is not None for item in report.operators):
        parts.append(Text(difference_line(report.operators)))
    if report.graph_schedule is not None:
        parts.append(Text(plan_line(report.graph_schedule)))
    if report.quantization is not None:
        parts.append(Text(quantization_line(report.quantization)))
    if report.accuracy is not None:
        parts.append(Text(accuracy_line(report.accuracy)))
    if report.passes:
        parts.append(Text(time_line(report.passes)))
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
    if found.sections > 1:
        against += f" in {found.sections} sections ({found.apart} outputs do in one run)"
    first = f"; first in {found.first_difference}" if found.first_difference else ""
    return f"{line}{against}{first}"


def mapping_line(operators: Sequence[OperatorReport]) -> str:
    """Return one line on loop nests: who found them, how many are proven, the largest gaps."""
    mapped = [item for item in operators if item.mapper]
    mappers = ", ".join(dict.fromkeys(item.mapper or "" for item in mapped))
    parts = [f"loop nests: {len(mapped)} by {mappers}", *_optimal(mapped)]
    fallback = sum(item.status is SolveStatus.FALLBACK for item in mapped)
    if fallback:
        parts.append(f"{fallback} by a fallback")
    for scope in dict.fromkeys(item.scope for item in mapped if item.gap is not None):
        widest = max(item.gap for item in mapped if item.gap is not None and item.scope is scope)
        parts.append(f"largest gap {percent(widest)} in the cost model, to {scope}")
    unknown = sum(item.bound is None for item in mapped)
    if unknown:
        parts.append(f"{unknown} without a bound")
    return "; ".join(parts)


def difference_line(operators: Sequence[OperatorReport]) -> str:
    """Return one line on how many operators the model times as the run does, and why not others.

    Operators are counted by what holds them up most.
    """
    known = [item for item in operators if item.difference is not None]
    apart = [item for item in known if abs(item.difference or 0.0) > NOTICEABLE]
    line = (
        f"model and simulation: {len(known) - len(apart)} of {len(known)} operators "
        f"within {NOTICEABLE:.0%}"
    )
    causes = Counter(str(item.reasons[0]) for item in apart)
    listed = ", ".join(f"{count} by {cause}" for cause, count in causes.most_common())
    return f"{line}; others differ: {listed}" if listed else line


def _optimal(mapped: Sequence[OperatorReport]) -> list[str]:
    """Return how many nests are proven optimal, and among which."""
    proven = Counter(item.scope for item in mapped if item.status is SolveStatus.OPTIMAL)
    if not proven:
        return ["0 proven optimal"]
    return [f"{count} proven optimal among {scope}" for scope, count in proven.items()]


def quantization_line(found: QuantizationReport) -> str:
    """Return one line on how a float model became an integer one, with its accuracy."""
    noise = "equal to" if found.snr_db is None else f"{found.snr_db:.1f} dB against"
    method = "" if found.method == "minmax" else f" by {found.method}"
    line = f"quantised to int8: {noise} the float model, ranges{method} from {found.calibration}"
    worst = ", ".join(f"{item.name} {item.snr_db:.1f} dB" for item in found.layers[:_WORST])
    return f"{line}; worst layers: {worst}" if worst else line


def accuracy_line(found: Accuracy) -> str:
    """Return one line on the classes of the user's examples."""
    pairs = (
        ("agrees with the float model", found.top1_agreement, found.top5_agreement),
        ("agrees with the labels", found.top1, found.top5),
        ("the float model does", found.float_top1, found.float_top5),
    )
    shares = [
        f"{what} on {percent(top1)} (top 5: {percent(top5)})"
        for what, top1, top5 in pairs
        if top1 is not None and top5 is not None
    ]
    return f"accuracy on {found.samples} examples of {found.data}: {'; '.join(shares)}"


def time_line(runs: Sequence[PassRun]) -> str:
    """Return the seconds of all steps, and of those that took a tenth of a second and more."""
    long = ", ".join(f"{run.name} {run.seconds:.1f}" for run in runs if run.seconds >= 0.1)
    return f"seconds: {sum(run.seconds for run in runs):.1f}{f' ({long})' if long else ''}"


def _totals_table(totals: Totals, plan: GraphScheduleReport | None) -> Table:
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("remark", style="dim")
    cycles = totals.cycles_simulated or totals.cycles_model
    source = "scheduled" if totals.cycles_simulated is None else "simulated"
    rows = [
        ("MACs", amount(totals.macs), ""),
        ("cycles, model", cycles_text(totals.cycles_model), ""),
        ("cycles, simulated", cycles_text(totals.cycles_simulated), ""),
        (
            "cycles, lower bound",
            cycles_text(totals.cycles_lower_bound),
            _times(
                "model" if totals.cycles_simulated is None else "simulated",
                cycles,
                totals.cycles_lower_bound,
            ),
        ),
        ("energy", amount(joule(totals.energy_pj), "J"), ""),
        *_energy_parts(totals),
        *_planned(plan),
        (f"off-chip, {source}", amount(totals.offchip_bytes, "B"), ""),
        (
            "off-chip, compulsory",
            amount(totals.offchip_bytes_compulsory, "B"),
            _times(source, totals.offchip_bytes, totals.offchip_bytes_compulsory),
        ),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _energy_parts(totals: Totals) -> list[tuple[str, str, str]]:
    """Return a row for each part of the energy that is not nothing, the largest first."""
    whole = totals.energy_pj or 1.0
    parts = sorted(totals.energy, key=lambda item: -item.pj)
    return [
        (f"  {item.part}", amount(joule(item.pj), "J"), percent(item.pj / whole))
        for item in parts
        if item.pj
    ]


def _planned(plan: GraphScheduleReport | None) -> list[tuple[str, str, str]]:
    if plan is None:
        return []
    return [("off-chip, planned", amount(plan.objective_bytes, "B"), planned_scope(plan))]


def _times(what: str, value: int | None, bound: int | None) -> str:
    times = ratio(value, bound)
    return "" if times == UNKNOWN else f"{what}: {times} times that"
