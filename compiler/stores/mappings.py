"""Mappings on disk, addressed by everything that they depend on.

A key is the digest of the workload, the machine, the mapper with its options, workspace and
placement, and the version of the code that decides: the text of the mappers (those of other
packages, too), of the cost model and of the values they work on, and the solvers' releases.
"""

import dataclasses
import json
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from ...ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from ...ir.proof import Scope
from ...ir.workload import Dim, Operand, Workload
from ...passes.mapping.jobs import MapJob
from ...passes.mapping.mapper import MappingResult, MappingStatus
from .store import Store, code_version, digest_of, package_version

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
_SUFFIX = ".json"


def key_of(job: MapJob) -> str:
    """Return the digest of everything that the answer to a question depends on."""
    return digest_of(
        repr(job.mapper),
        ",".join(sorted(job.problem.resident)),
        repr(replace(job.problem, resident=frozenset())),
        code_version(_DECIDING, _PACKAGES),
        *map(package_version, sorted(_foreign_packages(job.mapper))),
    )


def _foreign_packages(value: object) -> frozenset[str]:
    """Return the packages, other than accnn, whose classes a mapper is made of."""
    if isinstance(value, Enum) or not dataclasses.is_dataclass(value):
        inner = frozenset[str]()
    else:
        parts = (getattr(value, item.name) for item in dataclasses.fields(value))
        inner = frozenset[str]().union(*map(_foreign_packages, parts))
    own = type(value).__module__.partition(".")[0]
    return inner if own in (__name__.partition(".")[0], "builtins") else inner | {own}


@dataclass(frozen=True, slots=True)
class MappingCache:
    """Results in files of one folder."""

    folder: Path

    @property
    def _store(self) -> Store:
        return Store(self.folder)

    def find(self, key: str, workload: Workload) -> MappingResult | None:
        """Return the stored answer to a question, ``None`` where there is none that can be read.

        Args:
            key: Digest of the question, :func:`key_of`.
            workload: The one that was asked about.
        """
        found = self._store.read(key, _SUFFIX)
        try:
            return None if found is None else _decode(json.loads(found), workload)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            self._store.refuse(key, _SUFFIX, error)
            return None

    def store(self, key: str, result: MappingResult) -> None:
        """Store the answer to a question; a folder that cannot be written to is no error."""
        self._store.write(key, _SUFFIX, json.dumps(_encode(result)).encode())


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
