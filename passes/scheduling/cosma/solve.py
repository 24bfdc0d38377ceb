"""Solve a problem in two stages: order and residency first, addresses second.

The first stage treats capacity as a sum, so its optimum is a lower bound. When the stays of its
plan can be packed, the bound is attained and the plan is proven optimal. When they cannot, other
optimal plans are tried, then plans that leave more and more space free where they could not be
packed; what is lost shows as a gap between cost and bound.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ....ir.errors import InfeasibleError
from ....ir.graph_schedule import SolveStatus
from ...mip import MipLimits, Solver
from .packing.search import pack
from .plan import Plan, plan_of, replay
from .problem import PlanProblem
from .program.formulation import windows_of
from .program.literal import solve_literal
from .program.reduced import IlpResult, solve_reduced
from .repair import repair, unpacked
from .search.best_first import search
from .search.bounds import WallBound
from .search.divide import divide, join
from .search.moves import MoveTable
from .search.peak import least_peak


class PlanEngine(StrEnum):
    """What decides order and residency.

    ``search``: exact best-first search. ``ilp``: the reduced integer program, piece by piece.
    ``literal``: the integer program of the paper, addresses included. ``auto``: the search, and
    the integer program where the search does not close the gap.
    """

    AUTO = "auto"
    SEARCH = "search"
    ILP = "ilp"
    LITERAL = "literal"


class PlanOrder(StrEnum):
    """In which order operators run (III-E2, V-C).

    ``free``: the one that moves least. ``given``: as the graph has them. ``mpmf``: one of least
    peak memory footprint. With the latter two only replacement and addresses are decided.
    """

    FREE = "free"
    GIVEN = "given"
    MPMF = "mpmf"


@dataclass(frozen=True, slots=True, kw_only=True)
class CosmaOptions:
    """How to solve.

    Attributes:
        engine: What decides order and residency.
        order: In which order operators run.
        solver: Solver of the integer programs.
        search_nodes: States that the search expands before it settles for a gap.
        beam: Width of the beam that then finds a plan.
        seed: Of the shuffles that look for another optimal plan.
    """

    engine: PlanEngine = PlanEngine.AUTO
    order: PlanOrder = PlanOrder.FREE
    solver: Solver = Solver.HIGHS
    search_nodes: int = 100_000
    beam: int = 200
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressedPlan:
    """A plan with addresses.

    Attributes:
        plan: The plan; its problem has the full budget.
        addresses: One per block of the plan.
        status: ``optimal`` where cost and bound meet.
        cost: Off-chip bytes [byte].
        bound: Proven lower bound [byte].
        reserves: What operators left free, by name, so that addresses were found [byte].
    """

    plan: Plan
    addresses: tuple[int, ...]
    status: SolveStatus
    cost: int
    bound: int
    reserves: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relaxed:
    """A plan without addresses, and the bound that its search proved.

    Attributes:
        plan: The plan.
        cost: Off-chip bytes [byte].
        bound: Proven lower bound, of plans that leave as much free [byte].
        reserves: What each operator leaves free [byte].
    """

    plan: Plan
    cost: int
    bound: int
    reserves: tuple[int, ...] = ()


_LIMITS = MipLimits(nodes=20_000, seconds=120.0)
"""Of an integer program of a piece."""

_SHUFFLES = 3
_RESERVES, _RESERVE = 16, 64
"""How often more space is left free, and which part of the budget each time, as its divisor."""

_SHORT = 20
"""What a search that cannot prove anything, or that a program proves, is shortened by."""
_MOST_CHOICES = 5000
_NODES = 50_000
"""Of a search for the addresses of a plan."""


def solve(
    problem: PlanProblem,
    options: CosmaOptions | None = None,
    *,
    reserves: Mapping[str, int] | None = None,
) -> AddressedPlan:
    """Return the best plan that is found, with its bound.

    Args:
        problem: What is planned.
        options: How.
        reserves: What operators have to leave free, by name, as is known of nearly the same problem
            [byte]. Plans that leave less are not looked for: the bound is a weak one then.

    Raises:
        InfeasibleError: An operator does not fit the budget, or no plan could be packed.
    """
    options = options or CosmaOptions()
    if options.order is not PlanOrder.FREE:
        given = range(len(problem.operations))
        order = given if options.order is PlanOrder.GIVEN else least_peak(problem)[1]
        chosen = replace(options, order=PlanOrder.FREE)
        return _solve_in_order(problem, order, chosen, reserves)
    problem = problem.restrict_menus()
    if options.engine is PlanEngine.LITERAL:
        return _solve_literal(problem, options)
    first = None if reserves else _relax(problem, options)
    bound = first.bound if first else _least(problem)
    best: tuple[Plan, tuple[int, ...], tuple[int, ...]] | None = None
    for candidate in _candidates(problem, options, first, reserves or {}):
        if best is not None and best[0].cost <= candidate.cost:
            continue
        addresses, _ = pack(candidate.plan.blocks, problem.budget, nodes=_NODES)
        if addresses is not None:
            best = candidate.plan, addresses, candidate.reserves
            break
        # Of plans that cost the same the first one is cut: one of the others may fit as it is.
        is_same = candidate is not first and candidate.cost == bound
        repaired = None if is_same else repair(candidate.plan)
        if repaired is not None and (best is None or repaired[0].cost < best[0].cost):
            best = *repaired, candidate.reserves
    if best is None:
        raise InfeasibleError(
            f"no plan of {problem.name} could be packed into {problem.budget} byte",
            hint="give a larger budget",
        )
    plan, addresses, free = best
    return AddressedPlan(
        plan=plan,
        addresses=addresses,
        status=SolveStatus.OPTIMAL if plan.cost == bound else SolveStatus.FEASIBLE,
        cost=plan.cost,
        bound=bound,
        reserves={
            operation.name: size
            for operation, size in zip(problem.operations, free, strict=False)
            if size
        },
    )


def _least(problem: PlanProblem) -> int:
    """Return a lower bound of every plan, without a search [byte]."""
    table = MoveTable(problem)
    return WallBound(table)(table.start())


def _solve_in_order(
    problem: PlanProblem,
    order: Sequence[int],
    options: CosmaOptions,
    reserves: Mapping[str, int] | None,
) -> AddressedPlan:
    """Solve with the operators in one order only."""
    operations = tuple(problem.operations[op] for op in order)
    ordered = replace(problem, operations=operations, is_ordered=True)
    found = solve(ordered, options, reserves=reserves)
    steps = [(order[op], option, evicted) for op, option, evicted in found.plan.steps]
    return replace(found, plan=replay(problem.restrict_menus(), steps))


def _candidates(
    problem: PlanProblem,
    options: CosmaOptions,
    first: _Relaxed | None,
    reserves: Mapping[str, int],
) -> Iterator[_Relaxed]:
    """Yield plans: the first, as cheap ones from shuffled problems, ones that leave space free.

    Shuffled problems are for another plan that is proven optimal: where the first one is not,
    or where the order is fixed, they are left out; where it is not proven, the searches for plans
    that leave space free, of which only the plans are used, are short. Where it is known what has
    to be left free, there is no first one.
    """
    if first is not None:
        yield first
    is_proven = not reserves and (first is None or first.cost == first.bound)
    generator = random.Random(options.seed)
    for _ in range(_SHUFFLES if is_proven and not problem.is_ordered else 0):
        found = _relax_shuffled(problem, options, generator)
        if found is not None and (first is None or found.cost == first.cost):
            yield found
    nodes = options.search_nodes // (1 if is_proven else _SHORT)
    briefly = replace(options, engine=PlanEngine.SEARCH, search_nodes=nodes)
    yield from _leaving_space(problem, briefly, first, reserves)


def _leaving_space(
    problem: PlanProblem,
    options: CosmaOptions,
    last: _Relaxed | None,
    known: Mapping[str, int],
) -> Iterator[_Relaxed]:
    """Yield plans that leave more and more space free, where the last one could not be packed.

    Args:
        problem: What is planned.
        options: How.
        last: A plan that could not be packed.
        known: What has to be left free at least, by the names of operators [byte].
    """
    reserves = [known.get(operation.name, 0) for operation in problem.operations]
    for attempt in range(_RESERVES):
        if attempt or not known:
            _leave_more(problem, reserves, last)
        found = _relax(problem.with_reserves(reserves), options)
        if found is not None:
            plan = replay(problem, found.plan.steps)
            last = replace(found, plan=plan, reserves=tuple(reserves))
            yield last


def _leave_more(problem: PlanProblem, reserves: list[int], last: _Relaxed | None) -> None:
    """Leave more space free where a plan could not be packed; everywhere without a plan."""
    crowded: Sequence[int] = range(len(reserves))
    if last is not None:
        steps = itertools.chain.from_iterable(unpacked(last.plan))
        crowded = [last.plan.order[step] for step in steps]
    for operation in crowded:
        reserves[operation] += -(-problem.budget // _RESERVE)


def _relax(problem: PlanProblem, options: CosmaOptions) -> _Relaxed | None:
    if options.engine is PlanEngine.ILP:
        return _relax_by_program(problem, options)
    found = search(MoveTable(problem), node_limit=options.search_nodes, beam=options.beam)
    open_gap = found.status is not SolveStatus.OPTIMAL
    if options.engine is PlanEngine.AUTO and open_gap and _suits_a_program(problem):
        program = _relax_by_program(problem, options)
        if program is not None and (not found.moves or program.cost < found.cost):
            return replace(program, bound=max(program.bound, found.bound))
        if program is not None:
            found = replace(found, bound=max(program.bound, found.bound))
    if not found.moves:
        return None
    return _Relaxed(plan=plan_of(problem, found.moves), cost=found.cost, bound=found.bound)


def _suits_a_program(problem: PlanProblem) -> bool:
    """Whether the integer program is small enough to be worth trying."""
    windows = windows_of(problem)
    pairs = zip(windows, problem.operations, strict=True)
    return sum(len(window) * len(op.menu) for window, op in pairs) <= _MOST_CHOICES


def _relax_by_program(problem: PlanProblem, options: CosmaOptions) -> _Relaxed | None:
    """Solve the reduced program piece by piece."""
    pieces = divide(problem)
    steps: list[tuple[tuple[int, int, int], ...]] = []
    cost = bound = 0
    for piece in pieces:
        found = _solve_program(piece.problem, options)
        if found.plan is None:
            return None
        steps.append(found.plan.steps)
        cost, bound = cost + found.cost, bound + found.bound
    return _Relaxed(plan=replay(problem, join(pieces, steps)), cost=cost, bound=bound)


def _solve_program(problem: PlanProblem, options: CosmaOptions) -> IlpResult:
    """Solve the reduced program; of several optimal plans, every solver gives the same.

    It is the one that a short search finds, where there is one: to ask the program again takes
    many times as long as to solve it.
    """
    limits = replace(_LIMITS, seed=options.seed)
    nodes = options.search_nodes // _SHORT
    moves = search(MoveTable(problem), node_limit=nodes, beam=options.beam).moves
    known = plan_of(problem, moves) if moves else None
    return solve_reduced(problem, solver=options.solver, limits=limits, same=True, known=known)


def _relax_shuffled(
    problem: PlanProblem, options: CosmaOptions, generator: random.Random
) -> _Relaxed | None:
    """Search with the operators in another order, which breaks ties in another way."""
    order = _random_order(problem, generator)
    shuffled = replace(problem, operations=tuple(problem.operations[op] for op in order))
    found = search(MoveTable(shuffled), node_limit=options.search_nodes, beam=options.beam)
    if not found.moves:
        return None
    steps = [(order[move.operation], move.option, move.evicted) for move in found.moves]
    return _Relaxed(plan=replay(problem, steps), cost=found.cost, bound=found.bound)


def _random_order(problem: PlanProblem, generator: random.Random) -> list[int]:
    left = [len(items) for items in problem.predecessors]
    followers: list[list[int]] = [[] for _ in left]
    for op, items in enumerate(problem.predecessors):
        for source in items:
            followers[source].append(op)
    ready = [op for op, count in enumerate(left) if not count]
    order: list[int] = []
    while ready:
        op = ready.pop(generator.randrange(len(ready)))
        order.append(op)
        for follower in sorted(followers[op]):
            left[follower] -= 1
            if not left[follower]:
                ready.append(follower)
    return order


def _solve_literal(problem: PlanProblem, options: CosmaOptions) -> AddressedPlan:
    limits = replace(_LIMITS, seed=options.seed)
    found = solve_literal(problem, solver=options.solver, limits=limits, same=True)
    if found.plan is None:
        raise InfeasibleError(
            f"the literal program of {problem.name} has no solution within its limit",
            hint="use the engine 'search' or 'ilp'",
        )
    return AddressedPlan(
        plan=found.plan,
        addresses=found.addresses,
        status=found.status,
        cost=found.cost,
        bound=found.bound,
    )
