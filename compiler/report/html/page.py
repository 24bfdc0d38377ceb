"""Render pages: each is one file that needs no network, no other file, and no trust in names.

Names come from ONNX files that anybody may have written. Jinja escapes every value, paths of
pictures are whole numbers, and a content security policy lets the browser run the one script
whose digest the page states, and load nothing.

The door to Jinja.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ....ir.module import Module
from ....ir.report import Report
from ....runtime_sim.result import SimulationResult
from ..comparison import Comparison
from .comparison_view import comparison_view
from .names import shown, visible
from .view import view_of

_TEMPLATES = Path(__file__).parent / "templates"


def html_report(report: Report, module: Module, simulation: SimulationResult | None = None) -> str:
    """Return the page of one compilation; equal arguments give equal bytes.

    Args:
        report: All figures.
        module: The stages that were reached: their schedules are drawn.
        simulation: The run, with its timelines; ``None`` where there was none.
    """
    return rendered("report.html.j2", view=view_of(report, module, simulation))


def comparison_page(found: Comparison) -> str:
    """Return the page of two compilations side by side; equal arguments give equal bytes.

    Args:
        found: What to show.
    """
    return rendered("comparison.html.j2", view=comparison_view(found))


def rendered(template: str, **values: object) -> str:
    """Return a page of ours, with the style and the script that all of them have.

    Args:
        template: Name of its file.
        values: What it shows.
    """
    script, style = _own("report.js"), _own("report.css")
    page = _environment().get_template(template)
    return page.render(**values, script=script, style=style, script_digest=_digest(script))


@cache
def _environment() -> Environment:
    """Return who reads templates; each is translated once in a process."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spelt_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = shown
    return environment


def _spelt_out(value: object) -> object:
    """Return a value as it is shown; line ends alone may be invisible. Markup is our own."""
    if type(value) is not str:
        return value
    return "\n".join(map(visible, value.split("\n")))


def _own(name: str) -> Markup:
    """Return one of our own files, which needs no escapes."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _digest(script: str) -> str:
    """Return how a content security policy names a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
