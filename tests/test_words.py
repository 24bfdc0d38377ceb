"""Names and docstrings use the words of the glossary, and docstrings say what parameters mean."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("backend", "backend_onnx", "compiler", "ir", "models", "passes", "runtime_sim")

NOT_YET = ("passes/scheduling/cosma/",)
"""Beginnings of paths that still have words of before."""


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def is_due(path: Path) -> bool:
    """Whether a file is to have the words of the glossary already."""
    return not str(path.relative_to(ROOT)).startswith(NOT_YET)


@cache
def forbidden() -> frozenset[str]:
    """Return the words that the glossary lists as not used."""
    section = (ROOT / "docs/glossary.md").read_text().partition("## Words that are not used")[2]
    cells = re.findall(r"^\| ([a-z, ]+) \|", section, re.MULTILINE)
    return frozenset(word for cell in cells for word in cell.split(", ")) - {"not"}


@cache
def words_of(name: str) -> frozenset[str]:
    """Return the words of an identifier, plurals in the singular."""
    parts = re.findall(r"[A-Z]?[a-z]+", name)
    return frozenset(word for part in parts for word in (part.lower(), part.lower().rstrip("s")))


def names_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and name of all that nodes define."""
    for node in nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def docstrings_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


def wrong_words(text: str) -> list[str]:
    """Return what the glossary forbids in a module, as ``line: word``."""
    nodes, bad = list(ast.walk(ast.parse(text))), forbidden()
    found = [
        (line, word)
        for line, piece in (*names_in(nodes), *docstrings_in(nodes))
        for word in sorted(words_of(piece) & bad)
    ]
    found += [
        (node.lineno, "found")
        for node in nodes
        if isinstance(node, ast.ClassDef) and "found" in words_of(node.name)
    ]
    return [f"{line}: {word}" for line, word in found]


@pytest.mark.parametrize(
    "path", [*filter(is_due, sources())], ids=lambda path: str(path.relative_to(ROOT))
)
def test_words_are_those_of_the_glossary(path: Path) -> None:
    assert wrong_words(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def find_room(): ...", ["1: room"]),
        ('"""Where tiles stay."""', ["1: stay"]),
        ("x.told = 1", ["1: told"]),
        ("def f(untold): ...", ["1: untold"]),
        ("class Found: ...", ["1: found"]),
        ("class WovenOrders: ...", ["1: woven"]),
        ("found = mushroom = 1", []),
        ("x = f('room')  # room", []),
    ],
)
def test_the_test_finds(text: str, expected: list[str]) -> None:
    assert wrong_words(text) == expected


def undocumented(text: str) -> list[str]:
    """Return the public functions with three or more parameters that do not explain each of them.

    ``Args:`` may stand in the docstring of the function; or, where several share parameters, of
    their class or module.
    """
    tree = ast.parse(text)
    return [
        function.name
        for function, known in _public(tree, explained(tree))
        if _lacks_args(function, known)
    ]


def explained(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> frozenset[str]:
    """Return the parameters that a docstring explains under ``Args:``."""
    section = (ast.get_docstring(node) or "").partition("Args:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^ {4}([\w*, ]+): ", section, re.MULTILINE)
    return frozenset(name.strip(" *") for item in names for name in item.split(","))


def _public(
    node: ast.Module | ast.ClassDef, known: frozenset[str]
) -> Iterator[tuple[ast.FunctionDef, frozenset[str]]]:
    """Yield public functions with the parameters that are explained around them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from _public(child, known | explained(child))
        if isinstance(child, ast.FunctionDef) and not child.name.startswith("_"):
            yield child, known


def _lacks_args(function: ast.FunctionDef, known: frozenset[str]) -> bool:
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    names = {item.arg for item in every} - {"self", "cls"}
    is_command = any("command" in ast.unparse(item) for item in function.decorator_list)
    return len(names) >= 3 and not is_command and not names <= known | explained(function)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_parameters_are_explained(path: Path) -> None:
    assert undocumented(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(a, b, c): ...\ndef g(a, b): ...\ndef _h(a, b, c): ...", ["f"]),
        ('def f(a, b, c):\n  """Do.\n\n  Args:\n      a, b: x\n      c: y\n  """', []),
        ('def f(a, b, c):\n  """Do.\n\n  Args:\n      a: x\n      b: y\n  """', ["f"]),
        ("class A:\n  def f(self, a, *, b, c): ...", ["f"]),
        ('"""M.\n\nArgs:\n    a: x\n    b: y\n    c: z\n"""\ndef f(a, b, c): ...', []),
        ('class A:\n  """M.\n\n  Args:\n      a, b: x\n  """\n  def f(self, a, b, c): ...', ["f"]),
    ],
)
def test_the_test_finds_what_lacks_an_explanation(text: str, expected: list[str]) -> None:
    assert undocumented(text) == expected
