"""The figures at the head of a report, as ``acc-compile --json`` prints them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ...ir.codec.json_codec import dump_json
from ...ir.report import Accuracy, FileIdentity, QuantizationReport, Report, Totals, Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """What of a report concerns the whole network; see :class:`~accnn.ir.report.Report`.

    Nothing in it depends on the clock, so the same command prints the same text.
    """

    schema_version: int
    version: str
    model: FileIdentity
    arch: FileIdentity
    options: Mapping[str, bool | int | float | str | None]
    seed: int
    totals: Totals
    quantization: QuantizationReport | None
    accuracy: Accuracy | None
    verification: Verification
    notes: tuple[str, ...]


def summary_of(report: Report) -> ReportSummary:
    """Return the head of a report; lists with an entry per tensor of the network are left out."""
    values = {item.name: getattr(report, item.name) for item in fields(ReportSummary)}
    if report.quantization is not None:
        values["quantization"] = replace(report.quantization, layers=())
    return ReportSummary(**values)


def summary_json(report: Report) -> str:
    """Return the head of a report as JSON; keys are those of ``report.json``."""
    report.verify()
    return dump_json(summary_of(report))
