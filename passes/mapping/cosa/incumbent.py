"""Mappings that are good before anything is proven: drawn, polished, tied.

The integer program only has to beat them, or to prove that it cannot: most of its branches need
not be looked at.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base import MapOptions, Objective
from ..even import EvenBatch, EvenSpace, joined
from ..local_search import polish
from ..measures import measure_of, other_measure, smooth_measure
from ..sampling import draw_filling

_DRAWS = 2000
_STARTS = 4
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Incumbent:
    """A mapping, and its objective in the cost model."""

    batch: EvenBatch
    value: float


def draw_incumbent(space: EvenSpace, options: MapOptions) -> Incumbent | None:
    """Return the best of a few polished draws, ``None`` where none fits.

    Args:
        space: What is mapped.
        options: Objective and seed.
    """
    found = polish_fully(_promising_draws(space, options), options)
    return None if math.isinf(found.value) else found


def _promising_draws(space: EvenSpace, options: MapOptions) -> EvenBatch:
    """Return the best draws, each unrolled in its own way."""
    drawn = draw_filling(space, _DRAWS, np.random.default_rng(options.seed))
    cost = drawn.cost()
    rated = smooth_measure(options.objective)(cost)
    worst = float(rated.max())
    order = np.argsort(np.where(cost.fits, rated, worst * (1.0 + cost.overflow)), kind="stable")
    unrolled: dict[bytes, int] = {}
    for row in order:
        unrolled.setdefault(drawn.spatial[row].tobytes(), int(row))
    return drawn.take(list(unrolled.values())[:_STARTS])


def polish_fully(starts: EvenBatch, options: MapOptions) -> Incumbent:
    """Return the best local optimum of a few mappings.

    A smooth objective, in which every port counts, is descended first, then the exact one; and the
    exact one alone.
    """
    smooth = polish(starts, smooth_measure(options.objective))
    return polish_exactly(joined([starts, smooth.batch]), options)


def polish_exactly(starts: EvenBatch, options: MapOptions) -> Incumbent:
    """Return the best local optimum of a few mappings, descending the exact objective."""
    found = polish(starts, measure_of(options.objective))
    return Incumbent(found.batch.take([found.best]), float(found.values[found.best]))


def break_ties(best: Incumbent, options: MapOptions) -> Incumbent:
    """Return a mapping that is as good and costs less of what is not minimised.

    That is energy where latency is minimised, and latency where energy is.
    """
    if options.objective is Objective.EDP:
        return best
    limit = best.value * (1.0 + _TIE)
    saved = polish(best.batch, other_measure(options.objective, limit))
    return Incumbent(saved.batch, _value(saved.batch, options.objective))


def _value(batch: EvenBatch, objective: Objective) -> float:
    values: NDArray[np.float64] = measure_of(objective)(batch.cost())
    return float(values[0])
