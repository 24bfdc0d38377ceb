"""What is mutated, and which tests belong to a module.

Nothing here imports the package.
"""

import ast
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path

from tests.end_to_end.faults.planting import imports
from tests.mutants.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
"""Of the repository."""

COVERED: Mapping[str, Sequence[str]] = {
    "hazards, latency, spaces, tiles": ("ir/tiles", "ir/isa/latency.py", "ir/isa/spaces.py"),
    "analysis": ("passes/analysis",),
    "cosma": (
        "passes/scheduling/cosma/problem.py",
        "passes/scheduling/cosma/plan.py",
        "passes/scheduling/cosma/search/bounds.py",
        "passes/scheduling/cosma/packing",
    ),
    "certificate": ("passes/mapping/certificate",),
    "search statuses": ("passes/mapping/recipes/cosa.py", "passes/mapping/recipes/salsa.py"),
    "flexer kernel": ("passes/scheduling/flexer/kernel",),
    "backend": ("backend",),
    "simulator": ("runtime_sim",),
    "onnx import": ("models/onnx_import",),
    "verification": ("compiler/verification",),
}
"""Rooms whose mutants are drawn in equal shares: beginnings of paths."""

JUDGES = (
    "tests/end_to_end/test_model_against_simulator.py",
    "tests/mutants/exams.py",
)
"""Ask what every part has a share in, whatever time that takes."""

_NO_MEANING = ("test_help.py", "test_text_files.py", "test_pass_docs.py", "test_faults.py")
"""Compare with texts that are kept, or see the source in the file alone."""


def room_of(file: str) -> str:
    """Return the room that a file belongs to, or its folder."""
    for room, paths in COVERED.items():
        if any(file.startswith(path) for path in paths):
            return room
    return file.rpartition("/")[0]


def files_under(paths: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the modules in some folders, and those named themselves."""
    found: set[Path] = set()
    for path in paths:
        found |= set((root / path).rglob("*.py")) if (root / path).is_dir() else {root / path}
    return sorted(str(path.relative_to(root)) for path in found)


def sample(groups: Iterable[Sequence[Mutant]], count: int, seed: int) -> list[Mutant]:
    """Draw mutants, as many from one group as from another while it has some."""
    rng = random.Random(seed)
    drawn = [rng.sample(group, len(group)) for group in groups]
    turns = [mutant for turn in zip_longest(*drawn) for mutant in turn if mutant is not None]
    return turns[:count]


def mutants_under(paths: Iterable[str], root: Path = ROOT) -> list[Mutant]:
    """Return all mutants of what lies in some folders."""
    return [
        mutant for file in files_under(paths, root) for mutant in mutants_of(file, text(file, root))
    ]


@cache
def text(file: str, root: Path = ROOT) -> str:
    """Return the source of a module as it is."""
    return (root / file).read_text()


@cache
def _tests() -> Mapping[str, frozenset[str]]:
    """Return, by file of tests, what it imports."""
    files = files_under(("tests",))
    wanted = [file for file in files if Path(file).name.startswith("test_")]
    return {file: _imported(file) for file in wanted if not file.endswith(_NO_MEANING)}


@cache
def _imported(file: str) -> frozenset[str]:
    package = ("" if file.startswith("tests") else "accnn.") + file.rpartition("/")[0]
    return frozenset(imports(ast.parse(text(file)), package.replace("/", ".")))


@cache
def _importers(module: str) -> frozenset[str]:
    """Return the modules that import one themselves."""
    folders = ("backend", "compiler", "ir", "models", "passes", "runtime_sim")
    return frozenset(
        "accnn." + file.removesuffix(".py").replace("/", ".")
        for file in files_under(folders)
        if module in _imported(file)
    )


def stages_of(file: str, *, far: bool = False) -> list[Sequence[str]]:
    """Return files of tests in the order in which they are asked, in stages.

    Those in the module's place among the tests; those that import it; those in its folder, or in
    the nearest one above that has some; those in folders of its folder; those in the folders above;
    the judges of everything; and, where far ones are asked, those that import what imports it.
    """
    module = "accnn." + file.removesuffix(".py").replace("/", ".")
    around = {module, *_importers(module)}
    folders = _folders_above(file)
    stages = (
        [name for name in _tests() if _is_mirror(name, file)],
        [name for name, imported in _tests().items() if module in imported],
        folders[0] if folders else [],
        [name for name in _tests() if name.startswith(f"tests/{file.rpartition('/')[0]}/")],
        [name for names in folders[1:] for name in names],
        JUDGES,
        [name for name, imported in _tests().items() if far and around & imported],
    )
    seen: set[str] = set()
    found: list[Sequence[str]] = []
    for stage in stages:
        new = [name for name in stage if name not in seen]
        seen.update(new)
        ordered = new if stage is JUDGES else sorted(new, key=lambda name: _distance(name, file))
        found.append(ordered)
    return [stage for stage in found if stage]


def _is_mirror(name: str, file: str) -> bool:
    """Whether tests stand where the module stands, or in a folder or a file of its folder."""
    folder, _, own = file.removesuffix(".py").rpartition("/")
    parent, _, part = folder.rpartition("/")
    places = (f"tests/{folder}/test_{own}", f"tests/{folder}/{own}/", f"tests/{parent}/test_{part}")
    return name.startswith(places)


def _folders_above(file: str) -> list[list[str]]:
    """Return the tests in a module's folder among the tests and in each above it, if any."""
    parts = file.split("/")[:-1]
    places = ["/".join(("tests", *parts[:count])) for count in range(len(parts), 0, -1)]
    found = ([name for name in _tests() if name.rpartition("/")[0] == place] for place in places)
    return [names for names in found if names]


def _distance(name: str, file: str) -> tuple[int, str]:
    """Return how far tests lie from a module; the nearest ones come first."""
    shared = len(os.path.commonpath([name.removeprefix("tests/"), file]).split("/"))
    return (-shared, name)
