"""The documentation site: every page is there, and links lead to pages of the site."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "site" / "build.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("site_build", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(script: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "source"
    script.gather(folder)
    return folder


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_every_page_is_in_a_table_of_contents(source: Path) -> None:
    listed = {
        (page.parent / f"{name}.md").resolve()
        for page in source.rglob("*.md")
        for tree in re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(), re.S | re.M)
        for name in re.findall(r"^[\w/-]+$", tree, re.M)
    }
    pages = {page.resolve() for page in source.rglob("*.md")} - {(source / "index.md").resolve()}

    assert len(pages) > 60
    assert pages == listed


def test_links_lead_to_pages_of_the_site(source: Path) -> None:
    dead = [
        (str(page.relative_to(source)), link)
        for page in source.rglob("*.md")
        for link in re.findall(r"\]\(([^)\s#]+)", re.sub(r"`[^`\n]*`", "", prose(page)))
        if "://" not in link and not (page.parent / link).is_file()
    ]

    assert dead == []


def test_pages_of_the_root_and_decisions_are_linked(source: Path) -> None:
    index = (source / "index.md").read_text()

    assert "(project/CONTRIBUTING.md#add-a-pass-in-ten-minutes)" in index
    assert "(decisions/index.md)" in index
    assert "(../docs/report.md)" not in (source / "project" / "README.md").read_text()
    assert "(../report.md)" in (source / "project" / "README.md").read_text()


def test_what_the_site_does_not_show_is_no_link(source: Path) -> None:
    assert "examples/accnn_extras/README.md" in (ROOT / "docs" / "compiling.md").read_text()
    assert "examples/accnn_extras/README.md" not in (source / "compiling.md").read_text()


def test_modules_that_are_shown_exist(script: Any) -> None:
    names = [name for _, modules in script.API for name in modules]

    assert [name for name in names if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []


@pytest.mark.slow
def test_sphinx_renders_it_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "site")], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    shown = (tmp_path / "site" / "html" / "api" / "compile.html").read_text()
    assert "accnn.compiler.driver.compile" in shown
    assert (tmp_path / "site" / "html" / "getting-started.html").is_file()
