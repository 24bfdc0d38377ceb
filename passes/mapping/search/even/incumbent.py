"""Mappings that are good before anything is proven: drawn, polished, tied.

The integer program only has to beat them, or to prove that it cannot: most of its branches need
not be looked at.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...problem import Objective
from ..measures import other_measure, smooth_measure
from .draws import draw_filling
from .local_search import polish
from .space import EvenBatch, EvenSpace, joined

_DRAWS = 2000
_STARTS = 4
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Incumbent:
    """A mapping, and its objective in the cost model."""

    batch: EvenBatch
    value: float


def draw_incumbent(space: EvenSpace) -> Incumbent | None:
    """Return the best of a few polished draws, ``None`` where none fits."""
    found = polish_fully(_promising_draws(space))
    return None if math.isinf(found.value) else found


def _promising_draws(space: EvenSpace) -> EvenBatch:
    """Return the best draws, each unrolled in its own way."""
    drawn = draw_filling(space, _DRAWS, np.random.default_rng(space.problem.seed))
    cost = drawn.cost()
    rated = smooth_measure(space.problem.objective)(cost)
    worst = float(rated.max())
    order = np.argsort(np.where(cost.fits, rated, worst * (1.0 + cost.overflow)), kind="stable")
    unrolled: dict[bytes, int] = {}
    for row in order:
        unrolled.setdefault(drawn.spatial[row].tobytes(), int(row))
    return drawn.take(list(unrolled.values())[:_STARTS])


def polish_fully(starts: EvenBatch) -> Incumbent:
    """Return the best local optimum of a few mappings.

    A smooth objective, in which every port counts, is descended first, then the exact one; and the
    exact one alone.
    """
    smooth = polish(starts, smooth_measure(starts.space.problem.objective))
    return polish_exactly(joined([starts, smooth.batch]))


def polish_exactly(starts: EvenBatch) -> Incumbent:
    """Return the best local optimum of a few mappings, descending the exact objective."""
    found = polish(starts, starts.space.problem.objective.of)
    return Incumbent(found.batch.take([found.best]), float(found.values[found.best]))


def break_ties(best: Incumbent) -> Incumbent:
    """Return a mapping that is as good and costs less of what is not minimised.

    That is energy where latency is minimised, and latency where energy is.
    """
    objective = best.batch.space.problem.objective
    if objective is Objective.EDP:
        return best
    saved = polish(best.batch, other_measure(objective, best.value * (1.0 + _TIE)))
    values: NDArray[np.float64] = objective.of(saved.batch.cost())
    return Incumbent(saved.batch, float(values[0]))
