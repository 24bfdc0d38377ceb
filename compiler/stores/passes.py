"""Recall what slow passes made of the same module before.

A key is the digest of the pass with its options, the text of the stages that it may read, the seed,
and the version of the code of all passes. Constants are withheld from such a pass, so that their
data cannot matter. What is recalled is verified as if it were new.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from ...ir.codec.column_codec import dump_columns, parse_columns
from ...ir.errors import AccnnError, ParseError
from ...ir.graph_schedule import GraphSchedule
from ...ir.module import Mapping, Module, Stage
from ...ir.plugins import plugin_packages
from ...ir.resources import Constants
from ...ir.text.parser import parse_module
from ...ir.text.printer import print_module
from ...ir.tiles.schedule import TileSchedule
from ...passes.base import CUT_SHORT, SECONDS_OF, STOOD_IN, Context, Counters, Pass, without
from ...passes.pipeline import print_pass
from .store import Store, code_version, digest_of, package_version

_DECIDING = ("ir", "passes")
_PACKAGES = ("accnn", "mip", "highspy", "numpy", "numba")
_SUFFIX = ".pass"
_KEPT = frozenset({Stage.GRAPH, Stage.GRAPH_SCHEDULE, Stage.MAPPINGS, Stage.TILE_SCHEDULE})
"""Stages that can be recalled."""

Counted: TypeAlias = tuple[tuple[str, int | float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a pass made.

    Attributes:
        counters: What it counted.
        graph: Text of the network; empty where it is the one that the pass was given.
        graph_schedule: The plan.
        mappings: The nests.
        tile_schedule: The tiles.
    """

    counters: Counted = ()
    graph: str = ""
    graph_schedule: GraphSchedule | None = None
    mappings: tuple[Mapping, ...] = ()
    tile_schedule: TileSchedule | None = None


@dataclass(frozen=True, slots=True)
class PassMemory:
    """Runs passes; see :class:`~..passes.base.PassRunner`.

    Attributes:
        store: Where results are looked up and kept; ``None`` runs everything anew.
    """

    store: Store | None

    def __call__(self, item: Pass, module: Module, ctx: Context) -> Module:
        """Return the module after the pass."""
        if self.store is None or not item.is_slow or not item.gives <= _KEPT:
            return item.run(module, ctx)
        made_anew = item.gives - item.needs | item.drops()
        bare = replace(without(module, made_anew), constants=Constants())
        key = key_of(item, bare, ctx.seed)
        made = self._recalled(self.store, key, item, bare)
        if made is None:
            made = _made(bare, item.run(bare, ctx), item, ctx.counters)
            if not {CUT_SHORT, STOOD_IN} & set(dict(made.counters)):  # another run does better
                self.store.write(key, _SUFFIX, dump_columns(made))
        else:
            for name, value in made.counters:
                ctx.counters.add(name, value)
        stages = _stages(module, made, item)
        if all(getattr(module, name) == stage for name, stage in stages.items()):
            return module
        return replace(module, **stages)

    def _recalled(self, store: Store, key: str, item: Pass, bare: Module) -> Made | None:
        """Return what is known to come of a module, if it can be read and stands the check."""
        kept = store.read(key, _SUFFIX)
        if kept is None:
            return None
        try:
            made = parse_columns(kept, Made)
            item.check(replace(bare, **_stages(bare, made, item)))
        except (AccnnError, ParseError, ValueError) as error:
            store.refuse(key, _SUFFIX, error)
            return None
        return made


def key_of(item: Pass, bare: Module, seed: int) -> str:
    """Return the digest of everything that the result of a pass depends on.

    Args:
        item: The pass.
        bare: The stages that it may read.
        seed: Of everything that is random.
    """
    others = map(package_version, sorted(plugin_packages()))
    version, tiles = code_version(_DECIDING, _PACKAGES), bare.tile_schedule
    if tiles is not None:  # columns take less time than text
        bare, version = replace(bare, tile_schedule=None), version + dump_columns(tiles).hex()
    return digest_of(print_pass(item), print_module(bare), str(seed), version, *others)


def _made(before: Module, after: Module, item: Pass, counters: Counters) -> Made:
    counted = tuple(item for item in counters.values if not item[0].startswith(SECONDS_OF))
    given = {stage.value: getattr(after, stage.value) for stage in item.gives}
    if Stage.GRAPH in item.gives:
        is_same = after.graph == before.graph
        given[Stage.GRAPH.value] = "" if is_same else print_module(Module(graph=after.graph))
    return replace(Made(counters=counted), **given)


def _stages(before: Module, made: Made, item: Pass) -> dict[str, object]:
    found = {stage.value: getattr(made, stage.value) for stage in item.gives}
    if Stage.GRAPH in item.gives:
        found[Stage.GRAPH.value] = parse_module(made.graph).graph if made.graph else before.graph
    return found
