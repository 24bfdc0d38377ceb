"""Plan with a fast traffic model, correct it where the plan relies on it, and plan again.

    plan (analytic)  ->  measure the options it chose  ->  plan (corrected)  ->  ...

Measuring an option means to map and tile an operator, which is slow; a plan uses only one option
per operator, so few are ever measured. The plan of least measured cost wins; plans that others
made take part.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ....ir.errors import InfeasibleError
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group, SolveStatus, Stream, Workspace
from ....ir.groups import identity_of
from ....ir.ops import OPS, workload
from ....ir.proof import Scope
from ...analysis.compulsory import compulsory_network_bytes
from ...deadline import NEVER, Deadline
from ...tiling.residency import unit_of
from .traffic.delay import NO_DELAY, Delay
from .traffic.model import Ahead, Asked, StreamedTraffic, TrafficModel, at_its_time
from .workspaces import grown

_NEAR = 1.08
"""How near good nests come to what the machine allows."""

_MANY = 20_000
"""Operations of tiles that take seconds to schedule, and hardly depend on a little more space."""

_WORTH_HELPERS = 2_000
"""Operations of all tiles that were scheduled from which on answers are asked for ahead, in the
middle of a plan, too: what takes fewer is done before a process has started."""

_CLEARLY = 0.999
"""What part of the best plan's cost the next one has at most, if planning goes on without proof."""


@dataclass(frozen=True)
class Planned:
    """A plan in a traffic model.

    Attributes:
        schedule: The plan.
        is_proven: Whether it is optimal in the model.
        reserves: What operators left free, by name, so that addresses were found [byte].
    """

    schedule: GraphSchedule
    is_proven: bool
    reserves: Mapping[str, int] = field(default_factory=dict[str, int])


class Planner(Protocol):
    """Plans with a traffic model."""

    def __call__(self, model: TrafficModel, *, after: Planned | None) -> Planned:
        """Return a plan.

        Args:
            model: The traffic model.
            after: The plan before. Where that is not proven, one is searched for a short time
                only, that leaves as much free.
        """
        ...


