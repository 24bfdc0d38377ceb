"""The reduced integer program: order and residency with the capacity as a sum.

Eqs. (1)-(8) and (12) with eqs. (9)-(11) replaced by their sum: at every step, what resides takes
no more than the budget. That is a relaxation, so its optimum is a lower bound; when the stays
of its plan can be packed, the bound is attained and the plan is optimal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .....ir.graph_schedule import SolveStatus
from ....mip import MipLimits, MipResult, MipStatus, Solver
from ..plan import Plan
from ..problem import PlanProblem
from .formulation import OrderResidency


@dataclass(frozen=True, slots=True, kw_only=True)
class IlpResult:
    """The outcome of an integer program.

    Attributes:
        status: What is proven.
        plan: The plan, ``None`` where the limit came before any.
        cost: Off-chip bytes of the plan [byte].
        bound: Proven lower bound [byte].
        addresses: One per block of the plan where the program decides them, else empty.
        seconds: CPU time [s].
        variables: Columns.
        rows: Rows.
    """

    status: SolveStatus
    plan: Plan | None
    cost: int
    bound: int
    addresses: tuple[int, ...] = ()
    seconds: float = 0.0
    variables: int = 0
    rows: int = 0


def solve_reduced(
    problem: PlanProblem,
    *,
    solver: Solver = Solver.HIGHS,
    limits: MipLimits | None = None,
    order: Sequence[int] | None = None,
    same: bool = False,
    known: Plan | None = None,
) -> IlpResult:
    """Return the optimal order and residency, by integer programming.

    Args:
        problem: The problem; options that do not fit by themselves must have been dropped.
        solver: Who solves it.
        limits: When to stop.
        order: Only this order (eqs. (16)-(17)).
        same: Whether of several optima the one is taken that every solver takes.
        known: A plan that is taken where it proves to be one of the optima.
    """
    limits = limits or MipLimits()
    program = OrderResidency(problem, solver=solver, order=order)
    for step in range(program.steps):
        program.model.add_at_most(program.room(step), program.budget)
    program.fetch_when_read()
    program.model.minimize(program.off_chip())
    result = program.model.solve(limits)
    found = outcome_of(program, result, None)
    if known is not None and found.status is SolveStatus.OPTIMAL and found.cost == known.cost:
        return replace(found, plan=known)
    if same:
        result = program.model.same_optimum(result, limits)
    plan = program.plan(result) if result.values else None
    return outcome_of(program, result, plan)


def solve_peak(problem: PlanProblem) -> tuple[int | None, int]:
    """Return the least peak footprint by eqs. (13)-(15), and its proven bound [byte]."""
    program = OrderResidency(problem, solver=Solver.HIGHS, spilling=False)
    peak = program.model.continuous()  # M_peak
    for step in range(program.steps):
        program.model.add_at_most(program.room(step), peak)  # eq. (14)
    program.model.minimize(peak)  # eq. (15)
    result = program.model.solve(MipLimits())
    attained = round(result.objective) * program.unit if result.values else None
    return attained, bytes_of(program, result)


def outcome_of(
    program: OrderResidency, result: MipResult, plan: Plan | None, addresses: tuple[int, ...] = ()
) -> IlpResult:
    """Return the outcome in our own terms; bounds are rounded up to whole units.

    Args:
        program: What was solved.
        result: What the solver says.
        plan: What that means; ``None`` where there is no solution.
        addresses: Of the residences.
    """
    status = {
        MipStatus.OPTIMAL: SolveStatus.OPTIMAL,
        MipStatus.LIMIT: SolveStatus.FEASIBLE,
        MipStatus.NO_SOLUTION: SolveStatus.LIMIT,
        MipStatus.CUT_OFF: SolveStatus.INFEASIBLE,
        MipStatus.INFEASIBLE: SolveStatus.INFEASIBLE,
    }[result.status]
    cost = round(result.objective) * program.unit if result.values else 0
    bound = cost if status is SolveStatus.OPTIMAL else bytes_of(program, result)
    return IlpResult(
        status=status,
        plan=plan,
        cost=cost,
        bound=bound,
        addresses=addresses,
        seconds=result.cpu_seconds,
        variables=program.model.variables,
        rows=program.model.rows,
    )


def bytes_of(program: OrderResidency, result: MipResult) -> int:
    """Return the proven bound of a solve in bytes, rounded up to a whole unit; 0 without one."""
    if not 0 <= result.bound < float("inf"):
        return 0
    return -int(-(result.bound - 1e-4) // 1) * program.unit
