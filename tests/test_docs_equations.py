"""The page on papers names files and symbols that exist, and every file that names an equation."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "equations.md"
ROOMS = ("backend", "compiler", "ir", "models", "passes", "runtime_sim")
SPOKEN = re.compile(r"\b[Ee]qs?\. \(\d|\b(?:Algorithm|Listing|Figure|Table) \d")
FROM = re.compile(r"\((\d+)\)(?:-\((\d+)\))?")


def rows(text: str) -> list[tuple[str, str, str]]:
    """Return what of the paper, file and symbol of each row."""
    found = re.findall(r"^\| (.+?) \| .+? \| `([\w/]+\.py)` \| `(\w+)` \|$", text, re.M)
    return [(paper, file, name) for paper, file, name in found]


def numbers(text: str) -> set[int]:
    """Return the equations that a text speaks of: ``eqs. (1)-(3) and (12)`` are four."""
    spoken: set[int] = set()
    for part in re.findall(r"\b[Ee]qs?\. (\(\d.*)", text.replace("\n", " ").replace("eq", "\neq")):
        for first, last in FROM.findall(part.replace(" to ", "-")):
            spoken |= set(range(int(first), int(last or first) + 1))
    return spoken


def defined(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            yield from (target.id for target in targets if isinstance(target, ast.Name))


ROWS = rows(PAGE.read_text())


@pytest.mark.parametrize(("paper", "file", "name"), ROWS)
def test_a_row_leads_to_what_it_says(paper: str, file: str, name: str) -> None:
    path = ROOT / file
    text = path.read_text()

    assert name in set(defined(path))
    assert numbers(paper) <= numbers(text)
    for what in re.findall(r"(?:Algorithm|Listing|Figure|Table) \d", paper):
        assert what in text


def test_no_file_that_speaks_of_an_equation_is_missing() -> None:
    speaking = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if SPOKEN.search(path.read_text())
    }

    assert len(ROWS) > 20
    assert sorted(speaking - {file for _, file, _ in ROWS}) == []


def test_numbers_are_read_as_they_are_written() -> None:
    assert numbers("eqs. (1)-(3) and (12)") == {1, 2, 3, 12}
    assert numbers("eqs. (1) to (3)") == {1, 2, 3}
    assert numbers("Eq. (5): what (6) says") == {5, 6}
    assert numbers("a row (7)") == set()


def test_the_test_sees_a_row_that_is_wrong() -> None:
    (row,) = rows("| eq. (99) | what | `passes/base.py` | `Pass` |")

    with pytest.raises(AssertionError):
        test_a_row_leads_to_what_it_says(*row)
