"""Write mapped layers as the three files that ``timeloop-model`` reads, one folder each."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...ir.arch import Architecture
from ...ir.errors import OptionError
from ...ir.mapping import LoopNest
from ...passes.mapping.timeloop import write_arch, write_mapping, write_problem

_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]")
_LONGEST = 100


def folder_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return a folder name for each name: safe on every file system, and no two alike.

    What is neither letter, digit nor one of ``._=-`` becomes an underscore, so that no name leads
    out of its parent; names that would be alike, whatever their case, are numbered.

    Args:
        names: Any texts; they may be empty, alike, or look like paths.
    """
    taken: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        plain = _UNSAFE.sub("_", name)[:_LONGEST].lstrip(".-") or "layer"
        unique, number = plain, 1
        while taken[unique.lower()]:
            number += 1
            unique = f"{plain}-{number}"
        taken[unique.lower()] += 1
        found.append(unique)
    return tuple(found)


def write_timeloop(folder: Path, nest: LoopNest, arch: Architecture) -> None:
    """Write ``problem.yaml``, ``arch.yaml`` and ``mapping.yaml`` into a folder.

    Args:
        folder: Made where it does not exist; see :func:`folder_names`.
        nest: An even nest without groups.
        arch: Its machine.

    Raises:
        OptionError: The nest has no form in Timeloop, or the folder cannot be written to.
    """
    files = {
        "problem.yaml": write_problem(nest.workload),
        "arch.yaml": write_arch(arch),
        "mapping.yaml": write_mapping(nest, arch),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
    except OSError as error:
        raise OptionError(f"cannot write {folder}: {error.strerror}") from error
