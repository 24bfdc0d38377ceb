"""The mappers that a user may name."""

from collections.abc import Mapping

from ...ir.errors import OptionError
from .base import Mapper
from .cosa.mapper import Cosa
from .cosa.paper_mapper import CosaPaper
from .output_stationary import OutputStationary
from .salsa.mapper import Salsa, loma
from .search import Exhaustive, RandomBest, RandomPruned

MAPPERS: Mapping[str, Mapper] = {
    mapper.name: mapper
    for mapper in (
        Cosa(),
        CosaPaper(),
        Salsa(),
        loma(),
        OutputStationary(),
        RandomBest(),
        RandomPruned(),
        Exhaustive(),
    )
}


def find_mapper(name: str) -> Mapper:
    """Return a mapper by name.

    Raises:
        OptionError: There is none; the hint lists those that exist.
    """
    if name not in MAPPERS:
        raise OptionError(f"no mapper named {name!r}", hint=f"known: {', '.join(MAPPERS)}")
    return MAPPERS[name]
