"""One order of loops and the best allocation of its tiles."""

from collections.abc import Sequence

import numpy as np

from .....ir.errors import InfeasibleError
from .....ir.mapping import Loop, LoopNest
from .kernel import records
from .kernel.engines import evaluate
from .kernel.records import Ints
from .machine import UnrolledProblem
from .orders import OrderSpace


def allocate(problem: UnrolledProblem, order: Sequence[Loop]) -> tuple[LoopNest, float]:
    """Return the nest of an order with the best allocation, and its value.

    Raises:
        InfeasibleError: No allocation of this order fits.
    """
    space = OrderSpace.of(problem, order)
    return allocate_in(space, space.indices_of(order))


def allocate_in(space: OrderSpace, order: Ints) -> tuple[LoopNest, float]:
    """Return the same for an order of a space, given as indices.

    Raises:
        InfeasibleError: No allocation of this order fits.
    """
    problem = space.problem
    value, starts = evaluate(problem.machine, space.loops, order, *space.scratch)
    if np.isinf(value):
        raise InfeasibleError(f"no allocation of this order of {problem.workload} fits")
    nest = problem.nest(space.loops_in(order), starts.tolist())
    if problem.machine.objective == records.LATENCY:
        # Latency is searched with a small share of the energy, so that ties are no plateaus.
        value = problem.problem.value(nest)
    return nest, value
