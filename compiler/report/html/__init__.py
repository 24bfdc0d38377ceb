"""``report.html``: the report as one self-contained page."""

from .page import html_report

__all__ = ["html_report"]
