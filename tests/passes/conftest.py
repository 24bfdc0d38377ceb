"""``apply``: run a pipeline on text and get text."""

from collections.abc import Callable

import pytest

from accnn.ir.resources import Constants
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from accnn.passes.manager import run_pipeline
from accnn.passes.registry import pipeline


@pytest.fixture
def apply() -> Callable[..., str]:
    """Run registered passes on the text of a module, verified before and after each."""

    def run(passes: str, text: str, constants: Constants | None = None) -> str:
        module = parse_module(text, constants=constants, verify=True)
        return print_module(run_pipeline(pipeline(passes), module).module)

    return run
