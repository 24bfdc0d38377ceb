"""Points in batches: all of a grid at once, some at random, or what the Bayesian search proposes.

A batch depends on the study and on what came of earlier batches, and on nothing else: neither on
the number of workers nor on when the study was interrupted.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from ....ir.errors import OptionError
from ..study.read import Study
from ..study.schema import Method, SearchTable

Places: TypeAlias = tuple[tuple[int, ...], ...]
"""Points by where they lie on each axis."""

Values: TypeAlias = Mapping[int, float | None]
"""What is minimised, by number of a point; ``None`` where a point has no value."""

LARGEST_GRID = 1_000_000


def batches(study: Study, values: Callable[[], Values]) -> Iterator[tuple[int, Places]]:
    """Yield batches with the number of their first point.

    Args:
        study: The study.
        values: Called for what came of earlier points, when the next batch depends on it.

    Raises:
        OptionError: The grid is too large, or what is needed is not installed.
    """
    search = study.tables.search
    match search.method:
        case Method.GRID:
            yield 0, _grid(study, search)
        case Method.RANDOM:
            yield 0, _random(study, search)
        case Method.BAYESIAN:
            yield from _proposed(study, search, values)


def _grid(study: Study, search: SearchTable) -> Places:
    space = study.space
    if search.points is None and space.size > LARGEST_GRID:
        raise OptionError(
            f"{study.path.name}: the grid has {space.size} points", hint="set search.points"
        )
    return tuple(map(space.indices, range(min(space.size, search.points or space.size))))


def _random(study: Study, search: SearchTable) -> Places:
    size = study.space.size
    count = min(size, _points(study, search))
    chosen = random.Random(search.seed).sample(range(size), count)
    return tuple(map(study.space.indices, chosen))


def _points(study: Study, search: SearchTable) -> int:
    if search.points is None:
        raise OptionError(
            f"{study.path.name}: search.points is missing",
            hint=f"a {search.method} search needs to know how many points to look at",
        )
    return search.points


def _proposed(
    study: Study, search: SearchTable, values: Callable[[], Values]
) -> Iterator[tuple[int, Places]]:
    from .bayesian import propose

    count = _points(study, search)
    seen: list[tuple[int, ...]] = []
    while len(seen) < count:
        known = values()
        history = [(place, known.get(number)) for number, place in enumerate(seen)]
        wanted = min(search.batch, count - len(seen))
        places = propose(study.space, history, wanted, search.seed)
        yield len(seen), places
        seen += places
