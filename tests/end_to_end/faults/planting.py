"""Import the package with one of its modules changed.

A module in which a fault is planted is imported anew, and so is all that imports it, directly or
not. What is left does not know the faulty one: it is as it was. Compiled loops run as Python where
the fault is in one of them: what is kept on disk is compiled from the files, in which no fault is.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import resolve_name, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from tests.end_to_end.faults.fault import ROOT, Fault

_COMPILES = re.compile(r"^from (numba|\.+ir\.compiled) import", re.MULTILINE)

Importers = Mapping[str, frozenset[str]]
"""By module, the modules that import it themselves."""


class _FaultyLoader(SourceFileLoader):
    """Compiles a source that is not the one in the file."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.module, str(ROOT / fault.file))
        self._fault = fault

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._fault.planted(), self.path, "exec", dont_inherit=True)


class _Planter(MetaPathFinder):
    """Finds one module before anyone else does."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._fault.module:
            return None
        loader: Loader = _FaultyLoader(self._fault)
        return spec_from_file_location(fullname, ROOT / self._fault.file, loader=loader)


def plant(fault: Fault, importers: Importers) -> None:
    """Let a module be imported with a fault in it, for the rest of this process."""
    gone, todo = set[str](), [fault.module]
    if _COMPILES.search(fault.source()):
        import_module("numba").config.DISABLE_JIT = True
        folder = fault.module.rpartition(".")[0] + "."
        todo += [name for name in importers if name.startswith(folder)]
    while todo:
        name = todo.pop()
        if name not in gone:
            gone.add(name)
            todo += importers.get(name, ())
    for name in gone & sys.modules.keys():
        del sys.modules[name]
        package, _, own = name.rpartition(".")
        if package in sys.modules:
            vars(sys.modules[package]).pop(own, None)
    sys.meta_path.insert(0, _Planter(fault))


def importers_now() -> Importers:
    """Return who imports whom among the modules of the repository that are loaded."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.split(".")[0] in ("accnn", "tests") and file is not None:
            package = module.__package__ or ""
            for imported in imports(ast.parse(Path(file).read_text()), package):
                found[imported].add(name)
    return {name: frozenset(by) for name, by in found.items()}


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that a module may import: all that its statements can mean."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            source = resolve_name(f"{dots}{node.module or ''}", package)
            yield source
            yield from (f"{source}.{item.name}" for item in node.names)
