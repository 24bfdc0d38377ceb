"""Search several operators, side by side where helpers do; who searches changes nothing found."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ...deadline import NEVER, Deadline
from ...helpers import Helped, Helpers, nobody
from .candidate import SearchOutcome
from .latency import TileTimer
from .options import FlexerOptions
from .search.search import Search
from .site import Site

_WORTH_HELPERS = 4
"""Fewer operators are searched in this process."""


@dataclass(frozen=True)
class _Question:
    """An operator to search, with all that decides what is found.

    Attributes:
        site: The operator.
        options: Of the search.
        mapper: Name of the mapper of single tiles.
        deadline: When no other search begins.
    """

    site: Site
    options: FlexerOptions
    mapper: str
    deadline: Deadline

    def answer(self) -> Helped[SearchOutcome | None] | None:
        """Return what is found, ``None`` where no tiling fits the operator's workspace.

        Tiles that this process has timed before are known.
        """
        if self.deadline.is_over:
            return None
        timer = _timer(self.site.arch, self.mapper)
        try:
            return Helped(Search(self.site, self.options, timer).run())
        except InfeasibleError:
            return Helped(None)


@lru_cache(maxsize=1)
def _timer(arch: Architecture, mapper: str) -> TileTimer:
    """Return what times the tiles of all operators of a network, and remembers them."""
    return TileTimer(arch, mapper)


def search_all(
    sites: Sequence[Site],
    options: FlexerOptions,
    mapper: str,
    helpers: Helpers = nobody,
    deadline: Deadline = NEVER,
) -> tuple[SearchOutcome | None, ...]:
    """Return what was found for each operator, ``None`` where no tiling fits its workspace.

    Args:
        sites: The operators.
        options: Of the searches.
        mapper: Name of the mapper of single tiles.
        helpers: Search some of them where there are several.
        deadline: When no other search begins: ``None`` for those that have not begun.
    """
    questions = [_Question(site, options, mapper, deadline) for site in sites]
    asked = helpers if len(questions) >= _WORTH_HELPERS else nobody
    answers = (
        found or question.answer()
        for question, found in zip(questions, asked(questions), strict=True)
    )
    return tuple(None if item is None else item.found for item in answers)
