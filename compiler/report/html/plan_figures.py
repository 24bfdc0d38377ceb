"""The figures of the scratchpad's plan: what is proven of it, and what it moves back and forth."""

from collections.abc import Mapping
from dataclasses import dataclass

from ....ir.report import Report
from ..figures import UNKNOWN, amount, capacity, counted, percent
from ..off_chip import planned_scope
from .names import shown
from .provenance import Fact


@dataclass(frozen=True, slots=True)
class TensorMove:
    """A spill or a retrieve."""

    kind: str
    step: int
    operator: str
    tensor: str
    size: str


def plan_facts(report: Report) -> tuple[Fact, ...]:
    """Return budget, status, objective, bound, its scope and gap; nothing where no plan is."""
    plan = report.graph_schedule
    if plan is None:
        return ()
    objective, bound = plan.objective_bytes, plan.bound_bytes
    seconds = UNKNOWN if plan.solve_seconds is None else f"{plan.solve_seconds:.2f} s"
    return (
        Fact("budget", capacity(plan.budget_bytes)),
        Fact("status", str(plan.status)),
        Fact("objective", f"{objective:,} B off chip ({planned_scope(plan)})"),
        Fact("proven bound", f"{bound:,} B of {plan.scope}" if bound else "none"),
        Fact("gap", percent(plan.gap, 2)),
        Fact("found in", seconds),
        Fact(
            "has",
            ", ".join(
                (
                    counted(len(plan.streams), "stream"),
                    counted(len(plan.spills), "spill"),
                    counted(len(plan.retrieves), "retrieve"),
                    counted(len(plan.residences), "residence"),
                )
            ),
        ),
    )


def plan_moves(report: Report, called: Mapping[str, str]) -> tuple[TensorMove, ...]:
    """Return spills and retrieves by step.

    Args:
        report: All figures.
        called: How operators are called for people, by name.
    """
    plan = report.graph_schedule
    if plan is None:
        return ()
    found = [("spill", item) for item in plan.spills]
    found += [("retrieve", item) for item in plan.retrieves]
    return tuple(
        TensorMove(
            kind,
            item.step,
            shown(called.get(plan.order[item.step], plan.order[item.step]), 60),
            shown(item.tensor, 60),
            amount(item.bytes, "B"),
        )
        for kind, item in sorted(found, key=lambda pair: pair[1].step)
    )
