"""Measures beside the plain objective that searches minimise, over arrays of mappings."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...analysis.batches.batch import BatchCost
from ..problem import Objective

Floats = NDArray[np.float64]


def smooth_measure(objective: Objective) -> Callable[[BatchCost], Floats]:
    """Return an objective in which every port counts a little, for a search to descend along."""

    def cycles(cost: BatchCost) -> Floats:
        return cost.load_cycles + cost.fill_cycles + cost.drain_cycles

    match objective:
        case Objective.LATENCY | Objective.NETWORK:
            return cycles
        case Objective.ENERGY:
            return lambda cost: cost.energy_pj
        case Objective.EDP:
            return lambda cost: cost.energy_pj * cycles(cost)


def other_measure(objective: Objective, limit: float) -> Callable[[BatchCost], Floats]:
    """Return what to save once the objective is as small as ``limit``: energy, or latency."""

    def measure(cost: BatchCost) -> Floats:
        first = objective.of(cost)
        second = cost.cycles if objective is Objective.ENERGY else cost.energy_pj
        return np.where(first <= limit, second, 1e30 * first)

    return measure
