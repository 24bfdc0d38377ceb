"""Mixed-integer programs: the one door to python-mip, with HiGHS and CBC behind it.

Limits are deterministic: a number of branch-and-bound nodes, not seconds. A wall-clock limit
exists as a safety net only; a result that it cut short says so in its status.
"""

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import mip

from .linear import Linear

_LOG = logging.getLogger(__name__)

_DIVES = (
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
)
"""HiGHS's heuristics that solve smaller programs."""


class Solver(StrEnum):
    """A mixed-integer solver."""

    HIGHS = "highs"
    CBC = "cbc"


class MipStatus(StrEnum):
    """How a solve ended.

    ``optimal``: proven within the gap that was asked for. ``limit``: a solution, not proven.
    ``cut-off``: nothing better than the known solution exists. ``infeasible``: nothing at all.
    ``no-solution``: the limit came before any solution.
    """

    OPTIMAL = "optimal"
    LIMIT = "limit"
    CUT_OFF = "cut-off"
    INFEASIBLE = "infeasible"
    NO_SOLUTION = "no-solution"


@dataclass(frozen=True, slots=True, kw_only=True)
class MipLimits:
    """When to stop.

    Attributes:
        gap_abs: Absolute difference of objective and bound that counts as proven.
        gap_rel: The same, relative.
        nodes: Branch-and-bound nodes; deterministic.
        seconds: Wall-clock safety net [s].
        seed: Of the solver.
        restarts: Whether HiGHS may start over from a smaller root problem; small models are
            faster without.
        diving: Whether HiGHS may look for solutions in smaller programs; where a good solution
            is known, that only takes time.
        trials: Branchings of a variable after which HiGHS trusts its estimate of their effect.
    """

    gap_abs: float = 1e-6
    gap_rel: float = 1e-9
    nodes: int = 1_000_000
    seconds: float = 300.0
    seed: int = 0
    restarts: bool = True
    diving: bool = True
    trials: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MipResult:
    """Outcome of a solve.

    Attributes:
        status: How it ended.
        objective: Of the best solution; infinite without one.
        bound: Proven bound of the objective.
        values: Of all variables, by index; empty without a solution.
        seconds: Wall time; does not take part in decisions [s].
        cpu_seconds: CPU time of this process [s].
    """

    status: MipStatus
    objective: float
    bound: float
    values: tuple[float, ...]
    seconds: float
    cpu_seconds: float

    def value(self, expression: Linear) -> float:
        """Return the value of an expression in the solution."""
        return expression.constant + math.fsum(
            weight * self.values[index] for index, weight in expression.terms.items()
        )


