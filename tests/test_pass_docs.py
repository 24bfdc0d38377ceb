"""What the pages on text form and passes show works, and their list of passes is complete."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_opt import app
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", blocks("ir.md", "ir"))
def test_the_examples_of_the_text_form_are_in_its_one_form(text: str) -> None:
    assert print_module(parse_module(text, verify=True)) == text


@pytest.mark.parametrize("page", ["ir.md", "writing-passes.md"])
def test_the_python_of_the_page_works(page: str) -> None:
    code = "\n".join(blocks(page, "python"))

    exec(compile(code, page, "exec", dont_inherit=True), {"__name__": "page"})


def test_the_list_of_passes_is_complete(request: pytest.FixtureRequest) -> None:
    path = DOCS / "passes.md"
    actual = CliRunner().invoke(app, ["--list-passes"]).stdout
    text = path.read_text(encoding="utf-8")
    head, begin, rest = text.rpartition("\n```text\n")
    shown, end, tail = rest.partition("```")
    if request.config.getoption("--update-golden"):
        path.write_text(f"{head}{begin}{actual}{end}{tail}", encoding="utf-8")
        shown = actual

    assert shown == actual, "run: pytest tests/test_pass_docs.py --update-golden"
