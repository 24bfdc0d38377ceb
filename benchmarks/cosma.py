"""COSMA on the networks of its paper: optimum, bound, seconds, baselines, reduction.

    python -m benchmarks.cosma
    python -m benchmarks.cosma --network vit --confirm --literal
    python -m benchmarks.cosma --plots

Ten human-designed and four searched networks, 8 bits per element, published input sizes; budgets
M_R, M_H, M_P; activations only, and with parameters resident while their operators run. Bytes are
non-compulsory: beyond one load of each input and one store of each output. Every plan is replayed
by the independent checker. One operator is a convolution or matrix product with the
normalisation and ReLU-like clamp behind it; everything else stands alone.

The table goes to ``benchmarks/results/cosma.md`` and ``.csv``, plots beside it. The exit code is
1 where a setting is not proven optimal. Seconds are CPU seconds of one core.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import SolveStatus
from accnn.ir.proof import Scope
from accnn.models.graphs import HUMAN_DESIGNED, SEARCHED
from accnn.passes.mip import MipLimits
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.baselines import Replacement, schedule_linear
from accnn.passes.scheduling.cosma.budgets import Budgets, NamedBudget, budgets_of
from accnn.passes.scheduling.cosma.decode import decode
from accnn.passes.scheduling.cosma.problem import PlanProblem, problem_of
from accnn.passes.scheduling.cosma.program.literal import solve_literal
from accnn.passes.scheduling.cosma.program.reduced import solve_reduced
from accnn.passes.scheduling.cosma.search.divide import divide
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanOrder, solve
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
SLOWEST = 10.0
"""Target of one setting [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network at one budget; bytes are non-compulsory, seconds of CPU.

    Attributes:
        network: Its name.
        parameters: Whether parameters count.
        operators: How many.
        tensors: How many.
        budget: Name of the budget.
        budget_bytes: The budget.
        optimum: Of COSMA.
        bound: Proven.
        status: What is proven.
        seconds: Search, packing and decoding.
        budget_seconds: Finding the budgets, once per network.
        default_belady: Default order, Belady's rule, linear arena.
        default_greedy: Default order, greedy rule, linear arena.
        mpmf_belady: Order of least peak, Belady's rule, linear arena.
        mpmf_greedy: Order of least peak, greedy rule, linear arena.
        fixed_default: Default order, all else optimal (the paper's FS).
        fixed_default_seconds: Its time.
        fixed_mpmf: Order of least peak, all else optimal.
        fixed_mpmf_seconds: Its time, the order's included.
        ilp: What the reduced integer program says.
        ilp_seconds: Its time.
        literal: What the paper's integer program says.
        literal_seconds: Its time.
    """

    network: str
    parameters: bool
    operators: int
    tensors: int
    budget: str
    budget_bytes: int
    optimum: int
    bound: int
    status: str
    seconds: float
    budget_seconds: float
    default_belady: int
    default_greedy: int
    mpmf_belady: int
    mpmf_greedy: int
    fixed_default: int
    fixed_default_seconds: float
    fixed_mpmf: int
    fixed_mpmf_seconds: float
    ilp: str = ""
    ilp_seconds: float = 0.0
    literal: str = ""
    literal_seconds: float = 0.0

    @property
    def baselines(self) -> tuple[int, int, int, int]:
        """Bytes of the four schemes."""
        return self.default_belady, self.default_greedy, self.mpmf_belady, self.mpmf_greedy

    @property
    def reduction(self) -> float | None:
        """Share of the four schemes' mean traffic that is avoided; ``None`` if there is none."""
        mean = statistics.fmean(self.baselines)
        return None if mean == 0 else 1 - self.optimum / mean


def measure(graph: Graph, *, parameters: bool, limits: "Limits") -> Iterator[Row]:
    """Yield the rows of a network."""
    start = time.process_time()
    budgets = budgets_of(graph, include_parameters=parameters)
    budget_seconds = time.process_time() - start
    for name in NamedBudget:
        problem = problem_of(graph, budgets.named(name), include_parameters=parameters)
        yield _row(graph, problem, name, budgets, budget_seconds, parameters, limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Which integer programs run, and how long per piece [s]; 0 is not at all."""

    reduced: float = 0.0
    literal: float = 0.0


def _row(
    graph: Graph,
    problem: PlanProblem,
    name: NamedBudget,
    budgets: Budgets,
    budget_seconds: float,
    parameters: bool,
    limits: Limits,
) -> Row:
    start = time.process_time()
    solution = solve(problem)
    plan = decode(solution, Scope.WHOLE_TENSORS)
    seconds = time.process_time() - start
    account = check_schedule(graph, plan)
    if account.total != plan.objective:
        raise AssertionError(f"{graph.name}: {account.total} bytes move, not {plan.objective}")
    orders = (tuple(range(len(graph.ops))), budgets.order)
    baselines = [
        check_schedule(graph, schedule_linear(problem, order, rule)).total - problem.compulsory
        for order in orders
        for rule in Replacement
    ]
    fixed = [_fixed(problem, order) for order in (PlanOrder.GIVEN, PlanOrder.MPMF)]
    ilp, ilp_seconds = _confirm(problem, solution.cost, limits.reduced, literal=False)
    literal, literal_seconds = _confirm(problem, solution.cost, limits.literal, literal=True)
    return Row(
        network=graph.name,
        parameters=parameters,
        operators=len(problem.operations),
        tensors=len(problem.tensors),
        budget=name.value,
        budget_bytes=problem.budget,
        optimum=solution.cost - problem.compulsory,
        bound=solution.bound - problem.compulsory,
        status=solution.status.value,
        seconds=seconds,
        budget_seconds=budget_seconds,
        default_belady=baselines[0],
        default_greedy=baselines[1],
        mpmf_belady=baselines[2],
        mpmf_greedy=baselines[3],
        fixed_default=fixed[0][0],
        fixed_default_seconds=fixed[0][1],
        fixed_mpmf=fixed[1][0],
        fixed_mpmf_seconds=fixed[1][1],
        ilp=ilp,
        ilp_seconds=ilp_seconds,
        literal=literal,
        literal_seconds=literal_seconds,
    )


def _fixed(problem: PlanProblem, order: PlanOrder) -> tuple[int, float]:
    """Return non-compulsory bytes with one order, and the CPU time [byte], [s]."""
    start = time.process_time()
    found = solve(problem, CosmaOptions(order=order))
    return found.cost - problem.compulsory, time.process_time() - start


def _confirm(
    problem: PlanProblem, cost: int, seconds: float, *, literal: bool
) -> tuple[str, float]:
    """Solve the pieces of a problem by integer programming and compare with the search.

    Returns:
        ``same``, ``open`` (with how many pieces are), or ``differs``; and the CPU time [s].
    """
    if seconds <= 0:
        return "", 0.0
    engine = solve_literal if literal else solve_reduced
    total, spent, undecided = 0, 0.0, 0
    for piece in divide(problem):
        start = time.process_time()
        result = engine(piece.problem, limits=MipLimits(seconds=seconds))
        spent += time.process_time() - start
        undecided += result.status is not SolveStatus.OPTIMAL
        total += result.cost
    if undecided:
        return f"{undecided} open", spent
    return ("same" if total == cost else "differs"), spent


def _text(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        "| network | parameters | operators | budget | bytes | optimum | bound | status "
        "| seconds | default Belady | default greedy | MPMF Belady | MPMF greedy | reduction "
        "| FS default | s | FS MPMF | s | ILP | literal ILP |"
    )
    yield "|" + "---|" * 20
    for row in rows:
        reduction = "" if row.reduction is None else f"{row.reduction:.0%}"
        ilp = f"{row.ilp} {row.ilp_seconds:.1f} s" if row.ilp else ""
        literal = f"{row.literal} {row.literal_seconds:.1f} s" if row.literal else ""
        yield (
            f"| {row.network} | {'yes' if row.parameters else 'no'} | {row.operators} "
            f"| {row.budget} | {row.budget_bytes:,} | {row.optimum:,} | {row.bound:,} "
            f"| {row.status} | {row.seconds:.2f} | {row.default_belady:,} "
            f"| {row.default_greedy:,} | {row.mpmf_belady:,} | {row.mpmf_greedy:,} "
            f"| {reduction} | {row.fixed_default:,} | {row.fixed_default_seconds:.2f} "
            f"| {row.fixed_mpmf:,} | {row.fixed_mpmf_seconds:.2f} | {ilp} | {literal} |"
        )
    yield ""
    yield from _summary(rows)


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    human = {builder.__name__ for builder in HUMAN_DESIGNED}
    for title, chosen in (
        ("human-designed", [row for row in rows if row.network in human]),
        ("searched", [row for row in rows if row.network not in human]),
    ):
        found = [row.reduction for row in chosen if row.reduction is not None]
        if found:
            yield (
                f"{title}: mean reduction {statistics.fmean(found):.1%} over the "
                f"{len(found)} of {len(chosen)} settings whose baselines move anything"
            )
    alone = [row for row in rows if row.network not in human and not row.parameters]
    if alone:
        found = [row.reduction for row in alone if row.reduction is not None]
        slowest = max(max(row.fixed_default_seconds, row.fixed_mpmf_seconds) for row in alone)
        yield (
            f"searched, activations only: mean reduction {statistics.fmean(found):.1%}; "
            f"fixed orders: {sum(row.fixed_default for row in alone):,} bytes (default) and "
            f"{sum(row.fixed_mpmf for row in alone):,} (MPMF) against "
            f"{sum(row.optimum for row in alone):,}, at most {slowest:.2f} s"
        )
    proven = sum(row.status == SolveStatus.OPTIMAL for row in rows)
    seconds = [row.seconds for row in rows]
    yield (
        f"proven optimal: {proven} of {len(rows)}; seconds: median "
        f"{statistics.median(seconds):.2f}, most {max(seconds):.2f}; finding M_P: most "
        f"{max(row.budget_seconds for row in rows):.2f}"
    )
    at_peak = [row for row in rows if row.budget == NamedBudget.MP]
    free = sum(row.optimum == 0 for row in at_peak)
    yield f"nothing non-compulsory at M_P: {free} of {len(at_peak)}"


def _write(rows: Sequence[Row]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "cosma.md").write_text("\n".join(_text(rows)) + "\n")
    write_rows(RESULTS / "cosma.csv", Row, rows)


def _chosen(names: Iterable[str]) -> list[Graph]:
    wanted = set(names)
    builders = (*HUMAN_DESIGNED, *SEARCHED)
    return [build() for build in builders if not wanted or build.__name__ in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 if a setting is not proven optimal, or takes too long."""
    known = [builder.__name__ for builder in (*HUMAN_DESIGNED, *SEARCHED)]
    parser = argparse.ArgumentParser(prog="benchmarks.cosma", description=__doc__.split("\n")[0])
    parser.add_argument("--network", action="append", default=[], choices=known)
    parser.add_argument(
        "--confirm",
        type=float,
        nargs="?",
        const=20.0,
        default=0.0,
        metavar="SECONDS",
        help="solve the reduced program too, per piece",
    )
    parser.add_argument(
        "--literal",
        type=float,
        nargs="?",
        const=20.0,
        default=0.0,
        metavar="SECONDS",
        help="solve the paper's program too, per piece",
    )
    parser.add_argument("--plots", action="store_true", help="draw figures 3 and 4")
    options = parser.parse_args(arguments)
    limits = Limits(reduced=options.confirm, literal=options.literal)
    rows: list[Row] = []
    for graph in _chosen(options.network):
        for parameters in (False, True):
            rows += measure(graph, parameters=parameters, limits=limits)
            print("\n".join(list(_text(rows[-3:]))[2:5]), flush=True)
    print("\n".join(_summary(rows)))
    if not options.network:
        _write(rows)
    if options.plots:
        from benchmarks.cosma_plots import draw_bars

        for figure, builders in (("fig3", HUMAN_DESIGNED), ("fig4", SEARCHED)):
            names = [builder.__name__ for builder in builders]
            draw_bars(rows, names, RESULTS / f"cosma_{figure}.png")
    slow = any(row.seconds > SLOWEST for row in rows)
    return int(slow or any(row.status != SolveStatus.OPTIMAL for row in rows))


if __name__ == "__main__":
    sys.exit(main())
