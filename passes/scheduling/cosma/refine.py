"""Plan with a fast traffic model, correct it where the plan relies on it, and plan again.

    plan (analytic)  ->  measure the options it chose  ->  plan (corrected)  ->  ...

Measuring an option means to map and tile an operator, which is slow; a plan uses only one option
per operator, so few are ever measured. The best plan by measured bytes wins.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, SolveStatus, Stream, Workspace
from .streaming import Traffic, TrafficModel
from .workspaces import grown


class CorrectedTraffic:
    """A traffic model that knows some answers exactly.

    Args:
        fast: Answers everything, roughly.
        exact: Answers slowly what it is asked.
    """

    def __init__(self, fast: TrafficModel, exact: TrafficModel) -> None:
        self._fast = fast
        self._exact = exact
        self._known: dict[tuple[str, frozenset[str], int], Traffic | None] = {}
        self._measured: dict[tuple[str, frozenset[str]], list[tuple[int, Traffic]]] = {}

    def __call__(self, op: Op, resident: frozenset[str], workspace: int) -> Traffic | None:
        """Return what is known of the workspace that the fast model would use.

        A smaller workspace than one that was measured is taken to move no less.
        """
        rough = self._fast(op, resident, workspace)
        if rough is None:
            return None
        key = op.name, resident, rough.workspace
        if key in self._known:
            return self._known[key]
        for given, found in self._measured.get((op.name, resident), ()):
            if given >= rough.workspace and found.total > rough.total:
                rough = replace(found, workspace=rough.workspace)
        return rough

    def measure(self, op: Op, resident: frozenset[str], planned: int, given: int) -> Traffic | None:
        """Find an answer exactly, and remember it for the workspace that was planned.

        Args:
            op: The operator.
            resident: Its resident tensors.
            planned: Workspace that the plan asked for [byte].
            given: Workspace that it has, no smaller [byte].
        """
        found = self._exact(op, resident, given)
        known = None if found is None else replace(found, workspace=planned)
        self._known[op.name, resident, planned] = known
        if found is not None:
            self._measured.setdefault((op.name, resident), []).append((given, found))
        return found


def refine(
    graph: Graph,
    traffic: CorrectedTraffic,
    plan_with: Callable[[TrafficModel], GraphSchedule],
    *,
    rounds: int,
) -> GraphSchedule:
    """Return the best plan of several rounds, with the bytes that it really moves.

    Nothing is proven of these bytes, so the status is ``feasible`` and the bound is what any
    plan moves: inputs and outputs once.

    Args:
        graph: The network.
        traffic: The model to correct.
        plan_with: Plans with a traffic model.
        rounds: How often to plan.
    """
    best: GraphSchedule | None = None
    for _ in range(rounds):
        plan = plan_with(traffic)
        measured = measured_plan(graph, plan, traffic)
        if measured is None:
            continue
        if best is None or measured.objective < best.objective:
            best = measured
        if measured.objective == plan.objective:
            break
    return plan_with(traffic) if best is None else best


def measured_plan(
    graph: Graph, plan: GraphSchedule, traffic: CorrectedTraffic
) -> GraphSchedule | None:
    """Return a plan with measured bytes, or ``None`` where an operator cannot be tiled.

    Workspaces grow into the free room around them before they are measured.
    """
    streams: list[Stream] = []
    workspaces: list[Workspace] = []
    constants = 0
    for step, name in enumerate(plan.order):
        op = graph.producer[name]
        room = plan.workspace(step)
        planned = 0 if room is None else room.bytes
        if room is not None:
            room = grown(plan, room)
            workspaces.append(room)
        given = 0 if room is None else room.bytes
        moved = traffic.measure(op, residents(op, plan, step), planned, given)
        if moved is None:
            return None
        streams += [Stream(tensor=item, step=step, bytes=size) for item, size in moved.activations]
        constants += moved.constants
    whole = (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores, *streams)
    return replace(
        plan,
        streams=tuple(streams),
        workspaces=tuple(workspaces),
        objective=sum(item.bytes for item in whole) + constants,
        bound=inputs_and_outputs(graph),
        status=SolveStatus.FEASIBLE,
    )


def residents(op: Op, plan: GraphSchedule, step: int) -> frozenset[str]:
    """Return the tensors of an operator that are resident at its step."""
    names = (*op.inputs, *(value.name for value in op.results))
    return frozenset(name for name in names if plan.resident(name, step) is not None)


def inputs_and_outputs(graph: Graph) -> int:
    """Return the bytes of what is read and made, each moved once, constants included [byte]."""
    read: Mapping[str, int] = {
        value.name: value.type.bytes
        for value in (*graph.inputs, *graph.constants)
        if graph.consumers[value.name]
    }
    made = (graph.types[name].bytes for name in graph.outputs if name in graph.producer)
    return sum(read.values()) + sum(made)
