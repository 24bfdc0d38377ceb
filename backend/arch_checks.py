"""What must hold between the tables of an architecture file, beyond each table by itself."""

from collections.abc import Iterable, Sequence

from ..ir.arch import Architecture, MemoryLevel, Precision
from ..ir.errors import ArchitectureError
from ..ir.workload import Operand
from .arch_errors import problem, suggestion
from .arch_schema import ArchTable


def check_names(file: str, table: ArchTable) -> None:
    """Check that every level and fan-out that is referred to exists.

    Raises:
        ArchitectureError: Names file, key, value and the names that exist.
    """
    levels = [level.name for level in table.level]
    fanouts = [fanout.name for fanout in table.fanout]
    _known(file, "scratchpad", table.scratchpad, "memory level", levels)
    for fanout in table.fanout:
        _known(file, f"fanout.{fanout.name}.below", fanout.below, "memory level", levels)
    for index, group in enumerate(table.group):
        for name in group.fanouts:
            _known(file, f"group[{index}].fanouts", name, "fan-out", fanouts)
    for npu in table.npu or ():
        for name in npu.sizes:
            _known(file, f"npu.{npu.name}.sizes", name, "fan-out", fanouts)
    if table.npus is not None and table.npu is not None:
        raise ArchitectureError(
            f"{file}: npus and npu exclude each other",
            hint="[npus] count = 4 for equal NPUs, or one [[npu]] table for each",
        )


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
