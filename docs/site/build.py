"""Build the documentation site: ``python docs/site/build.py OUT`` writes ``OUT/html/index.html``.

The pages are those of ``docs/``, where their links are checked by tests, and of the root. Copies of
them are gathered in ``OUT/source``: there links to pages of the root lead to their copies, what the
site does not show is no link, and the pages of Python's names are added.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOT_PAGES = ("README", "CONTRIBUTING", "CHANGELOG")
_LINK = re.compile(r"\[([^]]*)\]\(([^)\s]+)\)")

API = (
    ("Compile", ("compiler.driver", "compiler.options", "compiler.artifacts", "ir.errors")),
    ("Machines", ("backend.load", "ir.arch")),
    ("Graphs and modules", ("ir.graph", "ir.types", "ir.module", "ir.text.parser")),
    ("Passes", ("passes.base", "passes.manager", "passes.pipeline", "passes.instrument")),
    (
        "Mapping",
        ("ir.workload", "ir.mapping", "passes.mapping.problem", "passes.mapping.mapper"),
    ),
    ("Schedules", ("ir.graph_schedule", "ir.tiles.schedule", "ir.tiles.graph", "ir.tiles.events")),
    ("Programs", ("ir.isa.instructions", "ir.isa.program", "runtime_sim.simulate")),
    ("Reports", ("ir.report", "ir.proof")),
)
"""Modules whose names are shown, by task."""


def gather(source: Path) -> None:
    """Write the pages of the site, ready for Sphinx."""
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("site"))
    (source / "project").mkdir()
    for name in ROOT_PAGES:
        shutil.copy(ROOT / f"{name}.md", source / "project" / f"{name}.md")
    for page in sorted(source.rglob("*.md")):
        page.write_text(_with_links(page, _origin(page, source), source))
    _write_decisions(source / "decisions")
    _write_api(source / "api")
    index = source / "index.md"
    index.write_text(index.read_text() + _contents(source))


def _origin(page: Path, source: Path) -> Path:
    """Return the folder that a page was copied from."""
    folder = page.parent.relative_to(source)
    return ROOT if folder.name == "project" else ROOT / "docs" / folder


def _with_links(page: Path, origin: Path, source: Path) -> str:
    """Return a page whose links lead to the copies of what they led to."""

    def led(match: re.Match[str]) -> str:
        text, link = match.groups()
        name, mark, anchor = link.partition("#")
        if "://" in link or not name:
            return match[0]
        target = _copy_of((origin / name).resolve(), source)
        if target is None:
            return text
        up = "../" * len(page.parent.relative_to(source).parts)
        return f"[{text}]({up}{target.relative_to(source)}{mark}{anchor})"

    parts = re.split(r"(^```.*?^```$)", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else _LINK.sub(led, part) for part in parts)


def _copy_of(target: Path, source: Path) -> Path | None:
    """Return where the site has a file; ``None`` where it does not show it."""
    docs = ROOT / "docs"
    if target == docs / "decisions":
        return source / "decisions" / "index.md"
    if target.is_relative_to(docs) and target.is_file():
        return source / target.relative_to(docs)
    if target.parent == ROOT and target.stem in ROOT_PAGES:
        return source / "project" / target.name
    return None


def _write_decisions(folder: Path) -> None:
    names = sorted(path.stem for path in folder.glob("[0-9]*.md"))
    (folder / "index.md").write_text(f"# Decisions\n\n{_tree(names)}")


def _write_api(folder: Path) -> None:
    folder.mkdir()
    names: list[str] = []
    for title, modules in API:
        name = title.lower().replace(" ", "-")
        parts = [f"# {title}\n"]
        for module in modules:
            shown = f"```{{eval-rst}}\n.. automodule:: accnn.{module}\n```\n"
            parts.append(f"## `accnn.{module}`\n\n{shown}")
        (folder / f"{name}.md").write_text("\n".join(parts))
        names.append(name)
    (folder / "index.md").write_text(f"# Python\n\n{_tree(names)}")


def _contents(source: Path) -> str:
    """Return the tables of contents, which the index keeps to itself."""
    linked = re.findall(r"\]\(([\w-]+)\.md", (source / "index.md").read_text())
    pages = list(dict.fromkeys(linked))
    others = [*pages, "decisions/index", "api/index", *(f"project/{name}" for name in ROOT_PAGES)]
    return "\n" + _tree(others, hidden=True)


def _tree(names: list[str], *, hidden: bool = False) -> str:
    options = ":hidden:\n" if hidden else ""
    listed = "\n".join(names)
    return f"```{{toctree}}\n:maxdepth: 1\n{options}\n{listed}\n```\n"


def main(out: Path) -> int:
    """Build the site; every warning is an error.

    Returns:
        The exit code of Sphinx.
    """
    from sphinx.cmd.build import build_main  # of the extra ``docs``

    if out.exists():
        shutil.rmtree(out)
    gather(out / "source")
    here = str(Path(__file__).parent)
    folders = [str(out / "source"), str(out / "html")]
    return build_main(["-W", "--keep-going", "-q", "-c", here, *folders])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
