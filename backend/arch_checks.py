"""What must hold between the tables of an architecture file, beyond each table by itself."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from ..ir.arch import Architecture, MemoryLevel, Precision
from ..ir.errors import ArchitectureError
from ..ir.workload import Operand
from .arch_errors import problem, suggestion

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ARCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_names(file: str, arch: Architecture) -> None:
    """Check that names are identifiers, and that all that is referred to exists, once.

    Raises:
        ArchitectureError: Names file, key, value and the names that exist.
    """
    _spelled(file, "name", arch.name, _ARCH_NAME)
    for what, items in (("level", arch.levels), ("fanout", arch.fanouts), ("npu", arch.npus)):
        for item in items:
            _spelled(file, f"{what}.{item.name}.name", item.name, _NAME)
    levels = arch.level_names
    fanouts = [fanout.name for fanout in arch.fanouts]
    _known(file, "scratchpad", arch.scratchpad, "memory level", levels)
    for level in arch.levels:
        _distinct(file, f"level.{level.name}.holds", level.holds)
    for fanout in arch.fanouts:
        _known(file, f"fanout.{fanout.name}.below", fanout.below, "memory level", levels)
        _distinct(file, f"fanout.{fanout.name}.dims", fanout.dims)
        _distinct(file, f"fanout.{fanout.name}.multicast", fanout.multicast)
    for index, group in enumerate(arch.groups):
        for name in group.fanouts:
            _known(file, f"group[{index}].fanouts", name, "fan-out", fanouts)
    for npu in arch.npus:
        for name, _ in npu.sizes:
            _known(file, f"npu.{npu.name}.sizes", name, "fan-out", fanouts)


def _spelled(file: str, key: str, name: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(name):
        what = f"must match pattern {pattern.pattern}"
        raise ArchitectureError(problem(file, key, name, what))


def _distinct(file: str, key: str, values: Sequence[StrEnum]) -> None:
    if len(set(values)) != len(values):
        shown = [str(value) for value in values]
        raise ArchitectureError(problem(file, key, shown, "must not name anything twice"))


def check_sizes(file: str, arch: Architecture) -> None:
    """Check that every on-chip memory holds one element of each operand that it keeps.

    Raises:
        ArchitectureError: Names file, memory, capacity and what one element takes.
    """
    for level in arch.levels[1:]:
        usable = level.usable
        terms = _one_element(arch, level)
        need = sum(size for _, size in terms)
        if level.capacity is None:
            raise ArchitectureError(f"{file}: level.{level.name}.capacity is missing")
        if usable is not None and usable < need:
            half = f", half of which ({usable}) is usable" if level.double_buffered else ""
            what = f"cannot hold one element of {_sum(terms)} = {need} byte{half}"
            raise ArchitectureError(
                problem(file, f"level.{level.name}.capacity", level.capacity, what),
                hint=f"at least {need * (2 if level.double_buffered else 1)}",
            )


def _one_element(arch: Architecture, level: MemoryLevel) -> tuple[tuple[Operand, int], ...]:
    element = 8 if arch.precision is Precision.INT8 else 32
    innermost = [other for other in arch.levels if Operand.O in other.holds][-1]
    widths = ((operand, _bits(operand, level, innermost, element, arch)) for operand in level.holds)
    return tuple((operand, -(-bits // 8)) for operand, bits in widths)


def _bits(
    operand: Operand,
    level: MemoryLevel,
    innermost: MemoryLevel,
    element: int,
    arch: Architecture,
) -> int:
    accumulates = operand is Operand.O and level is innermost
    return max(element, arch.accumulator_bits) if accumulates else element


def _sum(terms: Sequence[tuple[Operand, int]]) -> str:
    return " + ".join(f"{operand} ({size})" for operand, size in terms)


def _known(file: str, key: str, value: str, what: str, names: Iterable[str]) -> None:
    known = tuple(names)
    if value not in known:
        raise ArchitectureError(
            problem(file, key, value, f"no such {what}", known), hint=suggestion(value, known)
        )
