"""How Sphinx renders the site; ``build.py`` beside it gathers what is rendered."""

from importlib.metadata import version as installed

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "accnn"
author = "the authors of accnn"
release = version = installed("accnn")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
html_theme = "alabaster"
html_theme_options = {
    "description": "A compiler for DNN accelerators",
    "fixed_sidebar": True,
    "page_width": "1200px",
    "body_max_width": "940px",  # code of a hundred columns fits
}
html_show_sourcelink = False
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": True}
napoleon_use_ivar = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
suppress_warnings = ["ref.python"]  # several classes have a field named `type`


def setup(app: Sphinx) -> None:
    """Show the text form of modules as it is."""
    app.add_lexer("ir", TextLexer)
