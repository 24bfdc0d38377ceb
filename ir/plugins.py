"""What other installed packages add to accnn, through entry points.

=================== ===========================================================================
``accnn.passes``    a subclass of ``Pass``, registered under its name
``accnn.mappers``   a mapper, registered under its name
``accnn.targets``   the ``Path`` of an architecture file, registered under what ``--arch`` takes
=================== ===========================================================================

A package declares them in its ``pyproject.toml``::

    [project.entry-points."accnn.passes"]
    merge-reshapes = "my_package.merge_reshapes:MergeReshapes"

One that cannot be used stops nobody: whoever asks for it by name gets its error.
"""

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from .errors import OptionError

T = TypeVar("T")


class PluginGroup(StrEnum):
    """What may be added."""

    PASSES = "accnn.passes"
    MAPPERS = "accnn.mappers"
    TARGETS = "accnn.targets"


@dataclass(frozen=True, slots=True)
class Plugins(Generic[T]):
    """The plug-ins of one group.

    Attributes:
        usable: By name.
        broken: What is wrong with the others, by name.
    """

    usable: Mapping[str, T]
    broken: Mapping[str, OptionError]

    def find(self, name: str) -> T | None:
        """Return a plug-in by name, ``None`` where there is none.

        Raises:
            OptionError: It cannot be used; names the plug-in and the package that it comes from.
        """
        if name in self.broken:
            raise self.broken[name]
        return self.usable.get(name)


def plugins(
    group: PluginGroup, check: Callable[[str, object], T], *, taken: Collection[str] = ()
) -> Plugins[T]:
    """Load the plug-ins of a group, in the order of their names.

    Args:
        group: Which.
        check: Gets the name and what the entry point loads; returns it typed, or raises
            ``TypeError`` or ``ValueError`` with what it must be.
        taken: Names that accnn itself gives; a plug-in cannot replace them.
    """
    usable: dict[str, T] = {}
    broken: dict[str, OptionError] = {}
    for entry in _entries(group, tuple(sys.path)):
        if entry.name in usable or entry.name in taken:
            if entry.name not in taken:
                broken[entry.name] = _broken(entry, "another package has the same name")
            continue
        try:
            usable[entry.name] = check(entry.name, entry.load())
        except Exception as error:  # code of others, which may raise anything while it is imported
            broken[entry.name] = _broken(entry, f"{type(error).__name__}: {error}")
    return Plugins(usable, broken)


def plugin_packages() -> frozenset[str]:
    """Return the top-level packages whose code may run in the place of accnn's own."""
    entries = (entry for group in PluginGroup for entry in _entries(group, tuple(sys.path)))
    return frozenset(entry.module.partition(".")[0] for entry in entries)


@cache
def _entries(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of what is installed on a path, searched once."""
    del path
    found = entry_points(group=group)
    return tuple(sorted(found, key=lambda entry: (entry.name, _package(entry), entry.value)))


def _package(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else entry.dist.name


def _broken(entry: EntryPoint, reason: str) -> OptionError:
    return OptionError(
        f"plug-in {entry.name!r} ({entry.group}) of {_package(entry)} cannot be used: {reason}",
        hint=f"mend or remove {_package(entry)}; it says {entry.name} = {entry.value!r}",
    )
