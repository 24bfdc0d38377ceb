"""Mappings on disk, addressed by everything that they depend on.

A key is the digest of the workload, the machine, the mapper with its options, workspace and
placement, and the version of the code that decides: the text of the mappers (those of other
packages, too), of the cost model and of the values they work on, and the solvers' releases.
"""

import dataclasses
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from ...ir.codec.json_codec import dump_json, parse_json
from ...ir.errors import ParseError
from ...passes.mapping.jobs import MapJob
from ...passes.mapping.mapper import MappingResult
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

    def find(self, key: str) -> MappingResult | None:
        """Return the stored answer to a question, ``None`` where there is none that can be read.

        Args:
            key: Digest of the question, :func:`key_of`.
        """
        found = self._store.read(key, _SUFFIX)
        try:
            return None if found is None else parse_json(found.decode(), MappingResult)
        except (ParseError, ValueError) as error:
            self._store.refuse(key, _SUFFIX, error)
            return None

    def store(self, key: str, result: MappingResult) -> None:
        """Store the answer to a question; a folder that cannot be written to is no error."""
        self._store.write(key, _SUFFIX, dump_json(result).encode())
