"""The notebooks run from top to bottom, and are stored without what running them shows."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def sources(path: Path, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == kind]


def shown(code: str, names: dict[str, Any]) -> object:
    """Run a cell; return what a notebook would show: the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec", dont_inherit=True), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval", dont_inherit=True), names)


def run(path: Path) -> list[object]:
    names: dict[str, Any] = {"__name__": "__main__"}
    return [shown(code, names) for code in sources(path, "code")]


def test_there_is_one_for_each_task() -> None:
    tasks = ["custom_pass", "only_cosa", "only_cosma", "own_machine", "own_network", "two_machines"]

    assert [path.stem for path in NOTEBOOKS] == tasks


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    values = run(path)

    pages = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    assert pages or capsys.readouterr().out
    assert all("failed" not in page for page in pages)
    if "accnn.compile(" in "".join(sources(path, "code")):
        assert any("verified: 0 of" in page for page in pages)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_is_stored_but_the_source(path: Path) -> None:
    book = read(path)

    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    for cell in book["cells"]:
        assert (cell.get("outputs", []), cell.get("execution_count")) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", "\n".join(sources(path, "markdown")))

    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_a_cell_shows_its_last_line_alone() -> None:
    names: dict[str, Any] = {}

    assert shown("a = 2\na + 1", names) == 3
    assert shown("a = 4", names) is None
