"""Every dependency is used, and the page on third-party software says whose it is.

``pytest tests/test_third_party.py --update-golden`` writes the table of the page.
"""

import ast
import re
import tomllib
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.test_getting_started import needed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "third-party.md"
ROOMS = ("backend", "backend_onnx", "compiler", "ir", "models", "passes", "runtime_sim")
HEAD = "| package | licence | home |\n|---|---|---|\n"
LOADED_BY_OTHERS = {"highspy": "mip"}
"""Libraries that a dependency of ours looks for and loads."""

SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "Eclipse Public License 2.0 (EPL-2.0)": "EPL-2.0",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
"""How licences are called where metadata has no expression of SPDX."""


def licence(package: Distribution) -> str:
    """Return the licence that a package states, as SPDX calls it."""
    data = package.metadata
    stated = data.get("License-Expression") or data.get("License") or ""
    if not stated or "\n" in stated:  # the whole text
        kinds = [item for item in data.get_all("Classifier", []) if item.startswith("License ::")]
        stated = kinds[0].rpartition(":: ")[2]
    return SPDX.get(stated, stated)


def home(package: Distribution) -> str:
    """Return where a package lives: what it calls source or home."""
    data = package.metadata
    pairs = [text.split(", ", 1) for text in data.get_all("Project-URL", [])]
    links = {name.lower(): link for name, link in pairs}
    order = ("source", "source code", "repository", "github", "homepage", "home")
    named = [links[name] for name in order if name in links]
    return next(iter([*named, *filter(None, [data.get("Home-page")]), *links.values()]))


def table() -> str:
    return HEAD + "".join(
        f"| {name} | {licence(package)} | <{home(package)}> |\n"
        for name, package in sorted(needed().items())
    )


def imported() -> set[str]:
    """Return the libraries that the house imports."""
    found: set[str] = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {item.name.split(".")[0] for item in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    found.add(node.module.split(".")[0])
    return found


def test_the_page_lists_what_an_installation_brings(request: pytest.FixtureRequest) -> None:
    """Libraries and licences; homes may differ between versions."""
    text = PAGE.read_text()
    shown = text[text.index(HEAD) :].partition("\n\n")[0] + "\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text.replace(shown, table()))
        return

    def rows(of: str) -> list[str]:
        return [row.rpartition(" | ")[0] for row in of.splitlines()]

    assert rows(shown) == rows(table())


def test_every_dependency_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {Requirement(text).name for text in project["dependencies"]}
    used = imported()

    for name in sorted(names):
        name = LOADED_BY_OTHERS.get(name, name)
        assert name.replace("-", "_") in used, name


def test_the_image_has_one_python() -> None:
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM python:(3\.\d+)-slim", text, re.M)

    assert len(bases) == 2
    assert {*bases, *re.findall(r"lib/python(3\.\d+)/", text)} == {bases[0]}
