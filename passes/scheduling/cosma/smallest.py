"""The smallest scratchpad that a network can be planned with, and the operator that needs it."""

from collections.abc import Callable

from ....ir.errors import InfeasibleError, Shortage
from .problem import PlanProblem

_LARGEST = 2**40
"""Nothing larger is tried [byte]."""

ProblemWith = Callable[[int], PlanProblem]
"""Returns the problem of a network for a budget [byte]."""


def explained_shortage(
    error: InfeasibleError, resource: str, budget: int, problem_with: ProblemWith
) -> InfeasibleError:
    """Return what is wrong with a budget together with the smallest one that would do.

    More bytes never leave an operator with fewer ways to run, so that bisection finds it.

    Args:
        error: What is known of it.
        resource: Name of the scratchpad.
        budget: What is too little [byte].
        problem_with: The problem for any budget.
    """
    least = budget
    while (lacking := _lacking(problem_with, least)) is not None:
        if least > _LARGEST:
            return error
        least *= 2
    if least == budget:
        return error
    few, name = least // 2, ""
    while few + 1 < least:
        middle = (few + least) // 2
        lacking = _lacking(problem_with, middle)
        few, least = (few, middle) if lacking is None else (middle, least)
        name = name if lacking is None else lacking
    name = name or _lacking(problem_with, few) or ""
    shortage = Shortage(resource=resource, demand=least, capacity=budget)
    return InfeasibleError(
        f"{name} does not fit",
        shortage=shortage,
        hint=f"{least} byte are the least that COSMA can plan with: {name} needs them for one tile",
    )


def _lacking(problem_with: ProblemWith, budget: int) -> str | None:
    """Return the first operator that has no way to run; ``None`` where each has one."""
    try:
        problem_with(budget).restrict_menus()
    except InfeasibleError as error:
        return error.message.split(" ", maxsplit=1)[0]
    return None
