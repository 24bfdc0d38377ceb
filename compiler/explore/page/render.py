"""Render the page of a study: one file that needs no network and runs no script.

Names come from files that anybody may have written: Jinja escapes every value, and a content
security policy lets the browser load and run nothing.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..findings.summary import Summary
from .scatter import HEIGHT, MARGIN, WIDTH
from .view import view_of

_TEMPLATES = Path(__file__).parent / "templates"


def study_page(name: str, description: str, summary: Summary) -> str:
    """Return the page of a study; equal arguments give equal bytes.

    Args:
        name: Of the study.
        description: Of it.
        summary: Its results.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("study.html.j2")
    view = view_of(name, description, summary)
    return page.render(view=view, width=WIDTH, height=HEIGHT, margin=MARGIN)
