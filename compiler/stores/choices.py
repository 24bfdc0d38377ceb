"""Keep what passes chose, where their results take longer to read than to make.

A key is that of a slow pass, with the tile schedule that it is run on. Who follows a choice makes
the result anew, so that one that is damaged costs time, and is no error.
"""

from dataclasses import dataclass, replace

from ...ir.codec.json_codec import dump_json, parse_json
from ...ir.errors import ParseError
from ...ir.module import Module, Stage
from ...ir.resources import Constants
from ...passes.base import Choice, Choices, Pass, without
from .passes import key_of
from .store import Store, digest_of

_SUFFIX = ".choice.json"
_LATER = frozenset({Stage.TILE_SCHEDULE, Stage.PROGRAM})


@dataclass(frozen=True, slots=True)
class _Kept:
    """A choice as it lies in a file."""

    choice: Choice


@dataclass(frozen=True, slots=True)
class KeptChoices(Choices):
    """Choices in files; see :class:`~..passes.base.Choices`.

    Attributes:
        store: Where they are looked up and kept; ``None``: nowhere.
    """

    store: Store | None

    def find(self, item: Pass, module: Module, seed: int) -> Choice | None:
        """Return what a pass chose for the same module, options and seed; ``None``: not known.

        Args:
            item: The pass.
            module: What it is run on.
            seed: Of everything that is random.
        """
        if self.store is None:
            return None
        key = choice_key(item, module, seed)
        text = self.store.read(key, _SUFFIX)
        try:
            return None if text is None else parse_json(text.decode(), _Kept).choice
        except (ParseError, ValueError) as error:
            self.store.refuse(key, _SUFFIX, error)
            return None

    def keep(self, item: Pass, module: Module, seed: int, choice: Choice) -> None:
        """Keep what a pass chose.

        Args:
            item: The pass.
            module: What it was run on.
            seed: Of everything that is random.
            choice: What it chose.
        """
        if self.store is not None:
            text = dump_json(_Kept(choice))
            self.store.write(choice_key(item, module, seed), _SUFFIX, text.encode())


def choice_key(item: Pass, module: Module, seed: int) -> str:
    """Return the digest of everything that a choice depends on.

    Args:
        item: The pass.
        module: What it is run on.
        seed: Of everything that is random.
    """
    bare = replace(without(module, _LATER), constants=Constants())
    return digest_of(key_of(item, bare, seed), repr(module.tile_schedule))
