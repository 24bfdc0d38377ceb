"""The walls of the house: who may import whom, which libraries have one door, what files say."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("backend", "backend_onnx", "compiler", "ir", "models", "passes", "runtime_sim")
OUTSIDE = ("benchmarks", "examples", "tests")

MAY_IMPORT = {
    "ir": {"ir"},
    "models": {"ir", "models"},
    "passes": {"ir", "passes"},
    "backend": {"ir", "backend"},
    "runtime_sim": {"ir", "runtime_sim"},
    "compiler": set(ROOMS) - {"backend_onnx"},
    "backend_onnx": {"backend_onnx", "compiler", "ir"},
}
"""Rooms that a room may import from."""

DOORS = {
    "annotated_types": ("ir.arch", "compiler.explore.study.schema"),
    "google": ("models.onnx_import",),
    "distributed": ("compiler.explore.executors.dask_cluster",),
    "highspy": ("passes.mip",),
    "jinja2": ("compiler.report.html", "compiler.explore.page"),
    "lark": ("ir.text",),
    "markupsafe": ("compiler.report.html",),
    "matplotlib": ("compiler.report",),
    "mip": ("passes.mip",),
    "onnx": ("models", "backend_onnx"),
    "onnxruntime": (
        "models.session",
        "models.quantisation.prepare",
        "models.quantisation.quantize",
        "models.quantisation.histograms",
        "compiler.verification.verify",
    ),
    "optuna": ("compiler.explore.search.bayesian",),
    "pydantic": ("backend.arch_tables", "backend.arch_errors", "compiler.explore.study.read"),
    "pydantic_core": ("backend.arch_errors",),
    "rich": ("compiler.cli", "compiler.report"),
    "ray": ("compiler.explore.executors.ray_cluster",),
    "safetensors": ("ir.resources", "backend.package"),
    "sqlalchemy": ("compiler.explore.results",),
    "threadpoolctl": ("runtime_sim.simulate",),
    "typer": ("compiler.cli",),
}
"""Modules and packages that may import a third-party library of weight.

``google`` (protobuf) comes with onnx, ``pydantic_core`` with pydantic; matplotlib is optional.
"""

STARTS = (
    "backend.arch_manual",
    "backend.manual",
    "backend_onnx.backend",
    "compiler.artifacts",
    "compiler.cli.start",
    "compiler.conformance.__main__",
    "compiler.driver",
    "compiler.mapping.worker",
)
"""Where commands, other packages and the documents start."""

LIBRARY = (
    "passes.mapping.search.orders.by_report",
    "passes.mapping.search.orders.polish",
)
"""Modules that only users call, as `docs/salsa.md` shows."""

MOST_FILES = 12
"""Modules that a folder may hold without sub-folders and a map of them."""

NO_MAP_YET = ("passes.mapping", "passes.scheduling")
"""Packages whose folders are still as they were."""

MAPPERS_BASIS = ("passes.mapping.problem", "passes.mapping.mapper", "passes.analysis")
"""What searches for nests build on; integer programs and mappers build on them."""

OPEN = {"numba", "numpy"}
"""Third-party libraries that any room may import."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module; ``target`` is ``ir.graph`` inside the house, ``numpy.typing`` outside.

    Attributes:
        source: Dotted name of the importing module, without ``accnn``.
        target: Dotted name of the imported module.
        line: Where.
        inside: Whether the target is part of the house.
        relative: Whether it is written with leading dots.
    """

    source: str
    target: str
    line: int
    inside: bool
    relative: bool

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def sources() -> dict[str, Path]:
    """Return the file of every module in the rooms, by dotted name."""
    found: dict[str, Path] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = sources()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements inside of one, or of a module, and all handlers of exceptions.

    Expressions hold none, and are most of a tree.
    """
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, ()):
            yield child
            yield from statements(child)


def imports_of(module: str, path: Path, text: str | None = None) -> Iterator[Import]:
    """Yield every import of a module: at its top, lazy, and for type checking only."""
    tree = ast.parse(path.read_text() if text is None else text)
    for node in statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                inside = alias.name.split(".")[0] == "accnn"
                target = alias.name.removeprefix("accnn.")
                yield Import(module, target, node.lineno, inside, relative=False)
        elif isinstance(node, ast.ImportFrom):
            yield from _from_imports(module, path, node)


