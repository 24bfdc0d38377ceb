"""Energies of an architecture whose capacities differ from those of its base file.

The base file's figures are kept where nothing changes; where a capacity does, the energies of
that memory change by the same factor as the fitted laws, one of reads and one of writes. So a file
that was calibrated to a published table remains so.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from ....ir.arch import Architecture, MemoryLevel
from .curves import MemoryLaw, energy_ratio, memory_laws


def with_scaled_energies(
    arch: Architecture, base: Architecture, given: Collection[str] = ()
) -> Architecture:
    """Return an architecture whose memories cost what their capacity makes them.

    Args:
        arch: The machine.
        base: The one that it was derived from.
        given: Keys that the study sets itself, such as ``gb.read_energy``; they are left alone.
    """
    capacities = {level.name: level.capacity for level in base.levels}
    levels = tuple(_scaled(level, capacities, given) for level in arch.levels)
    return replace(arch, levels=levels)


def _scaled(
    level: MemoryLevel, capacities: Mapping[str, int | None], given: Collection[str]
) -> MemoryLevel:
    before, capacity = capacities.get(level.name), level.capacity
    if before is None or capacity is None or before == capacity:
        return level
    laws = memory_laws()

    def scaled(key: str, energy: float, law: MemoryLaw) -> float:
        if f"{level.name}.{key}" in given:
            return energy
        return energy * energy_ratio(law, capacity, before)

    return replace(
        level,
        read_energy=scaled("read_energy", level.read_energy, laws.read_pj),
        write_energy=scaled("write_energy", level.write_energy, laws.write_pj),
    )
