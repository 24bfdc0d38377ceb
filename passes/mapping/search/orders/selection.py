"""Which unrolling to search in full: all are searched in short, the most promising ones longer."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .....ir.errors import InfeasibleError
from .....ir.mapping import Loop
from .....ir.workload import DIMS, Dim
from ..even.space import prime_factors
from .engine import BestOrder, OrderEngine, SearchOptions, search
from .machine import UnrolledProblem

_LARGEST_PRIME = 7
_MOST_PADDING = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How much work goes into the choice of an unrolling.

    Attributes:
        tried: Unrollings that are searched in short.
        descents: Descents of each of these.
        semifinalists: The best of these, searched longer.
        longer: Descents of each of these.
        finalists: The best of these, searched in full.
    """

    tried: int = 256
    descents: int = 3
    semifinalists: int = 20
    longer: int = 12
    finalists: int = 3


def search_best(
    problems: Iterable[UnrolledProblem], rounds: Rounds, whole: SearchOptions
) -> BestOrder:
    """Search all problems in short and the best of them in full.

    Args:
        problems: Unrollings of one workload, the most promising first; at least one. The very
            first that fits is searched in full in any case.
        rounds: How many are searched how long.
        whole: Settings of the full search.

    Returns:
        The best of all; its evaluations are those of all searches.

    Raises:
        InfeasibleError: None has a nest; the cause is what nothing unrolled lacks.
    """
    field = [_Entrant(problem) for problem in _fitting(problems, rounds.tried)]
    seeded, evaluations = field[0].problem, 0
    if len(field) > rounds.semifinalists:
        field, used = _race(field, _brief(whole, rounds.descents))
        evaluations += used
        field = _admitted(field, rounds.semifinalists, seeded)
    if len(field) > rounds.finalists:
        field, used = _race(field, _brief(whole, rounds.longer))
        evaluations += used
        field = _admitted(field, rounds.finalists, seeded)
    final, used = _race(field, whole)
    if not final or final[0].found is None:
        raise InfeasibleError("no order of loops fits on any unrolling")
    return replace(final[0].found, evaluations=evaluations + used)


def with_smooth_steps(problem: UnrolledProblem) -> Iterator[UnrolledProblem]:
    """Yield the problem with large prime factors of steps padded away, where that costs little."""
    padded: dict[Dim, int] = {}
    for dim in DIMS:
        steps = problem.temporal[dim]
        if any(prime > _LARGEST_PRIME for prime, _ in prime_factors(steps)):
            padded[dim] = _next_smooth(steps)
    if not padded:
        return
    unrolled = problem.unrolled([fanout.name for fanout in problem.arch.fanouts])
    extents = {dim: padded.get(dim, problem.temporal[dim]) * unrolled[dim] for dim in DIMS}
    more = math.prod(steps / problem.temporal[dim] for dim, steps in padded.items())
    if more <= _MOST_PADDING:
        yield replace(problem, extents=extents)


def _next_smooth(steps: int) -> int:
    """Return the next number without large prime factors."""
    while any(prime > _LARGEST_PRIME for prime, _ in prime_factors(steps)):
        steps += 1
    return steps


def _fitting(problems: Iterable[UnrolledProblem], most: int) -> list[UnrolledProblem]:
    """Return the first problems that can fit; one without unrolled loops where none can.

    Raises:
        InfeasibleError: Even this does not fit.
    """
    found: list[UnrolledProblem] = []
    any_one: UnrolledProblem | None = None
    for problem in problems:
        any_one = problem
        if problem.shortage() is None:
            found.append(problem)
        if len(found) == most:
            break
    if not found:
        assert any_one is not None
        found = [replace(any_one, spatial=(), extents=None)]
        found[0].check()
    return found


def _brief(whole: SearchOptions, descents: int) -> SearchOptions:
    return replace(whole, engine=OrderEngine.ANNEALING, restarts=0, descents=descents)


@dataclass(frozen=True, slots=True)
class _Entrant:
    """An unrolling and the best order found for it so far."""

    problem: UnrolledProblem
    found: BestOrder | None = None

    @property
    def value(self) -> float:
        return math.inf if self.found is None else self.found.value


def _race(field: Sequence[_Entrant], settings: SearchOptions) -> tuple[list[_Entrant], int]:
    """Return the unrollings for which something is found, the best first, and the evaluations.

    A search also descends from the best order of its own unrolling and from the best of all so
    far: what is good on one unrolling is rarely bad on the next.
    """
    evaluations = 0
    leader = min(field, key=lambda entrant: entrant.value, default=None)
    results: list[_Entrant] = []
    for entrant in field:
        assert leader is not None
        models = [one.found.nest.temporal for one in (entrant, leader) if one.found is not None]
        after, used = _searched(entrant, settings, list(dict.fromkeys(models)))
        results.append(after)
        evaluations += used
        if after.value < leader.value:
            leader = after
    return sorted((one for one in results if one.found), key=lambda one: one.value), evaluations


def _admitted(ranked: Sequence[_Entrant], most: int, seeded: UnrolledProblem) -> list[_Entrant]:
    """Return the best entrants, and the seeded one in any case."""
    return [one for at, one in enumerate(ranked) if at < most or one.problem is seeded]


def _searched(
    entrant: _Entrant, settings: SearchOptions, models: Sequence[Sequence[Loop]]
) -> tuple[_Entrant, int]:
    """Return the entrant after a search, never worse than before, and the evaluations."""
    try:
        found = search(entrant.problem, settings, models)
    except InfeasibleError:
        return entrant, 0
    better = replace(entrant, found=found) if found.value < entrant.value else entrant
    return better, found.evaluations
