"""Mappings on disk, addressed by everything that they depend on.

A key is the digest of the workload, the machine, the mapper with its options, workspace and
placement, and the version of the code that decides: the text of the mappers (those of other
packages, too), of the cost model and of the values they work on, and the solvers' releases.
Whoever changes any of these asks another key; nothing is ever invalidated. An entry that cannot be
read counts as absent.
"""

import dataclasses
import hashlib
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from ..ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from ..ir.proof import Scope
from ..ir.workload import Dim, Operand, Workload
from ..passes.mapping.jobs import MapJob
from ..passes.mapping.mapper import MappingResult, MappingStatus

_LOG = logging.getLogger(__name__)
_ROOT = Path(__file__).parent.parent
_DECIDING = (
    "ir/arch.py",
    "ir/mapping.py",
    "ir/proof.py",
    "ir/workload.py",
    "passes/analysis",
    "passes/mapping",
    "passes/mip",
)
_PACKAGES = ("accnn", "mip", "highspy", "numpy", "numba")


def key_of(job: MapJob) -> str:
    """Return the digest of everything that the answer to a question depends on."""
    parts = (
        repr(job.mapper),
        ",".join(sorted(job.problem.resident)),
        repr(replace(job.problem, resident=frozenset())),
        code_version(),
        *map(_package_version, sorted(_foreign_packages(job.mapper))),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def code_version() -> str:
    """Return the digest of the code that decides on mappings."""
    digest = hashlib.sha256()
    for path in sorted(_deciding_files()):
        digest.update(str(path.relative_to(_ROOT)).encode())
        digest.update(path.read_bytes())
    for package in _PACKAGES:
        digest.update(f"{package}={importlib.metadata.version(package)}".encode())
    return digest.hexdigest()


def _foreign_packages(value: object) -> frozenset[str]:
    """Return the packages, other than accnn, whose classes a mapper is made of."""
    if isinstance(value, Enum) or not dataclasses.is_dataclass(value):
        inner = frozenset[str]()
    else:
        parts = (getattr(value, item.name) for item in dataclasses.fields(value))
        inner = frozenset[str]().union(*map(_foreign_packages, parts))
    own = type(value).__module__.partition(".")[0]
    return inner if own in (__name__.partition(".")[0], "builtins") else inner | {own}


@cache
def _package_version(name: str) -> str:
    """Return the digest of a package's code."""
    digest = hashlib.sha256(name.encode())
    for folder in map(Path, getattr(sys.modules[name], "__path__", ())):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _deciding_files() -> Iterator[Path]:
    for name in _DECIDING:
        path = _ROOT / name
        yield from path.rglob("*.py") if path.is_dir() else (path,)


def default_folder() -> Path:
    """Return the user's folder of cached mappings: ``$ACCNN_CACHE``, or below ``~/.cache``."""
    named = os.environ.get("ACCNN_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "accnn" / "mappings"


@dataclass(frozen=True, slots=True)
class MappingCache:
    """Results in files of one folder."""

    folder: Path

    def find(self, job: MapJob) -> MappingResult | None:
        """Return the stored answer, ``None`` where there is none that can be read."""
        path = self._path(job)
        try:
            return _decode(json.loads(path.read_text()), job.problem.workload)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _LOG.warning("%s: %s; solving anew", path, error)
            return None

    def store(self, job: MapJob, result: MappingResult) -> None:
        """Store an answer; a folder that cannot be written to is no error."""
        path = self._path(job)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "w") as file:
                json.dump(_encode(result), file)
            Path(name).replace(path)
        except OSError as error:
            _LOG.warning("cannot store a mapping: %s", error)

    def _path(self, job: MapJob) -> Path:
        key = key_of(job)
        return self.folder / key[:2] / f"{key[2:]}.json"


def _encode(result: MappingResult) -> dict[str, Any]:
    nest = result.nest
    return {
        "temporal": [[loop.dim, loop.extent] for loop in nest.temporal],
        "spatial": [[loop.dim, loop.extent, loop.fanout] for loop in nest.spatial],
        "allocations": [[item.operand, item.level, item.start] for item in nest.allocations],
        "mapper": result.mapper,
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "scope": result.scope,
        "estimate": result.estimate,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
        "note": result.note,
    }


def _decode(data: dict[str, Any], workload: Workload) -> MappingResult:
    nest = LoopNest(
        workload=workload,
        temporal=tuple(Loop(Dim(dim), int(extent)) for dim, extent in data["temporal"]),
        spatial=tuple(SpatialLoop(Dim(dim), int(ext), str(to)) for dim, ext, to in data["spatial"]),
        allocations=tuple(
            Allocation(Operand(operand), str(level), int(start))
            for operand, level, start in data["allocations"]
        ),
    )
    return MappingResult(
        nest=nest,
        mapper=str(data["mapper"]),
        status=MappingStatus(data["status"]),
        objective=float(data["objective"]),
        bound=_float(data["bound"]),
        scope=None if data["scope"] is None else Scope(data["scope"]),
        estimate=_float(data["estimate"]),
        seconds=float(data["seconds"]),
        cpu_seconds=float(data["cpu_seconds"]),
        note=str(data["note"]),
    )


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