class MipModel:
    """A model under construction: minimise one expression subject to linear rows."""

    def __init__(self, name: str, solver: Solver = Solver.HIGHS) -> None:
        self._solver = solver
        self._model = mip.Model(name=name, solver_name=solver.value.upper())
        self._model.verbose = 0
        _bind_destructor(self._model, solver)
        self._vars: list[mip.Var] = []
        self._integers: list[int] = []
        self._objective = Linear()
        self._rows = 0

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self._vars)

    @property
    def integers(self) -> int:
        """Number of integer variables, binaries included."""
        return len(self._integers)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._rows

    def continuous(self, low: float = 0.0, high: float = math.inf) -> Linear:
        """Return a new continuous variable."""
        return self._add(mip.CONTINUOUS, low, high)

    def integer(self, low: float, high: float) -> Linear:
        """Return a new integer variable."""
        kind = mip.BINARY if (low, high) == (0, 1) else mip.INTEGER
        self._integers.append(len(self._vars))
        return self._add(kind, low, high)

    def binary(self) -> Linear:
        """Return a new variable that is zero or one."""
        return self.integer(0, 1)

    def _add(self, kind: str, low: float, high: float) -> Linear:
        index = len(self._vars)
        upper: Any = mip.INF if math.isinf(high) else high
        lower: Any = -mip.INF if math.isinf(low) else low
        self._vars.append(self._model.add_var(lb=lower, ub=upper, var_type=kind))
        return Linear({index: 1.0})

    def add_at_most(self, left: Linear, right: Linear | float) -> None:
        """Add the row ``left <= right``."""
        self._row(left - right, "<")

    def add_at_least(self, left: Linear, right: Linear | float) -> None:
        """Add the row ``left >= right``."""
        self._row(left - right, ">")

    def add_equal(self, left: Linear, right: Linear | float) -> None:
        """Add the row ``left == right``."""
        self._row(left - right, "=")

    def _row(self, expression: Linear, sense: str) -> None:
        self._rows += 1
        self._model.add_constr(self._expression(expression, sense))

    def _expression(self, expression: Linear, sense: str = "") -> mip.LinExpr:
        kept = [(index, weight) for index, weight in expression.terms.items() if weight != 0.0]
        weights: list[Any] = [weight for _, weight in kept]
        constant: Any = expression.constant
        return mip.LinExpr([self._vars[index] for index, _ in kept], weights, constant, sense)

    def minimize(self, expression: Linear) -> None:
        """Set the objective."""
        self._objective = expression
        self._model.objective = mip.minimize(self._expression(expression))

    def start(self, values: Mapping[int, float]) -> None:
        """Offer a known solution: values of at least all integer variables, by index."""
        pairs: list[Any] = [(self._vars[index], value) for index, value in values.items()]
        self._model.start = pairs

    def solve(self, limits: MipLimits) -> MipResult:
        """Solve and return the outcome."""
        model = self._model
        model.max_mip_gap_abs = limits.gap_abs
        model.max_mip_gap = limits.gap_rel
        model.threads = 1
        model.seed = limits.seed
        model.max_seconds = limits.seconds
        model.max_nodes = limits.nodes
        if self._solver is Solver.HIGHS:
            backend: Any = model.solver
            backend._set_bool_option_value("mip_allow_restart", limits.restarts)
            for name in _DIVES:
                backend._set_bool_option_value(name, limits.diving)
            backend._set_int_option_value("mip_pscost_minreliable", limits.trials)
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = model.optimize()
        seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        values = tuple(_float(item.x) for item in self._vars) if model.num_solutions else ()
        status = _status(outcome, bool(values))
        _LOG.debug(
            "%s: %d variables (%d integer), %d rows: %s in %.2f s",
            model.name, self.variables, self.integers, self._rows, status, cpu_seconds,
        )  # fmt: skip
        return MipResult(
            status=status,
            objective=_float(model.objective_value) if values else math.inf,
            bound=_bound(model, status) if self._integers else _lp_bound(model, status),
            values=values,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
        )

    def same_optimum(self, result: MipResult, limits: MipLimits) -> MipResult:
        """Return a proven solve with the optimum that every solver chooses from those there are.

        The program is solved once more, with its objective held where it is: the optimum is the
        one whose integer variables weigh least, by weights that are drawn for each variable. It is
        unique but for rare chance, so that it depends on the program alone. Where this solve is
        not proven within the limits, the optimum is the one that was found first. The model cannot
        be solved for its own objective again.

        References:
            Mulmuley, Vazirani, Vazirani. Matching is as easy as matrix inversion. Combinatorica,
            1987 (the isolation lemma).

        Args:
            result: Of ``solve``; returned as it is where nothing is proven, or nothing is integer.
            limits: Of either solve.
        """
        if result.status is not MipStatus.OPTIMAL or not self._integers:
            return result
        self.add_at_most(self._objective, self._held(result.objective, limits.gap_abs))
        self.minimize(Linear({index: _weight(index) for index in self._integers}))
        self.start(dict(enumerate(result.values)))
        second = self.solve(replace(limits, gap_abs=0.5, gap_rel=0.0))
        return replace(
            result,
            values=second.values if second.status is MipStatus.OPTIMAL else result.values,
            seconds=result.seconds + second.seconds,
            cpu_seconds=result.cpu_seconds + second.cpu_seconds,
        )

    def _held(self, value: float, slack: float) -> float:
        """Return the most that an optimum's objective may be: half a unit above, if there are."""
        integers = set(self._integers)
        terms = self._objective.terms.items()
        has_units = all(index in integers and weight == int(weight) for index, weight in terms)
        return value + (0.5 if has_units else slack)


def _bind_destructor(model: mip.Model, solver: Solver) -> None:
    """Look a solver's destructor up while no model of it can be garbage.

    What looks up a function of a library holds a lock that it cannot take twice; the garbage
    collector, which may run meanwhile, would wait for it for ever if it had to do so for a model.
    """
    backend: Any = model.solver
    if solver is Solver.HIGHS:
        library, destructor = backend._lib, "Highs_destroy"
    else:
        from mip.cbc import cbclib  # a quarter of a second, which only its models take

        library, destructor = cbclib, "Cbc_deleteModel"
    getattr(library, destructor)


def _weight(index: int) -> float:
    """Return the weight of a variable: small enough to stand above a solver's tolerance."""
    digest = blake2b(index.to_bytes(4, "little"), digest_size=2).digest()
    return 1.0 + int.from_bytes(digest, "little")


def _status(outcome: mip.OptimizationStatus, has_solution: bool) -> MipStatus:
    if outcome == mip.OptimizationStatus.OPTIMAL and has_solution:
        return MipStatus.OPTIMAL
    if has_solution:
        return MipStatus.LIMIT
    if outcome == mip.OptimizationStatus.CUTOFF:
        return MipStatus.CUT_OFF
    if outcome in (mip.OptimizationStatus.INFEASIBLE, mip.OptimizationStatus.INT_INFEASIBLE):
        return MipStatus.INFEASIBLE
    return MipStatus.NO_SOLUTION


def _bound(model: mip.Model, status: MipStatus) -> float:
    if status in (MipStatus.INFEASIBLE, MipStatus.CUT_OFF):
        return math.inf
    bound: Any = model.objective_bound
    return -math.inf if bound is None else float(bound)


def _lp_bound(model: mip.Model, status: MipStatus) -> float:
    """Return the bound where nothing is integer: solvers keep one for branch-and-bound only."""
    return _float(model.objective_value) if status is MipStatus.OPTIMAL else _bound(model, status)


def _float(number: Any) -> float:
    return float(number)
