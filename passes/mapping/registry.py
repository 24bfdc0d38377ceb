"""The mappers that a user may name: those of accnn, and those of other packages."""

from collections.abc import Mapping

from ...ir.errors import OptionError
from ...ir.plugins import PluginGroup, Plugins, plugins
from ...ir.suggest import suggest
from .mapper import Mapper
from .recipes.cosa import Cosa
from .recipes.cosa_paper import CosaPaper
from .recipes.drawn import Exhaustive, RandomBest, RandomPruned
from .recipes.output_stationary import OutputStationary
from .recipes.salsa import Salsa, loma
from .recipes.timeloop_hybrid import TimeloopHybrid

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
        TimeloopHybrid(),
        Exhaustive(),
    )
}


def find_mapper(name: str) -> Mapper:
    """Return a mapper by name, of accnn or of another package.

    Raises:
        OptionError: There is none, and the hint lists those that exist; or it is one of another
            package that cannot be used.
    """
    if name in MAPPERS:
        return MAPPERS[name]
    others = plugin_mappers()
    found = others.find(name)
    if found is None:
        known = (*MAPPERS, *others.usable)
        raise OptionError(f"no mapper named {name!r}", hint=suggest(name, known))
    return found


def plugin_mappers() -> Plugins[Mapper]:
    """Return the mappers that other packages add."""
    return plugins(PluginGroup.MAPPERS, _check_mapper, taken=MAPPERS)


def _check_mapper(name: str, loaded: object) -> Mapper:
    if not isinstance(loaded, Mapper):
        raise TypeError(f"{loaded!r} is no instance of accnn.passes.mapping.mapper.Mapper")
    if loaded.name != name:
        raise ValueError(f"its name is {loaded.name!r}")
    return loaded