def _from_imports(module: str, path: Path, node: ast.ImportFrom) -> Iterator[Import]:
    base = node.module or ""
    inside = node.level > 0 or base.split(".")[0] == "accnn"
    if node.level > 0:
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        up = node.level - 1
        parts = [*package[: len(package) - up], *([base] if base else [])]
        base = ".".join(parts)
    base = base.removeprefix("accnn.")
    for alias in node.names:
        deeper = f"{base}.{alias.name}" if base else alias.name
        target = deeper if inside and deeper in MODULES else base
        yield Import(module, target, node.lineno, inside, relative=node.level > 0)


IMPORTS = [item for name, path in MODULES.items() for item in imports_of(name, path)]


def is_face(path: Path) -> bool:
    """Whether a file stands for its folder."""
    return path.name == "__init__.py"


def contents(folder: str) -> tuple[set[str], set[str]]:
    """Return the names of the modules, and of the sub-folders, of a folder."""
    inside = {name: path for name, path in MODULES.items() if name.rpartition(".")[0] == folder}
    folders = {name.rpartition(".")[2] for name, path in inside.items() if is_face(path)}
    return {name.rpartition(".")[2] for name in inside} - folders, folders


def mapped(text: str) -> set[str]:
    """Return the names that the lines of a map begin with; empty where a text has no map."""
    lines = re.findall(r"^- ((?:``\w+``(?:, )?)+):", text, re.MULTILINE)
    return {name for line in lines for name in re.findall(r"\w+", line)}


def room(module: str) -> str:
    """Return the first part of a dotted name."""
    return module.split(".")[0]


def is_within(module: str, places: tuple[str, ...]) -> bool:
    """Whether a module is one of some places, or lies in one."""
    return any(module == place or module.startswith(f"{place}.") for place in places)


class TestWalls:
    def test_rooms_import_only_what_they_may(self) -> None:
        wrong = [
            str(item)
            for item in IMPORTS
            if item.inside and room(item.target) not in MAY_IMPORT[room(item.source)]
        ]

        assert wrong == []

    @pytest.mark.parametrize(
        ("place", "below"),
        [
            ("passes.analysis", ("passes.analysis",)),
            ("passes.mip", ("passes.mip",)),
            (
                "passes.mapping",
                ("passes.mapping", "passes.analysis", "passes.mip", "passes.deadline"),
            ),
            ("passes.mapping.search", ("passes.mapping.search", *MAPPERS_BASIS)),
        ],
    )
    def test_mappers_and_the_cost_model_lie_beneath_the_passes(
        self, place: str, below: tuple[str, ...]
    ) -> None:
        wrong = [
            str(item)
            for item in IMPORTS
            if is_within(item.source, (place,))
            and room(item.target) == "passes"
            and not is_within(item.target, below)
        ]

        assert wrong == []

    def test_every_import_inside_the_house_is_relative(self) -> None:
        assert [str(item) for item in IMPORTS if item.inside and not item.relative] == []

    def test_every_import_inside_the_house_names_a_module(self) -> None:
        assert [str(item) for item in IMPORTS if item.inside and item.target not in MODULES] == []

    def test_heavy_libraries_have_one_door(self) -> None:
        wrong = [
            str(item)
            for item in IMPORTS
            if room(item.target) in DOORS and not is_within(item.source, DOORS[room(item.target)])
        ]

        assert wrong == []

    def test_every_library_is_known(self) -> None:
        known = {*sys.stdlib_module_names, *DOORS, *OPEN}

        assert [str(i) for i in IMPORTS if not i.inside and room(i.target) not in known] == []

    def test_every_library_is_declared(self) -> None:
        names = (re.split(r"[><=\[ ]", item)[0] for item in project()["dependencies"])
        declared = {name.replace("-", "_") for name in names}
        used = {room(i.target) for i in IMPORTS if not i.inside} - set(sys.stdlib_module_names)

        assert used - {"google", "matplotlib", "pydantic_core", *extras()} <= declared

    def test_no_import_cycle(self) -> None:
        assert cycle({name: targets_of(name) for name in MODULES}) == []

    def test_every_module_is_used(self) -> None:
        faces = [name for name, path in MODULES.items() if path.name == "__init__.py"]
        graph = {name: targets_of(name) for name in MODULES}
        unused = set(MODULES) - closure((*STARTS, *LIBRARY, *faces), graph)

        assert sorted(unused) == []

    def test_the_root_imports_nothing_at_run_time(self) -> None:
        text = (ROOT / "__init__.py").read_text()
        eager = [
            node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]

        assert [ast.unparse(node) for node in eager if not _is_light(node)] == []

    @pytest.mark.parametrize("folder", OUTSIDE)
    def test_outsiders_say_accnn(self, folder: str) -> None:
        wrong = [
            f"{path.relative_to(ROOT)}:{item.line} imports {item.target}"
            for path in sorted((ROOT / folder).rglob("*.py"))
            for item in imports_of(path.stem, path)
            if not item.inside and room(item.target) in ROOMS
        ]

        assert wrong == []

    def test_the_judges_do_not_know_whom_they_judge(self) -> None:
        graph = {name: targets_of(name) for name in MODULES}
        reached = closure([name for name in graph if room(name) == "runtime_sim"], graph)

        assert {room(name) for name in reached} <= {"ir", "runtime_sim"}


