"""The integer program of the paper, eqs. (1)-(12): order, replacement and addresses at once.

Symbols: ``L`` address, ``V`` stays put, ``u`` above, ``d`` below, ``M_B`` the budget. The big
``M`` of eqs. (10) and (11) is the budget: no address difference exceeds it.

Deviation: variables for a pair of tensors exist only at steps where both may reside; a pair of
which one is always dead before the other is made has none. Private tensors (see
``formulation.py``) have addresses at the step of their operator.
"""

from collections.abc import Sequence

from .....ir.errors import OptionError
from ....mip import Linear, MipLimits, MipResult, Solver
from ...engine.blocks import Block, neighbours
from ..plan import Plan
from ..problem import ALL_RESIDENT, PlanProblem
from ..search.bounds import closures
from .formulation import OrderResidency
from .reduced import IlpResult, outcome_of


def solve_literal(
    problem: PlanProblem,
    *,
    solver: Solver = Solver.HIGHS,
    limits: MipLimits | None = None,
    order: Sequence[int] | None = None,
    same: bool = False,
) -> IlpResult:
    """Return the optimum of eqs. (1)-(12), or of (17) where the order is fixed.

    Args:
        problem: What is planned.
        solver: Which solver.
        limits: When to stop.
        order: Of the operators; chosen if ``None``.
        same: Whether of several optima the one is taken that every solver takes.

    Raises:
        OptionError: An operator has a menu, or replaces operands; the paper knows neither.
    """
    if any(op.menu != ALL_RESIDENT or op.replaces for op in problem.operations):
        raise OptionError(
            "the literal formulation has no streaming, and no results in the place of operands",
            hint="use the reduced program or the search",
        )
    program = OrderResidency(problem, solver=solver, order=order)
    layout = _Layout(program)
    program.model.minimize(program.off_chip())
    limits = limits or MipLimits()
    result = program.model.solve(limits)
    if same:
        result = program.model.same_optimum(result, limits)
    if not result.values:
        return outcome_of(program, result, None)
    plan = program.plan(result)
    return outcome_of(program, result, plan, layout.addresses(plan, result))


class _Layout:
    """Eqs. (9)-(11)."""

    def __init__(self, program: OrderResidency) -> None:
        self._program = program
        problem = program.problem
        self._tensors = range(len(problem.tensors))
        self._lives = [program.lifetime(tensor) for tensor in self._tensors]
        self._addresses = {
            (tensor, step): program.model.continuous(0, program.budget - program.size(tensor))
            for tensor in self._tensors
            for step in self._lives[tensor]
        }  # eq. (9)
        self._apart()
        for tensor in program.shared:
            self._stays_put(tensor)

    def addresses(self, plan: Plan, result: MipResult) -> tuple[int, ...]:
        """Return the address of each stay of the plan [byte]: the least that its order allows."""
        found = [result.value(self._addresses[stay.tensor, stay.last]) for stay in plan.stays]
        return _settled(plan.blocks, sorted(range(len(found)), key=found.__getitem__))

    def _apart(self) -> None:
        """Eq. (10): two tensors that reside at a step do not overlap."""
        never = _never_together(self._program.problem)
        for first in self._tensors:
            for second in self._tensors[first + 1 :]:
                if (first, second) in never:
                    continue
                steps = set(self._lives[first]).intersection(self._lives[second])
                for step in sorted(steps):
                    self._apart_at(first, second, step)

    def _apart_at(self, first: int, second: int, step: int) -> None:
        program, model = self._program, self._program.model
        one, other = program.resides(first, step), program.resides(second, step)
        if one.is_constant or other.is_constant:
            return
        both = one + other
        above, below = model.binary(), model.binary()  # u, d
        model.add_at_most(above + below, 1)
        model.add_at_least(above + below, both - 1)
        self._ordered(first, second, step, below)
        self._ordered(second, first, step, above)

    def _ordered(self, low: int, high: int, step: int, chosen: Linear) -> None:
        program, budget = self._program, self._program.budget
        end = self._addresses[low, step] + program.size(low)
        program.model.add_at_most(end - self._addresses[high, step], (1 - chosen) * budget)

    def _stays_put(self, tensor: int) -> None:
        """Eq. (11): a tensor that is kept does not move."""
        program, model = self._program, self._program.model
        for step in self._lives[tensor][1:]:
            keeps = program.keeps(tensor, step)
            before = program.resides(tensor, step - 1)
            put = model.binary()  # V
            model.add_at_least(put, before + keeps - 1)
            model.add_at_most(put, before)
            model.add_at_most(put, keeps)
            shift = self._addresses[tensor, step] - self._addresses[tensor, step - 1]
            model.add_at_most(shift, (1 - put) * program.budget)
            model.add_at_least(shift, (put - 1) * program.budget)


def _never_together(problem: PlanProblem) -> set[tuple[int, int]]:
    """Return the pairs of tensors of which one is dead before the other is made."""
    before = [sum(1 << op for op in items) for items in problem.predecessors]
    ancestors, _ = closures(before)
    ends = [sum(1 << op for op in users) for users in problem.consumers]
    found: set[tuple[int, int]] = set()
    for first in range(len(problem.tensors)):
        for second in range(len(problem.tensors)):
            producer = problem.producer[second]
            if first == second or producer is None or not ends[first]:
                continue
            if not ends[first] & ~ancestors[producer]:
                found.add((min(first, second), max(first, second)))
    return found


def _settled(blocks: Sequence[Block], order: Sequence[int]) -> tuple[int, ...]:
    """Let every block fall to the lowest address that its order from below allows.

    This frees the addresses from the solver's tolerance.
    """
    near = neighbours(blocks)
    places = [-1] * len(blocks)
    for index in order:
        below = [places[other] + blocks[other].bytes for other in near[index] if places[other] >= 0]
        places[index] = max(below, default=0)
    return tuple(places)
