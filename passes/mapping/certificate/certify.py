"""The best mapping of one space, with its certificate.

A searched nest stands first (an even one where only even ones are wanted). Then the program of
:mod:`.formulation` is asked for an even mapping that is better by the gap: if there is none, that
is the proof; if there is, what is best near it takes its place. Where the cost model does not
confirm what the program promises, the program is asked again, for less.
"""

import logging
import math
from dataclasses import dataclass

from ....ir.mapping import LoopNest
from ...mip.model import MipLimits, MipStatus, Solver
from ..problem import MappingProblem, Objective
from ..search.even.evening import evened
from ..search.even.incumbent import (
    Incumbent,
    break_ties,
    draw_incumbent,
    polish_exactly,
    polish_fully,
)
from ..search.even.space import EvenSpace
from ..search.first_nests import Uneven, improved, saving, search_unevenly
from .formulation import Formulation
from .unrolling import least_steps

_LOG = logging.getLogger(__name__)

_FEW_FACTORS = 12
"""Spaces of so few prime factors are solved to a tenth of the gap; that costs nothing."""

_PROVEN = (MipStatus.OPTIMAL, MipStatus.INFEASIBLE, MipStatus.CUT_OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofEffort:
    """How hard to try.

    Attributes:
        gap: Relative difference of the objective that is not worth a search.
        rounds: How often the program is asked at most; without it, mappings are as searched, and
            the bound is that of simple counts.
        nodes: Branch-and-bound nodes per solve.
        seconds: Wall-clock safety net per solve [s].
        solver: Which solver.
    """

    gap: float = 0.004
    rounds: int = 4
    nodes: int = 5_000
    seconds: float = 60.0
    solver: Solver = Solver.HIGHS


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOptimum:
    """The best mapping of one space.

    Attributes:
        nest: The mapping; ``None`` where none was found.
        value: Its objective in the cost model; infinite where there is none.
        bound: What no even mapping of the space can beat, proven.
        proven: Whether the gap was closed.
    """

    nest: LoopNest | None
    value: float
    bound: float
    proven: bool


def solve_space(space: EvenSpace, effort: ProofEffort, cutoff: float = math.inf) -> SpaceOptimum:
    """Return the best mapping of one space, and a bound of all even ones.

    Args:
        space: What is mapped.
        effort: Gaps and limits.
        cutoff: Mappings that are not better than this value of the objective are of no use.
    """
    factors = sum(many for _, _, many in space.primes)
    gap = effort.gap / 10.0 if factors <= _FEW_FACTORS else effort.gap
    bound = plain_bound(space)
    if bound >= cutoff * (1.0 - gap):
        return SpaceOptimum(nest=None, value=math.inf, bound=bound, proven=True)
    best = _first(space)
    asked: Formulation | None = None
    proven = False
    for _ in range(effort.rounds):
        value = math.inf if best is None else best.value
        below = min(cutoff, value) * (1.0 - gap)
        if below <= bound:
            proven = True
            break
        if bound <= 0.0:
            break  # what costs nothing is no unit to measure a program's objective in
        if asked is None:
            asked = Formulation(space, below, effort.solver)
        else:
            asked.limit(below)
        result = asked.model.solve(_limits(effort, gap, space.problem.seed))
        _LOG.debug("%s below %g: %s", space.workload, below, result.status)
        bound = max(bound, min(below, asked.proven_by(result)))
        proven = result.status in _PROVEN
        if not result.values:
            break
        found = _near(polish_fully(asked.variables.decode(result.values)))
        if found.value < value:
            best = found
        if best is not None and best.value <= bound * (1.0 + gap):
            break
        if not asked.sharpen(result) and found.value >= value:
            break
    if best is None:
        return SpaceOptimum(nest=None, value=math.inf, bound=bound, proven=proven)
    last = _finished(best, space.problem)
    return SpaceOptimum(nest=last.nest, value=last.value, bound=bound, proven=proven)


def _first(space: EvenSpace) -> Incumbent | Uneven | None:
    """Return a good mapping before anything is proven."""
    uneven = None if space.problem.even else search_unevenly(space)
    if uneven is None:
        return draw_incumbent(space)
    near = _near(polish_exactly(evened(uneven.nest, space)))
    return near if near.value < uneven.value else uneven


def _near(even: Incumbent) -> Incumbent | Uneven:
    """Return the better of an even mapping and of what is found on its unrolling."""
    space = even.batch.space
    uneven = None if space.problem.even else search_unevenly(space, (even.batch,))
    return even if uneven is None or even.value <= uneven.value else uneven


def _finished(best: Incumbent | Uneven, problem: MappingProblem) -> Uneven:
    """Return a nest that is at least as good and, if no better, cheap in what is not minimised."""
    if isinstance(best, Uneven):
        return saving(best, problem)
    tied = break_ties(best)
    nest = tied.batch.nest(0)
    return Uneven(nest, tied.value) if problem.even else improved(nest, problem)


def _limits(effort: ProofEffort, gap: float, seed: int) -> MipLimits:
    return MipLimits(
        gap_abs=gap,
        gap_rel=gap,
        nodes=effort.nodes,
        seconds=effort.seconds,
        seed=seed,
        restarts=False,
        diving=False,
        trials=1,
    )


def plain_bound(space: EvenSpace) -> float:
    """Return what no mapping of a space can beat, by simple counts."""
    problem = space.problem
    if problem.objective is Objective.ENERGY:
        return problem.energy_bound
    cycles = max(problem.cycles_bound, least_steps(problem, space.extents))
    return cycles if problem.objective is Objective.LATENCY else cycles * problem.energy_bound