class TestTheParserOfImports:
    """The test of the test: imports are found wherever they hide."""

    @pytest.mark.parametrize(
        ("text", "target"),
        [
            ("from ..ir import graph", "ir.graph"),
            ("from ..ir.graph import Graph", "ir.graph"),
            ("from .package import read_package", "backend.package"),
            ("from . import package", "backend.package"),
            ("import accnn.passes", "passes"),
            ("from accnn.passes import x", "passes"),
            ("def f():\n    from ..passes import x", "passes"),
            ("if TYPE_CHECKING:\n    from ..passes import x", "passes"),
            ("try:\n    import onnx.helper\nexcept ImportError:\n    pass", "onnx.helper"),
            ("try:\n    pass\nexcept ImportError:\n    import numpy", "numpy"),
            ("try:\n    pass\nfinally:\n    import numpy", "numpy"),
            ("if x:\n    pass\nelse:\n    import numpy", "numpy"),
            ("class A:\n    async def f(self):\n        import numpy", "numpy"),
            ("match x:\n    case 1:\n        import numpy", "numpy"),
        ],
    )
    def test_finds(self, text: str, target: str) -> None:
        found = list(imports_of("backend.mine", ROOT / "backend" / "mine.py", text))

        assert [item.target for item in found] == [target]

    def test_reads_a_map(self) -> None:
        text = "A folder.\n\n- ``a``, ``b``: this, with ``c``;\n- ``d``: that.\n"

        assert mapped(text) == {"a", "b", "d"}
        assert mapped("A folder with ``a``.") == set()

    def test_finds_a_cycle(self) -> None:
        assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
        assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []


class TestPackages:
    def test_the_list_names_every_folder(self) -> None:
        folders = {"accnn", *(f"accnn.{name}" for name in package_folders())}

        assert sorted(folders) == sorted(setuptools_table()["packages"])

    def test_every_folder_with_code_is_a_package(self) -> None:
        folders = {path.parent for path in MODULES.values()}

        assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []

    def test_the_root_has_no_other_module(self) -> None:
        assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]

    def test_every_command_exists(self) -> None:
        targets = {name: entry.split(":") for name, entry in project()["scripts"].items()}

        for name, (module, function) in targets.items():
            path = MODULES.get(module.removeprefix("accnn."))
            assert path is not None, f"{name}: no module {module}"
            names = {getattr(node, "name", None) for node in ast.parse(path.read_text()).body}
            assert function in names, f"{name}: no {function} in {module}"

    @pytest.mark.slow
    def test_the_wheel_holds_every_module_and_resource(self, tmp_path: Path) -> None:
        wheel = build_wheel(tmp_path)
        found = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("accnn/")}
        resources = {
            str(path.relative_to(ROOT))
            for pattern in ("backend/targets/*.toml", "**/*.lark", "**/templates/*", "py.typed")
            for path in ROOT.glob(pattern)
            if ".venv" not in path.parts
        }
        modules = {str(path.relative_to(ROOT)) for path in MODULES.values()}

        assert found == {f"accnn/{name}" for name in modules | resources | {"__init__.py"}}


