"""The report in a notebook: verdict, totals and slowest operators; all operators as a data frame.

The door to pandas and polars, which are optional.
"""

import importlib
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import Any

from ...ir.errors import OptionError
from ...ir.notebook import Cell, escaped, table_html
from ...ir.report import Dims, OperatorReport, Report
from .figures import amount, joule, ratio
from .table import verification_line

_SLOWEST = 20
_LIBRARIES = ("pandas", "polars")
_COMPOUND = ("dims", "reasons", "traffic", "members", "nest")
"""Fields that hold more than one value."""


def report_html(report: Report) -> str:
    """Return the head of a report as static HTML: what the terminal shows first."""
    verdict = escaped(verification_line(report.verification))
    title = f"{report.model.name} on {report.arch.name}"
    slowest = sorted(report.operators, key=lambda item: -(item.cycles or 0))[:_SLOWEST]
    operators = table_html(
        f"slowest {len(slowest)} of {len(report.operators)} operators",
        ("operator", "kind", "mapper", "status", "cycles", "x bound", "use", "energy"),
        map(_row, slowest),
    )
    return f"{table_html(title, ('', ''), _totals(report))}{operators}<p><b>{verdict}</b></p>"


def _totals(report: Report) -> Iterator[tuple[str, Cell]]:
    totals = report.totals
    yield "MACs", totals.macs
    yield "cycles, model", totals.cycles_model
    yield "cycles, simulated", totals.cycles_simulated
    yield "cycles, lower bound", totals.cycles_lower_bound
    yield "energy", amount(joule(totals.energy_pj), "J")
    yield "off-chip bytes", totals.offchip_bytes
    yield "off-chip bytes, compulsory", totals.offchip_bytes_compulsory


def _row(item: OperatorReport) -> tuple[Cell, ...]:
    return (
        item.name,
        item.kind,
        item.mapper,
        item.status,
        item.cycles,
        ratio(item.cycles, item.cycles_lower_bound),
        "" if item.utilization is None else f"{item.utilization:.0%}",
        amount(joule(item.energy_pj), "J"),
    )


def operator_frame(report: Report) -> Any:
    """Return the figures of all operators as a data frame of pandas, else of polars.

    Raises:
        OptionError: Neither is installed.
    """
    for name in _LIBRARIES:
        try:
            library = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        return library.DataFrame(_columns(report))
    raise OptionError(
        "a data frame needs pandas or polars, and neither is installed", hint="pip install pandas"
    )


def _columns(report: Report) -> dict[str, list[Cell]]:
    """Return a column for each figure of an operator."""
    names = [item.name for item in fields(OperatorReport) if item.name not in _COMPOUND]
    columns = {name: [_plain(getattr(item, name)) for item in report.operators] for name in names}
    for extent in fields(Dims):
        columns[extent.name] = [
            None if item.dims is None else getattr(item.dims, extent.name)
            for item in report.operators
        ]
    return columns


def _plain(value: Cell | Enum) -> Cell:
    return value.value if isinstance(value, Enum) else value
