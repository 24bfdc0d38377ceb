"""Which unrolling to search in full: all are searched in short, the most promising ones longer."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ....ir.errors import InfeasibleError
from ....ir.workload import DIMS, Dim
from ..base import Objective
from ..even import prime_factors
from .engine import Engine, Found, SearchOptions, search
from .machine import Problem

_LARGEST_PRIME = 7
_MOST_PADDING = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How much work goes into the choice of an unrolling.

    Attributes:
        tried: Unrollings that are searched in short, by their lower bound.
        descents: Descents of each of these.
        semifinalists: The best of these, searched longer.
        longer: Descents of each of these.
        finalists: The best of these, searched in full.
    """

    tried: int = 256
    descents: int = 4
    semifinalists: int = 24
    longer: int = 16
    finalists: int = 4


def search_best(problems: Sequence[Problem], rounds: Rounds, whole: SearchOptions) -> Found:
    """Search all problems in short and the best of them in full.

    Args:
        problems: Unrollings of one workload.
        rounds: How many are searched how long.
        whole: Settings of the full search.

    Raises:
        InfeasibleError: None has a nest; the cause is what nothing unrolled lacks.
    """
    fitting = [problem for problem in problems if problem.shortage() is None]
    if not fitting:
        fitting = [_without_unrolling(problems)]
    ranked = sorted(fitting, key=lower_bound)[: rounds.tried]
    if len(ranked) > rounds.semifinalists:
        ranked = _most_promising(ranked, _brief(whole, rounds.descents))[: rounds.semifinalists]
    if len(ranked) > rounds.finalists:
        ranked = _most_promising(ranked, _brief(whole, rounds.longer))[: rounds.finalists]
    best: Found | None = None
    for problem in ranked:
        if best is None or lower_bound(problem) < best.value:
            found = _try(problem, whole)
            if found is not None and (best is None or found.value < best.value):
                best = found
    if best is None:
        raise InfeasibleError(f"no order of {fitting[0].workload} fits on any unrolling")
    return best


def lower_bound(problem: Problem) -> float:
    """Return what no order on an unrolling can beat: what is the same for all of them."""
    machine = problem.machine
    cycles = max(machine.steps, *machine.port_fixed.tolist())
    match problem.objective:
        case Objective.LATENCY:
            return cycles
        case Objective.ENERGY:
            return machine.fixed
        case Objective.EDP:
            return machine.fixed * cycles


def with_smooth_steps(problem: Problem) -> Iterator[Problem]:
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


def _without_unrolling(problems: Sequence[Problem]) -> Problem:
    """Return a problem of the same workload without unrolled loops.

    Raises:
        InfeasibleError: Even this does not fit.
    """
    found = replace(problems[0], spatial=(), extents=None)
    found.check()
    return found


def _brief(whole: SearchOptions, descents: int) -> SearchOptions:
    return replace(whole, engine=Engine.ANNEALING, restarts=0, descents=descents)


def _most_promising(problems: Sequence[Problem], settings: SearchOptions) -> list[Problem]:
    """Return the problems for which something is found, the best first."""
    values = [
        (found.value, at)
        for at, problem in enumerate(problems)
        if (found := _try(problem, settings)) is not None
    ]
    return [problems[at] for _, at in sorted(values)]


def _try(problem: Problem, settings: SearchOptions) -> Found | None:
    try:
        return search(problem, settings)
    except InfeasibleError:
        return None
