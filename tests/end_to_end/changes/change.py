"""A change of the house: the lines that add one thing, and the proof that it is there.

Nothing here imports the package: its sources are changed before they are imported.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).parents[3]
"""Of the repository."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One place of one file.

    Attributes:
        file: From the root.
        old: Text that stands there once; empty for a file that is new.
        new: What takes its place.
    """

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Change:
    """All that adds one thing.

    Attributes:
        row: What is added, as the table of ``docs/house.md`` calls it.
        edits: All places; nothing else is touched.
        proof: Raises where the thing is not there, or does not work.
    """

    row: str
    edits: tuple[Edit, ...]
    proof: Callable[[], None]

    @property
    def files(self) -> list[str]:
        """The files that are touched, and the folders of new ones."""
        return sorted(
            {edit.file if edit.old else f"{edit.file.rpartition('/')[0]}/" for edit in self.edits}
        )

    def texts(self) -> Mapping[str, str]:
        """Return the changed text of every file that is touched.

        Raises:
            ValueError: A text to be replaced does not stand in its file exactly once.
        """
        found: dict[str, str] = {}
        for edit in self.edits:
            path = ROOT / edit.file
            text = found.get(edit.file) or (path.read_text() if path.exists() else "")
            if text.count(edit.old) != 1 and (edit.old or text):
                raise ValueError(f"{edit.file}: {edit.old!r} stands {text.count(edit.old)} times")
            found[edit.file] = text.replace(edit.old, edit.new) if edit.old else edit.new
        return found

    def make(self) -> None:
        """Let modules be imported as changed, for the rest of this process.

        What is no module (templates) is left to the proof.
        """
        if any(name.partition(".")[0] == "accnn" for name in sys.modules):
            raise RuntimeError("the package is imported already")
        sources = {
            "accnn." + file.removesuffix(".py").replace("/", "."): text
            for file, text in self.texts().items()
            if file.endswith(".py")
        }
        sys.meta_path.insert(0, _ChangedFinder(sources))


class _ChangedLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _ChangedFinder(MetaPathFinder):
    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._sources:
            return None
        file = ROOT / f"{fullname.removeprefix('accnn.').replace('.', '/')}.py"
        loader = _ChangedLoader(fullname, str(file), self._sources[fullname])
        return spec_from_file_location(fullname, file, loader=loader)
