"""Uneven mappings that stand before anything is proven, found by SALSA's compiled search.

Operands that start their tiles at different loops may do with less capacity, or a shorter first
tile, than any even mapping. The integer program then has to beat these, or to prove that it cannot.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ....ir.errors import InfeasibleError, OptionError
from ....ir.mapping import LoopNest, SpatialLoop
from ....ir.workload import Dim
from ..problem import MappingProblem, Objective, Rules
from .even.space import EvenBatch, EvenSpace, prime_factors
from .measures import other_measure
from .merging import merge_loops
from .orders.engine import SearchOptions
from .orders.machine import UnrolledProblem
from .orders.selection import Rounds, search_best, with_smooth_steps
from .orders.spatial import Unrolling, all_unrollings, least_price
from .uneven import improve_unevenly

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


def search_unevenly(space: EvenSpace, like: Sequence[EvenBatch] = ()) -> Uneven | None:
    """Return the best nest on a few unrollings, ``None`` where none fits.

    Args:
        space: What is mapped.
        like: Mappings whose unrollings to take; the most promising ones of all if there are none.
    """
    unrollings = [_unrolling(batch) for batch in like] or _promising(space)
    problems = [_unrolled(space, unrolling, space.extents) for unrolling in unrollings]
    return _best(problems, space)


def padding_may_pay(space: EvenSpace) -> bool:
    """Whether extents are hard to tile, or their factors leave much of the fan-outs idle."""
    factors = (prime for extent in space.extents.values() for prime, _ in prime_factors(extent))
    if max(factors, default=1) > _LARGEST_PRIME:
        return True
    exact, padded = (
        least_price(space.problem, padding=padding, beam=_BEAM) for padding in (False, True)
    )
    return padded < _WORTH * exact


def search_padded(space: EvenSpace) -> Uneven | None:
    """Return the best nest on a few unrollings that need not divide the extents.

    Steps with large prime factors are tried with these padded away, too.
    """
    unrollings = all_unrollings(space.problem, padding=True, beam=_WIDE_BEAM)
    problems: list[UnrolledProblem] = []
    for unrolling in unrollings:
        problem = _unrolled(space, unrolling)
        problems += [problem, *with_smooth_steps(problem)]
    return _best(problems, space, _MORE_ROUNDS)


def _unrolled(
    space: EvenSpace, unrolling: Unrolling, extents: Mapping[Dim, int] | None = None
) -> UnrolledProblem:
    problem = replace(space.problem, even=False, rules=Rules.ACCNN)
    return UnrolledProblem(problem=problem, spatial=unrolling, extents=extents)


def _best(
    problems: Sequence[UnrolledProblem], space: EvenSpace, rounds: Rounds = _ROUNDS
) -> Uneven | None:
    try:
        found = search_best(problems, rounds, replace(_SEARCH, seed=space.problem.seed))
    except (InfeasibleError, OptionError):
        return None
    return improved(merge_loops(found.nest), space.problem)


def improved(nest: LoopNest, problem: MappingProblem) -> Uneven:
    """Return a nest after local search over loops and starts of tiles."""
    better = improve_unevenly(nest, problem, problem.objective.of)
    return Uneven(better, problem.value(better))


def saving(best: Uneven, problem: MappingProblem) -> Uneven:
    """Return a nest that is as good and costs less of what is not minimised."""
    if problem.objective is Objective.EDP:
        return best
    measure = other_measure(problem.objective, best.value * (1.0 + _TIE))
    saved = improve_unevenly(best.nest, problem, measure)
    return Uneven(saved, problem.value(saved))


def _promising(space: EvenSpace) -> Iterable[Unrolling]:
    padded = space.workload.resized(space.extents)
    return all_unrollings(replace(space.problem, workload=padded), beam=_BEAM)


def _unrolling(batch: EvenBatch) -> Unrolling:
    pairs = zip(batch.space.unrollable, batch.spatial[0], strict=True)
    return tuple(
        SpatialLoop(dim, int(extent), fanout) for (fanout, dim), extent in pairs if extent > 1
    )
