"""What the pages on compiling and debugging show exists."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.compiler.cli import acc_compile, acc_opt, acc_run

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("compiling.md", "debugging.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_option_exists(page: str):
    known = "".join(
        CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
        for app in (acc_compile.app, acc_opt.app, acc_run.app)
    )
    named = set(re.findall(r"--[a-z][a-z-]+", (DOCS / page).read_text())) - {"--list"}

    assert named
    assert [option for option in sorted(named) if option not in known] == []


@pytest.mark.parametrize("page", PAGES)
def test_python_compiles(page: str):
    for code in re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.S | re.M):
        names: dict[str, object] = {}
        exec(compile(code, page, "exec", dont_inherit=True), names)
        assert any(callable(value) for value in names.values())
