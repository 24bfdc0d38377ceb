"""Architecture files: find one by name, in the working folder or in the catalogue, and load it."""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ir.arch import Architecture
from ..ir.errors import ArchitectureError
from ..ir.plugins import PluginGroup, Plugins, plugins
from .arch_checks import check_names, check_sizes
from .arch_errors import suggestion
from .arch_tables import read_tables

_CATALOGUE = Path(__file__).with_name("targets")
_HERE = (Path(),)


@dataclass(frozen=True, slots=True)
class ArchEntry:
    """A line of the catalogue.

    Attributes:
        name: What ``--arch`` takes, without ``.toml``.
        description: One line.
    """

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class ArchSource:
    """An architecture file as it was found.

    Attributes:
        path: Where it is.
        text: What it says.
    """

    path: Path
    text: str

    @property
    def sha256(self) -> str:
        """Hexadecimal digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load_architecture(name_or_path: str, *, search: Sequence[Path] = _HERE) -> Architecture:
    """Return the architecture that a name or path means.

    Args:
        name_or_path: A path, or a name with or without ``.toml``.
        search: Folders to look in, in order, before the catalogue.

    Raises:
        ArchitectureError: There is no such file, or it is wrong; names file, key and value.
    """
    source = find_source(name_or_path, search=search)
    return parse_architecture(source.text, file=source.path.name)


def find_source(name_or_path: str, *, search: Sequence[Path] = _HERE) -> ArchSource:
    """Return the file that a name or path means, looked up as by :func:`load_architecture`.

    Raises:
        ArchitectureError: There is no such file, or it is not UTF-8 text.
        OptionError: It is one of another package that cannot be used.
    """
    for folder in (*search, _CATALOGUE):
        for candidate in (folder / name_or_path, folder / f"{name_or_path}.toml"):
            if candidate.is_file():
                return ArchSource(candidate, _read(candidate))
    others = plugin_targets()
    path = others.find(name_or_path.removesuffix(".toml"))
    if path is not None:
        return ArchSource(path, _read(path))
    if any((folder / name_or_path).is_dir() for folder in search):
        raise ArchitectureError(f"architecture {name_or_path!r} is a folder, not a .toml file")
    names = [entry.name for entry in catalogue()]
    close = suggestion(Path(name_or_path).name.removesuffix(".toml"), names)
    raise ArchitectureError(
        f"no architecture file {name_or_path!r}",
        hint=close or f"the catalogue has: {', '.join(names)}",
    )


def parse_architecture(text: str, *, file: str = "<architecture>") -> Architecture:
    """Return the architecture that TOML text describes, verified.

    Args:
        text: The TOML text.
        file: Name of the text in messages.

    Raises:
        ArchitectureError: Names file, key, value and what is allowed.
    """
    return build_architecture(tables_of(text, file), file=file)


def build_architecture(tables: Mapping[str, object], *, file: str) -> Architecture:
    """Return the architecture that the tables of a file describe, verified.

    Args:
        tables: What the file says; see :func:`tables_of`.
        file: Its name in messages.

    Raises:
        ArchitectureError: Names file, key, value and what is allowed.
    """
    arch = read_tables(file, tables)
    check_names(file, arch)
    check_sizes(file, arch)
    try:
        arch.verify()
    except ArchitectureError as error:
        raise ArchitectureError(f"{file}: {error.message}", hint=error.hint) from error
    return arch


def catalogue() -> tuple[ArchEntry, ...]:
    """Return name and description of the architectures of accnn and of other packages, by name."""
    own = {path.stem: path for path in _CATALOGUE.glob("*.toml")}
    return tuple(
        ArchEntry(name, str(tables_of(_read(path), path.name).get("description", "")))
        for name, path in sorted({**plugin_targets().usable, **own}.items())
    )


def plugin_targets() -> Plugins[Path]:
    """Return the architecture files that other packages add."""
    own = [path.stem for path in _CATALOGUE.glob("*.toml")]
    return plugins(PluginGroup.TARGETS, _check_target, taken=own)


def _check_target(name: str, loaded: object) -> Path:
    if not isinstance(loaded, Path):
        raise TypeError(f"{loaded!r} is no Path of an architecture file")
    try:
        parse_architecture(_read(loaded), file=loaded.name)
    except ArchitectureError as error:
        raise ValueError(f"{name}: {error}") from error
    return loaded


def tables_of(text: str, file: str) -> dict[str, object]:
    """Return the tables of a file's text, not yet looked at.

    Raises:
        ArchitectureError: It is no TOML text.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = re.sub(r"\('([^()]*)',?\)", lambda it: it[1].replace("', '", "."), str(error))
        raise ArchitectureError(f"{file}: not TOML: {said}") from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ArchitectureError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise ArchitectureError(f"{path}: {error.strerror}") from error
