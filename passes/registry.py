"""Every pass, by phase. To add a pass, import its class and put it on the list."""

from .base import Pass
from .pipeline import Pipeline, parse_pipeline

PASSES: tuple[type[Pass], ...] = ()
"""All passes that a pipeline may name."""


def pipeline(text: str) -> Pipeline:
    """Read a pipeline of registered passes.

    Raises:
        ParseError: The text breaks the syntax.
        PipelineError: There is no such pass.
        OptionError: A pass has no such option, or the value is of another type.
    """
    return parse_pipeline(text, PASSES)
