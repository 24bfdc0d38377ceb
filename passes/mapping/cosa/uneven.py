"""Uneven mappings that stand before anything is proven, found by SALSA's compiled search.

Operands that start their tiles at different loops may do with less room, or a shorter first tile,
than any even mapping. The integer program then has to beat these, or to prove that it cannot.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ....ir.errors import InfeasibleError, OptionError
from ....ir.mapping import LoopNest, SpatialLoop
from ....ir.workload import Dim
from ...analysis.cost import evaluate
from ..base import MapOptions, Objective
from ..even import EvenBatch, EvenSpace, prime_factors
from ..measures import measure_of, other_measure
from ..merging import merge_loops
from ..salsa.engine import SearchOptions
from ..salsa.machine import Problem
from ..salsa.selection import Rounds, search_best, with_smooth_steps
from ..salsa.spatial import Unrolling, all_unrollings, least_price
from ..uneven_search import improve_unevenly

_ROUNDS = Rounds(tried=20, descents=1, semifinalists=6, longer=6, finalists=2)
_SEARCH = SearchOptions(restarts=1, descents=16)
_BEAM = 20
_MORE_ROUNDS = replace(_ROUNDS, tried=256)
_WIDE_BEAM = 150
_TIE = 1e-9
_LARGEST_PRIME = 13
_WORTH = 0.98


@dataclass(frozen=True, slots=True)
class Uneven:
    """A nest that need not be even, and its objective in the cost model."""

    nest: LoopNest
    value: float


def search_unevenly(
    space: EvenSpace, options: MapOptions, like: Sequence[EvenBatch] = ()
) -> Uneven | None:
    """Return the best nest on a few unrollings, ``None`` where none fits.

    Args:
        space: What is mapped.
        options: Objective and seed.
        like: Mappings whose unrollings to take; the most promising ones of all if there are none.
    """
    unrollings = [_unrolling(batch) for batch in like] or _promising(space, options.objective)
    problems = [_problem(space, options, unrolling, space.extents) for unrolling in unrollings]
    return _best(problems, space, options)


def padding_may_pay(space: EvenSpace, objective: Objective) -> bool:
    """Whether extents are hard to tile, or their factors leave much of the fan-outs idle."""
    factors = (prime for extent in space.extents.values() for prime, _ in prime_factors(extent))
    if max(factors, default=1) > _LARGEST_PRIME:
        return True
    exact, padded = (
        least_price(space.workload, space.arch, objective=objective, padding=padding, beam=_BEAM)
        for padding in (False, True)
    )
    return padded < _WORTH * exact


def search_padded(space: EvenSpace, options: MapOptions) -> Uneven | None:
    """Return the best nest on a few unrollings that need not divide the extents.

    Steps with large prime factors are tried with these padded away, too.
    """
    unrollings = all_unrollings(
        space.workload, space.arch, objective=options.objective, padding=True, beam=_WIDE_BEAM
    )
    problems: list[Problem] = []
    for unrolling in unrollings:
        problem = _problem(space, options, unrolling)
        problems += [problem, *with_smooth_steps(problem)]
    return _best(problems, space, options, _MORE_ROUNDS)


def _problem(
    space: EvenSpace,
    options: MapOptions,
    unrolling: Unrolling,
    extents: Mapping[Dim, int] | None = None,
) -> Problem:
    return Problem(
        workload=space.workload,
        arch=space.arch,
        spatial=unrolling,
        extents=extents,
        resident=space.resident,
        objective=options.objective,
    )


def _best(
    problems: Sequence[Problem], space: EvenSpace, options: MapOptions, rounds: Rounds = _ROUNDS
) -> Uneven | None:
    try:
        found = search_best(problems, rounds, replace(_SEARCH, seed=options.seed))
    except (InfeasibleError, OptionError):
        return None
    return improved(merge_loops(found.nest), space, options)


def improved(nest: LoopNest, space: EvenSpace, options: MapOptions) -> Uneven:
    """Return a nest after local search over loops and starts of tiles."""
    measure = measure_of(options.objective)
    better = improve_unevenly(nest, space.arch, measure, placement=space.resident)
    return Uneven(better, _value(better, space, options))


def saving(best: Uneven, space: EvenSpace, options: MapOptions) -> Uneven:
    """Return a nest that is as good and costs less of what is not minimised."""
    if options.objective is Objective.EDP:
        return best
    measure = other_measure(options.objective, best.value * (1.0 + _TIE))
    saved = improve_unevenly(best.nest, space.arch, measure, placement=space.resident)
    return Uneven(saved, _value(saved, space, options))


def _value(nest: LoopNest, space: EvenSpace, options: MapOptions) -> float:
    return options.objective.of(evaluate(nest, space.arch, placement=space.resident))


def _promising(space: EvenSpace, objective: Objective) -> Iterable[Unrolling]:
    padded = space.workload.resized(space.extents)
    return all_unrollings(padded, space.arch, objective=objective, beam=_BEAM)


def _unrolling(batch: EvenBatch) -> Unrolling:
    pairs = zip(batch.space.unrollable, batch.spatial[0], strict=True)
    return tuple(
        SpatialLoop(dim, int(extent), fanout) for (fanout, dim), extent in pairs if extent > 1
    )
