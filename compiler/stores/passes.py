"""Recall what slow passes made of the same module before.

A key is the digest of the pass with its options, the text of the stages that it may read, the seed,
and the version of the code of all passes. Constants are withheld from such a pass, so that their
data cannot matter. What is recalled is verified as if it were new.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from ...ir.codec.json_codec import dump_json, parse_json
from ...ir.errors import AccnnError, ParseError
from ...ir.graph_schedule import GraphSchedule
from ...ir.module import Mapping, Module, Stage
from ...ir.plugins import plugin_packages
from ...ir.resources import Constants
from ...ir.text.printer import print_module
from ...passes.base import CUT_SHORT, SECONDS_OF, STOOD_IN, Context, Counters, Pass, without
from ...passes.pipeline import print_pass
from .store import Store, code_version, digest_of, package_version

_DECIDING = ("ir", "passes")
_PACKAGES = ("accnn", "mip", "highspy", "numpy", "numba")
_SUFFIX = ".pass.json"
_KEPT = frozenset({Stage.GRAPH_SCHEDULE, Stage.MAPPINGS})
"""Stages that can be recalled; others take longer to read than to make."""

Counted: TypeAlias = tuple[tuple[str, int | float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What a pass made."""

    counters: Counted = ()
    graph_schedule: GraphSchedule | None = None
    mappings: tuple[Mapping, ...] = ()


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
        bare = replace(without(module, item.gives | item.drops()), constants=Constants())
        key = key_of(item, bare, ctx.seed)
        made = self._recalled(self.store, key, item, bare)
        if made is None:
            made = _made(item.run(bare, ctx), item, ctx.counters)
            if not {CUT_SHORT, STOOD_IN} & set(dict(made.counters)):  # another run does better
                self.store.write(key, _SUFFIX, dump_json(made).encode())
        else:
            for name, value in made.counters:
                ctx.counters.add(name, value)
        return replace(module, **_stages(made, item))

    def _recalled(self, store: Store, key: str, item: Pass, bare: Module) -> _Made | None:
        """Return what is known to come of a module, if it can be read and stands the check."""
        text = store.read(key, _SUFFIX)
        if text is None:
            return None
        try:
            made = parse_json(text.decode(), _Made)
            item.check(replace(bare, **_stages(made, item)))
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
    version = code_version(_DECIDING, _PACKAGES)
    return digest_of(print_pass(item), print_module(bare), str(seed), version, *others)


def _made(after: Module, item: Pass, counters: Counters) -> _Made:
    counted = tuple(item for item in counters.values if not item[0].startswith(SECONDS_OF))
    made = _Made(counters=counted)
    return replace(made, **{stage.value: getattr(after, stage.value) for stage in item.gives})


def _stages(made: _Made, item: Pass) -> dict[str, object]:
    return {stage.value: getattr(made, stage.value) for stage in item.gives}
