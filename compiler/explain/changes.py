"""Machines with one number changed: a memory, a port, a fan-out or the vector unit doubled."""

from collections.abc import Iterator
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
        yield from _of_memory(arch, level)
    for fanout in arch.fanouts:
        yield from _of_fanout(arch, fanout)
    lanes = arch.vector.lanes
    wider = replace(arch.vector, lanes=lanes * _TIMES)
    yield MachineChange("vector.lanes", lanes, wider.lanes, replace(arch, vector=wider))


def _of_memory(arch: Architecture, level: MemoryLevel) -> Iterator[MachineChange]:
    for key in ("capacity", "read_bandwidth", "write_bandwidth"):
        value: int | float | None = getattr(level, key)
        if value is None:
            continue
        changed = replace(level, **{key: value * _TIMES})
        levels = tuple(changed if item == level else item for item in arch.levels)
        made = replace(arch, levels=levels)
        yield MachineChange(f"{level.name}.{key}", value, value * _TIMES, made)


def _of_fanout(arch: Architecture, fanout: Fanout) -> Iterator[MachineChange]:
    for key in ("size", "link_bandwidth"):
        value: int | float | None = getattr(fanout, key)
        if value is None:
            continue
        changed = replace(fanout, **{key: value * _TIMES})
        fanouts = tuple(changed if item == fanout else item for item in arch.fanouts)
        made = replace(arch, fanouts=fanouts)
        yield MachineChange(f"{fanout.name}.{key}", value, value * _TIMES, made)


def _is_possible(arch: Architecture) -> bool:
    try:
        arch.verify()
    except AccnnError:
        return False
    return True
