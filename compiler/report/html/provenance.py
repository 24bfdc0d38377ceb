"""How a result was made: the command, what was chosen, versions, digests."""

import platform
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from ....ir.report import Report
from .names import shown

_LIBRARIES = ("numpy", "onnx", "onnxruntime", "mip", "highspy", "numba")
_REPEATED = {"shapes": "--shape", "constants": "--constant"}
_NEXT_SETTING = re.compile(r" (?=[\w-]+\.[\w-]+=)")
_NOT_OFFERED = frozenset({"samples"})  # from Python only


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value, as text."""

    name: str
    value: str


def command(report: Report) -> str:
    """Return the command that makes this result again, defaults written out.

    Only the file names of data sets are known, not their folders.
    """
    words = ["acc-compile", shown(report.model.name), "--arch", shown(report.arch.name)]
    for name, value in report.options.items():
        words += _words(name, value)
    return shlex.join(words)


def _words(name: str, value: bool | int | float | str | None) -> list[str]:
    if value is None or value == "" or name in _NOT_OFFERED:
        return []
    if name in _REPEATED:
        return [word for item in _rows(str(value)) for word in (_REPEATED[name], item)]
    if name == "settings":
        found = _NEXT_SETTING.split(str(value))
        return [word for setting in found for word in ("--set", shown(setting))]
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", shown(str(value))]


def _rows(value: str) -> list[str]:
    """Return ``x=1,3`` for each of ``x=(1, 3),y=(2, 4)``."""
    parts = value.replace(" ", "").split("),")
    return [part.replace("(", "").rstrip("),") for part in parts if part]


def facts(report: Report) -> tuple[Fact, ...]:
    """Return files with digests, and versions."""
    return (
        Fact("model", f"{shown(report.model.name)}, sha256 {report.model.sha256}"),
        Fact("architecture", f"{shown(report.arch.name)}, sha256 {report.arch.sha256}"),
        Fact("seed", str(report.seed)),
        Fact("accnn", report.version),
        Fact("Python", platform.python_version()),
        *(Fact(name, version(name)) for name in _LIBRARIES),
        Fact("reference", shown(report.verification.against or "none: nothing was compared")),
        Fact("schema of report.json", str(report.schema_version)),
    )


def options(report: Report) -> tuple[Fact, ...]:
    """Return every option with its value, spelled as on the command line."""
    return tuple(
        Fact(name.replace("_", "-"), _spelled(report.options, name)) for name in report.options
    )


def _spelled(values: Mapping[str, bool | int | float | str | None], name: str) -> str:
    value = values[name]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None or value == "" else shown(str(value))
