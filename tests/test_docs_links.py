"""Links in documents lead to what exists, headings included, and the index names every page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")


ROOMS = "backend|benchmarks|compiler|docs|examples|ir|models|passes|runtime_sim|tests"
RESULTS = "benchmarks/results/"
"""Written by whoever runs a benchmark."""
TO_BE_WRITTEN = {
    "backend/targets/NAME.toml",
    "passes/graph/merge_reshapes.py",
    "tests/passes/graph/test_merge_reshapes.py",
    "tests/text_files/graph/x.ir",
    "tests/x/test_y.py",
}
"""Files that documents name as examples."""


def links(path: Path) -> list[str]:
    """Return the targets of the links within the repository; code is left out."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    return [link for link in LINK.findall(text) if "://" not in link]


def anchors(path: Path) -> Iterator[str]:
    """Yield the names that GitHub gives to the headings of a document."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")


def dead(path: Path) -> list[str]:
    """Return the links of a document that lead nowhere."""
    wrong: list[str] = []
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in set(anchors(target))):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    assert dead(path) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_exist(path: Path) -> None:
    text = path.read_text()
    files = set(re.findall(rf"`((?:{ROOMS})/[\w./*-]+)`", text)) - TO_BE_WRITTEN
    modules = set(re.findall(r"python -m (benchmarks[\w.]*)", text))
    files |= {name.replace(".", "/") + "*" for name in modules}
    files = {name for name in files if not name.startswith(RESULTS)}

    assert [name for name in sorted(files) if not list(ROOT.glob(name.rstrip("/")))] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_that_are_named_exist(path: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", path.read_text())

    assert [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text()] == []


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    pages = {path.resolve() for path in (ROOT / "docs").glob("*.md")} - {index.resolve()}

    assert pages <= linked


def test_every_picture_is_shown() -> None:
    linked = {(path.parent / link).resolve() for path in DOCUMENTS for link in links(path)}
    pictures = {
        path.resolve() for path in (ROOT / "docs" / "figures").glob("*") if path.suffix != ".md"
    }

    assert pictures <= linked


def test_the_test_finds_dead_links(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` heading\n[here](#a-b-heading) [gone](#other) [file](none.md) `[code](x.md)`\n"
        "```\n[code](y.md)\n# not a heading\n```\n[web](https://example.org)\n"
    )

    assert dead(page) == ["#other", "none.md"]
