"""Keep what passes chose, where their results take longer to read than to make.

A key is that of a slow pass, with the tile schedule that it is run on. Who follows a choice makes
the result anew, so that one that is damaged costs time, and is no error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...ir.codec.json_codec import dump_json, parse_json
from ...ir.errors import ParseError
from ...ir.module import Module, Stage
from ...ir.resources import Constants
from ...passes.base import Choice, Pass, T, without
from .passes import key_of
from .store import Store, digest_of

_SUFFIX = ".choice.json"
_LATER = frozenset({Stage.TILE_SCHEDULE, Stage.PROGRAM})


@dataclass(frozen=True, slots=True)
class _Kept:
    """A choice as it lies in a file."""

    choice: Choice


@dataclass(frozen=True, slots=True)
class ChoiceMemory:
    """Lets passes choose; see :class:`~..passes.base.Chooser`.

    Attributes:
        store: Where choices are looked up and kept; ``None`` searches anew.
    """

    store: Store | None

    def __call__(
        self,
        item: Pass,
        module: Module,
        seed: int,
        follow: Callable[[Choice], T | None],
        search: Callable[[], tuple[Choice, T]],
    ) -> T:
        """Return what the pass makes, by the choice that is kept or by a search."""
        if self.store is None:
            return search()[1]
        key = choice_key(item, module, seed)
        known = _recalled(self.store, key)
        made = None if known is None else follow(known)
        if made is None:
            choice, made = search()
            self.store.write(key, _SUFFIX, dump_json(_Kept(choice)).encode())
        return made


def _recalled(store: Store, key: str) -> Choice | None:
    text = store.read(key, _SUFFIX)
    try:
        return None if text is None else parse_json(text.decode(), _Kept).choice
    except (ParseError, ValueError) as error:
        store.refuse(key, _SUFFIX, error)
        return None


def choice_key(item: Pass, module: Module, seed: int) -> str:
    """Return the digest of everything that a choice depends on.

    Args:
        item: The pass.
        module: What it is run on.
        seed: Of everything that is random.
    """
    bare = replace(without(module, _LATER), constants=Constants())
    return digest_of(key_of(item, bare, seed), repr(module.tile_schedule))
