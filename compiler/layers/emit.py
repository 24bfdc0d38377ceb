"""Write mapped layers as the files that other tools read, a folder for each layer."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...ir.arch import Architecture
from ...ir.errors import OptionError
from ...ir.mapping import LoopNest
from ...passes.mapping.cuda.kernel import write_cuda_kernel
from ...passes.mapping.timeloop import write_arch, write_mapping, write_problem
from ...passes.mapping.zigzag_files import (
    write_zigzag_accelerator,
    write_zigzag_mapping,
    write_zigzag_workload,
)
from ..report.layer_table import nest_text

_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]")
_LONGEST = 100
_OURS = "Written by acc-map.\n"
"""The first line of each file, behind the sign of a comment; it may then be replaced."""
_COMMENTS: Mapping[str, str] = {".yaml": "# ", ".cu": "// "}


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
    _write(
        folder,
        {
            "problem.yaml": write_problem(nest.workload),
            "arch.yaml": write_arch(arch),
            "mapping.yaml": write_mapping(nest, arch),
        },
    )


def write_zigzag(folder: Path, nest: LoopNest, arch: Architecture) -> None:
    """Write ``workload.yaml``, ``accelerator.yaml`` and ``mapping.yaml`` into a folder.

    Args:
        folder: Made where it does not exist; see :func:`folder_names`.
        nest: A nest without groups.
        arch: Its machine, of at most four fan-outs.

    Raises:
        OptionError: The nest has no form in ZigZag, or the folder cannot be written to.
    """
    _write(
        folder,
        {
            "workload.yaml": write_zigzag_workload(nest, arch),
            "accelerator.yaml": write_zigzag_accelerator(arch),
            "mapping.yaml": write_zigzag_mapping(nest, arch),
        },
    )


def write_cuda(folder: Path, nest: LoopNest, arch: Architecture) -> None:
    """Write ``kernel.cu`` into a folder; a compiler for C can build it, too.

    Args:
        folder: Made where it does not exist; see :func:`folder_names`.
        nest: A nest of any kind.
        arch: Its machine, a block of threads.

    Raises:
        OptionError: The nest has no form in CUDA, or the folder cannot be written to.
    """
    listing = "".join(f"// {line}\n" for line in nest_text(nest, arch).splitlines())
    about = f"// {nest.workload} on {arch.name}\n//\n{listing}"
    _write(folder, {"kernel.cu": f"{about}{write_cuda_kernel(nest, arch)}"})


TOOLS: Mapping[str, Callable[[Path, LoopNest, Architecture], None]] = {
    "timeloop": write_timeloop,
    "zigzag": write_zigzag,
    "cuda": write_cuda,
}
"""Who writes files for another tool, by the name that ``--emit`` takes."""


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in files:
            _check_ours(folder / name)
        for name, text in files.items():
            (folder / name).write_text(f"{_first_line(name)}{text}", encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write {folder}: {error.strerror}") from error


def _first_line(name: str) -> str:
    return f"{_COMMENTS[Path(name).suffix]}{_OURS}"


def _check_ours(path: Path) -> None:
    """Refuse to replace a file that is not of ours.

    Raises:
        OptionError: It is there and begins in another way.
    """
    if path.exists() and not path.read_bytes().startswith(_first_line(path.name).encode()):
        raise OptionError(
            f"will not overwrite {path}: acc-map did not write it", hint="choose another folder"
        )