class CorrectedTraffic:
    """A traffic model that knows some answers exactly.

    Args:
        fast: Answers everything, roughly.
        exact: Answers slowly what it is asked.
        delay: Tells which cycles are those of computation.
        ahead: Tells ``exact`` what it will be asked.

    Attributes:
        learnt: How many answers were not known before.
        operations: Of all tiles that were scheduled for answers.
    """

    def __init__(
        self,
        fast: TrafficModel,
        exact: TrafficModel,
        delay: Delay = NO_DELAY,
        ahead: Ahead = at_its_time,
    ) -> None:
        self._ahead = ahead
        self._delay = delay
        self._fast = fast
        self._exact = exact
        self._known: dict[tuple[Hashable, frozenset[str], int], StreamedTraffic | None] = {}
        self._measured: dict[
            tuple[Hashable, frozenset[str]], list[tuple[int, StreamedTraffic]]
        ] = {}
        self._computing: dict[Hashable, int] = {}
        self._answers: dict[Hashable, dict[tuple[frozenset[str], int], StreamedTraffic | None]] = {}
        self._waiting: Sequence[Asked] = ()
        self.learnt = 0
        self.operations = 0

    def __call__(self, op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        """Return what is known of the workspace that the fast model would use.

        A smaller workspace than one that was measured is taken to move no less, and cycles to
        be no fewer than the fewest that were measured where computation took longer.
        """
        answers = self._answers.setdefault(identity_of(op), {})
        asked = resident, workspace
        if asked not in answers:
            answers[asked] = self._corrected(op, resident, workspace)
        return answers[asked]

    def _corrected(
        self, op: Op, resident: frozenset[str], workspace: int
    ) -> StreamedTraffic | None:
        rough = self._fast(op, resident, workspace)
        if rough is None:
            return None
        key = identity_of(op), resident, rough.workspace
        if key in self._known:
            return self._known[key]
        for given, found in self._measured.get((identity_of(op), resident), ()):
            if given >= rough.workspace and found.total > rough.total:
                rough = replace(found, workspace=rough.workspace)
        fewest = self._computing.get(identity_of(op), 0)
        return rough if rough.cycles >= fewest else replace(rough, cycles=fewest)

    def measure(
        self, op: Op, resident: frozenset[str], planned: int, given: int
    ) -> StreamedTraffic | None:
        """Find an answer exactly, and remember it for the workspace that was planned.

        Args:
            op: The operator.
            resident: Its resident tensors.
            planned: Workspace that the plan asked for [byte].
            given: Workspace that it has, no smaller [byte].
        """
        self._tell()
        identity = identity_of(op)
        found = self._large(identity, resident, given) or self._exact(op, resident, given)
        known = None if found is None else replace(found, workspace=planned)
        key = identity, resident, planned
        self.learnt += known != self._known.get(key)
        if key not in self._known or known != self._known[key]:
            self._known[key] = known
            self._answers.pop(identity, None)
        if found is not None:
            self._remember(identity, resident, given, found)
        return found

    def ahead(self, asked: Sequence[Asked]) -> None:
        """Tell the exact model what it will be asked, as soon as that takes long for this network.

        Args:
            asked: Operators, their resident tensors, and the workspaces that they have.
        """
        self._waiting = asked
        self._tell()

    def _tell(self) -> None:
        """Tell the exact model what waits to be asked, if tiles have been many so far."""
        if self._waiting and self.operations >= _WORTH_HELPERS:
            asked, self._waiting = self._waiting, ()
            self._ahead(
                [item for item in asked if self._large(identity_of(item[0]), *item[1:]) is None]
            )

    def _large(
        self, identity: Hashable, resident: frozenset[str], given: int
    ) -> StreamedTraffic | None:
        """Return what was measured with no more space, if that took very many operations."""
        measured = self._measured.get((identity, resident), ())
        least = [found for space, found in measured if space <= given]
        return next((found for found in least if found.operations > _MANY), None)

    def _remember(
        self, identity: Hashable, resident: frozenset[str], given: int, found: StreamedTraffic
    ) -> None:
        measured = self._measured.setdefault((identity, resident), [])
        if (given, found) in measured:
            return
        measured.append((given, found))
        self.operations += found.operations
        self._answers.pop(identity, None)
        if not self._delay.is_hidden(found):
            fewest = self._computing.get(identity, found.cycles)
            self._computing[identity] = min(fewest, found.cycles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A plan with measured bytes.

    Attributes:
        plan: The plan.
        cost: Its bytes and delays [byte].
        times: What each step takes: moves of whole tensors, and then tiles, whose transfers and
            work overlap [cycle].
        prospects: What each step may come down to with the best nests [cycle].
    """

    plan: GraphSchedule
    cost: int
    times: tuple[float, ...]
    prospects: tuple[float, ...]

    @property
    def cycles(self) -> float:
        """What all steps take one after the other."""
        return sum(self.times)


def refine(
    graph: Graph,
    groups: tuple[Group, ...],
    traffic: CorrectedTraffic,
    plan_with: Planner,
    *,
    rounds: int,
    delay: Delay = NO_DELAY,
    others: Sequence[GraphSchedule] = (),
    deadline: Deadline = NEVER,
) -> Measured | None:
    """Return the best plan of several rounds, with the bytes that it really moves.

    What was proven in a traffic model is not proven of these bytes, so the status is ``feasible``
    and the bound is what any plan moves: inputs, constants and outputs once.

    Args:
        graph: The network.
        groups: Its fused groups, which plans see as one operator each.
        traffic: The model to correct.
        plan_with: Plans with a traffic model.
        rounds: How often to plan. Plans that cannot be proven take long to find: then planning ends
            when it has found none that is clearly better.
        delay: What cycles are worth.
        others: Plans by others, with workspaces where anything streams.
        deadline: When the best plan so far is taken, if there is one.

    Returns:
        ``None`` where an operator or group of every plan cannot be tiled.

    Raises:
        InfeasibleError: There is no plan, not even one by others.
    """

    def measured(plan: GraphSchedule) -> Measured | None:
        return measured_plan(graph, replace(plan, groups=groups), traffic, delay)

    best = min(filter(None, map(measured, others)), key=_rank, default=None)
    found: Planned | None = None
    for _ in range(rounds):
        if best is not None and deadline.is_over:
            break
        learnt = traffic.learnt
        try:
            found = plan_with(traffic, after=found)
        except InfeasibleError:
            if best is None:
                raise
            break
        item = measured(found.schedule)
        is_clearly_better = item is None or best is None or item.cost < _CLEARLY * best.cost
        best = min(filter(None, (best, item)), key=_rank, default=None)
        if traffic.learnt == learnt or not (found.is_proven or is_clearly_better):
            break
    return best


def _rank(item: Measured) -> tuple[int, int]:
    return item.cost, item.plan.objective


def measured_plan(
    graph: Graph, plan: GraphSchedule, traffic: CorrectedTraffic, delay: Delay
) -> Measured | None:
    """Return a plan with measured bytes, or ``None`` where an operator cannot be tiled.

    Workspaces grow into the free room around them before they are measured.

    Args:
        graph: The network.
        plan: The plan.
        traffic: Of tiled operators.
        delay: Of a plan.
    """
    streams: list[Stream] = []
    workspaces: list[Workspace] = []
    constants = delays = 0
    is_possible = True
    whole = [0] * len(plan.order)
    for item in (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores):
        whole[item.step] += item.bytes
    times: list[float] = []
    prospects: list[float] = []
    asked: list[Asked] = []
    for step, name in enumerate(plan.order):
        op, room, given = unit_of(graph, plan, name), plan.workspace(step), 0
        if room is not None:
            workspaces.append(grown(plan, room))
            given = workspaces[-1].bytes
        asked.append((op, residents(op, plan, step), given))
    traffic.ahead(asked)
    for step, (op, resident, given) in enumerate(asked):
        room = plan.workspace(step)
        moved = traffic.measure(op, resident, 0 if room is None else room.bytes, given)
        if moved is None:
            is_possible = False
            continue
        streams += [Stream(tensor=item, step=step, bytes=size) for item, size in moved.activations]
        constants += moved.constants
        delays += delay.of(moved)
        moves = delay.cycles_of(whole[step])
        times.append(max(moved.cycles, delay.cycles_of(moved.total)) + moves)
        prospects.append(_prospect(graph, op, moved, delay) + moves)
    if not is_possible:
        return None
    total = sum(whole) + sum(item.bytes for item in streams) + constants
    measured = replace(
        plan,
        streams=tuple(streams),
        workspaces=tuple(workspaces),
        objective=total,
        bound=compulsory_network_bytes(graph).total,
        scope=Scope.ALL_PLANS,
        status=SolveStatus.FEASIBLE,
    )
    return Measured(
        plan=measured, cost=total + delays, times=tuple(times), prospects=tuple(prospects)
    )


def _prospect(graph: Graph, op: Op, moved: StreamedTraffic, delay: Delay) -> float:
    """Return what the tiles of a step may come down to.

    The nests that are measured here are a greedy mapper's. Those of the program come close to what
    the array and the off-chip port allow, where all of an array can work on one group of channels.
    """
    transfers = delay.cycles_of(moved.total)
    measured = max(moved.cycles, transfers)
    load = workload(op, graph.types) if op.kind in OPS else None
    if load is None or load.G > 1:
        return measured
    return min(measured, _NEAR * max(delay.computing(load), transfers))


def residents(op: Op, plan: GraphSchedule, step: int) -> frozenset[str]:
    """Return the tensors of an operator that are resident at its step.

    Args:
        op: The operator.
        plan: The plan.
        step: Its turn.
    """
    return frozenset(name for name in op.touched if plan.resident(name, step) is not None)
