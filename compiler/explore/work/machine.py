"""The architecture of a point."""

from dataclasses import dataclass

from ....backend.arch_tables import Table
from ....backend.load import build_architecture
from ....ir.arch import Architecture
from ....ir.errors import InputError
from ..study.parameters import BASE, Values, settings
from ..study.places import MAPPER, is_place, with_value
from ..study.read import Study
from ..study.schema import EnergyRule
from ..technology.area import area_mm2, sram_bytes
from ..technology.energy import with_scaled_energies


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMachine:
    """What a point stands for.

    Attributes:
        values: All that it sets, formulas worked out.
        arch: The architecture; ``None`` where there is none.
        mapper: Who maps layers.
        area_mm2: Area of memories and MACs [mm2].
        sram: Bytes of all memories on chip [byte].
        cause: Why it is not looked at; empty where it is.
    """

    values: Values
    arch: Architecture | None
    mapper: str
    area_mm2: float = 0.0
    sram: int = 0
    cause: str = ""


def machine_of(study: Study, point: Values) -> PointMachine:
    """Return the architecture of a point, or why there is none."""
    chosen = dict(point)
    mapper = str(chosen.get(MAPPER, study.tables.mapping.mapper))
    number = study.space.bases.index(str(chosen.get(BASE, study.space.bases[0])))
    base = study.bases[number]
    values = point
    try:
        values = settings(study.space, point, base)
        arch = _architecture(study, base, study.space.bases[number], values)
    except InputError as error:
        return PointMachine(values=values, arch=None, mapper=mapper, cause=error.message)
    area, sram = area_mm2(arch, study.tables.technology.node_nm), sram_bytes(arch)
    return PointMachine(
        values=values,
        arch=arch,
        mapper=mapper,
        area_mm2=area,
        sram=sram,
        cause=_excess(study, area, sram),
    )


def _architecture(study: Study, base: Table, file: str, values: Values) -> Architecture:
    tables = base
    for key, value in values:
        if is_place(base, key):
            tables = with_value(tables, key, value)
    arch = build_architecture(tables, file=file)
    if study.tables.technology.energy is EnergyRule.FIXED:
        return arch
    before = build_architecture(base, file=file)
    return with_scaled_energies(arch, before, {key for key, _ in values})


def _excess(study: Study, area: float, sram: int) -> str:
    limit, most = study.tables.constraints.area_mm2, study.sram
    if limit is not None and area > limit:
        return f"area is {area:.3f} mm2, at most {limit:g} are allowed"
    if most is not None and sram > most:
        return f"memories on chip are {sram} byte, at most {most} are allowed"
    return ""
