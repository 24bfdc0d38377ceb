import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

from accnn.passes.options import option_fields
from accnn.passes.registry import PASSES, pipeline

TESTS = Path(__file__).parent


def kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def test_names_are_unique() -> None:
    assert len({item.name for item in PASSES}) == len(PASSES)


@pytest.mark.parametrize("item", PASSES, ids=lambda item: item.name)
class TestEveryPass:
    def test_class_name_and_file_share_their_words(self, item) -> None:
        assert kebab(item.__name__) == item.name
        assert item.__module__.rpartition(".")[2] == item.name.replace("-", "_")

    def test_is_a_frozen_dataclass_with_printable_options(self, item) -> None:
        assert item.__dataclass_params__.frozen
        assert len(option_fields(item)) == len(dataclasses.fields(item))
        assert pipeline(item.name).passes == (item(),)

    def test_has_a_docstring_with_before_and_after(self, item) -> None:
        module = importlib.import_module(item.__module__)

        assert "->" in f"{inspect.getdoc(module)}\n{inspect.getdoc(item)}"
        assert item.summary().endswith(".")

    def test_gives_something(self, item) -> None:
        assert item.gives
