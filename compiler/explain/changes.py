"""Machines with one number changed: a memory, a port, a fan-out or the vector unit doubled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir.arch import Architecture, Fanout, MemoryLevel
from ...ir.errors import AccnnError

_TIMES = 2


@dataclass(frozen=True)
class MachineChange:
    """A machine that differs in one number.

    Attributes:
        what: The number, as ``MEMORY.capacity``; keys are those of the architecture file.
        before: Its value.
        after: Its value in ``arch``.
        arch: The changed machine.
    """

    what: str
    before: float
    after: float
    arch: Architecture


def machine_changes(arch: Architecture) -> tuple[MachineChange, ...]:
    """Return the changes that make sense: capacities, bandwidths, more PEs, more lanes.

    Those that the rules of architectures forbid are left out.
    """
    return tuple(change for change in _all(arch) if _is_possible(change.arch))


def _all(arch: Architecture) -> Iterator[MachineChange]:
    for level in arch.levels:
        yield from _of(arch, "levels", level, ("capacity", "read_bandwidth", "write_bandwidth"))
    for fanout in arch.fanouts:
        yield from _of(arch, "fanouts", fanout, ("size", "link_bandwidth"))
    lanes = arch.vector.lanes
    wider = replace(arch.vector, lanes=lanes * _TIMES)
    yield MachineChange("vector.lanes", lanes, wider.lanes, replace(arch, vector=wider))


def _of(
    arch: Architecture, table: str, row: MemoryLevel | Fanout, keys: Sequence[str]
) -> Iterator[MachineChange]:
    """Yield the changes of a memory or a fan-out, a row of one of the machine's tables."""
    for key in keys:
        value: int | float | None = getattr(row, key)
        if value is None:
            continue
        changed = replace(row, **{key: value * _TIMES})
        rows = tuple(changed if item == row else item for item in getattr(arch, table))
        made = replace(arch, **{table: rows})
        yield MachineChange(f"{row.name}.{key}", value, value * _TIMES, made)


def _is_possible(arch: Architecture) -> bool:
    try:
        arch.verify()
    except AccnnError:
        return False
    return True