class TestFiles:
    @pytest.mark.parametrize("name", sorted(MODULES))
    def test_a_module_opens_with_one_sentence(self, name: str) -> None:
        docstring = ast.get_docstring(ast.parse(MODULES[name].read_text())) or ""
        first = docstring.split("\n\n")[0].replace("\n", " ")

        assert re.search(r"[.:]$", first), f"{name} opens with {first!r}"
        assert first.removesuffix(".") != name.replace(".", "/")
        assert not first.lower().startswith("this module")

    def test_no_class_has_the_name_of_another_one(self) -> None:
        found: dict[str, list[str]] = {}
        for name, path in MODULES.items():
            for node in statements(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(name)

        assert {name: places for name, places in found.items() if len(places) > 1} == {}

    def test_faces_are_small(self) -> None:
        faces = [path for path in MODULES.values() if path.name == "__init__.py"]

        assert [str(path) for path in faces if len(path.read_text().splitlines()) >= 40] == []

    @pytest.mark.parametrize("folder", [name for name, path in MODULES.items() if is_face(path)])
    def test_large_folders_have_sub_folders_and_a_map(self, folder: str) -> None:
        modules, folders = contents(folder)

        if len(modules) > MOST_FILES and not is_within(folder, NO_MAP_YET):
            assert folders
            assert mapped(ast.get_docstring(ast.parse(MODULES[folder].read_text())) or "")

    @pytest.mark.parametrize("folder", [name for name, path in MODULES.items() if is_face(path)])
    def test_a_map_names_what_is_there(self, folder: str) -> None:
        text = ast.get_docstring(ast.parse(MODULES[folder].read_text())) or ""
        modules, folders = contents(folder)

        if mapped(text):
            named = set(re.findall(r"``(\w+)``", text))
            assert mapped(text) <= modules | folders
            assert sorted((modules | folders) - named - {"__main__"}) == []

    def test_faces_sort_what_they_offer(self) -> None:
        for path in MODULES.values():
            if path.name == "__init__.py":
                offered = _all_of(path)
                assert offered == sorted(offered), path

    def test_no_path_of_somebodys_machine(self) -> None:
        pattern = re.compile(r"(?<![\w.*$}{])/(?:home|root|tmp|work)/\w")
        wrong = [
            f"{path.relative_to(ROOT)}:{number}"
            for path in texts()
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if pattern.search(line)
        ]

        assert wrong == []

    def test_no_work_left_lying_around(self) -> None:
        pattern = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b")
        wrong = [
            f"{path.relative_to(ROOT)}:{number}"
            for path in texts()
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if pattern.search(line)
        ]

        assert wrong == []

    def test_no_print_in_library_code(self) -> None:
        wrong = [
            f"{name}:{node.lineno}"
            for name, path in MODULES.items()
            if not is_within(name, ("compiler.cli",)) and "print(" in path.read_text()
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        ]

        assert wrong == []

    def test_no_swallowed_exception(self) -> None:
        wrong = [
            f"{name}:{node.lineno}"
            for name, path in MODULES.items()
            for node in statements(ast.parse(path.read_text()))
            if isinstance(node, ast.ExceptHandler)
            and (node.type is None or all(isinstance(item, ast.Pass) for item in node.body))
        ]

        assert wrong == []


def targets_of(module: str) -> set[str]:
    """Return the modules of the house that a module imports."""
    return {item.target for item in IMPORTS if item.source == module and item.inside} - {module}


def closure(starts: Iterable[str], graph: dict[str, set[str]]) -> set[str]:
    """Return some modules and all that they reach through imports."""
    reached = set(starts)
    waiting = sorted(reached)
    while waiting:
        new = graph.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += sorted(new)
    return reached


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules that stand in cycles (or between two), sorted; empty without a cycle."""
    left = {name: set(targets) & set(graph) for name, targets in graph.items()}
    while True:
        used = set().union(*left.values()) if left else set()
        free = [name for name, targets in left.items() if not targets or name not in used]
        if not free:
            return sorted(left)
        left = {name: targets - set(free) for name, targets in left.items() if name not in free}


def package_folders() -> list[str]:
    """Return every folder of the rooms with an ``__init__.py``, dotted."""
    return sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


def project() -> dict[str, dict[str, str]]:
    """Return the project table of ``pyproject.toml``."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def extras() -> set[str]:
    """Return the libraries that ``acc-explore`` alone needs."""
    listed = project()["optional-dependencies"]["explore"]
    return {re.split(r"[><=\[ ]", item)[0] for item in listed}


def setuptools_table() -> dict[str, list[str]]:
    """Return the setuptools table of ``pyproject.toml``."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def texts() -> list[Path]:
    """Return every text file that is part of the project."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    suffixes = {".py", ".md", ".toml", ".lark", ".yaml", ".yml", ".sh", ""}
    paths = [ROOT / name for name in names]
    return [path for path in paths if path.suffix in suffixes and path.is_file()]


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the project, so that the checkout stays clean."""
    copy = folder / "accnn"
    ignore = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__", "*.onnx")
    shutil.copytree(ROOT, copy, ignore=ignore)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "out")]
    subprocess.run([*command, str(copy)], check=True, capture_output=True)
    return next((folder / "out").glob("*.whl"))


def _is_light(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
    level = node.level if isinstance(node, ast.ImportFrom) else 0
    return level == 0 and all(
        (name or "").split(".")[0] in sys.stdlib_module_names for name in names
    )


def _all_of(path: Path) -> list[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []
