"""Why steps of a plan are not one group: what comes of joining them.

    step a | step b      ->      [a, b] cannot be a group, or does not fit, or moves or takes more

Nothing is kept of the choice that made the plan. Two neighbours are joined and measured as that
choice measures groups, with what the plan keeps on chip beside them.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from ....ir.arch import Architecture
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule, Group
from ....ir.groups import group_op, handed_on
from ...tiling.groups.chains import chains, working
from ...tiling.groups.stripes import hands_out
from ...tiling.residency import unit_of
from ..cosma.refine import residents
from ..cosma.traffic.model import StreamedTraffic, TrafficModel
from ..map_groups import line_bytes
from ..static.static import rating
from .epilogues import hand_on_rows, is_group
from .group_costs import LINES
from .offers import MOST_CHAINS, can_be_member, with_largest_stripes


class Obstacle(StrEnum):
    """What keeps neighbours apart."""

    KIND = "kind"
    """One of their operators can be no member of a group."""
    COUNT = "count"
    """Together they are more operators than a group joins."""
    UNRELATED = "unrelated"
    """They share no tensor."""
    AXES = "axes"
    """One of them reads what they would hand to each other along other axes than its rows."""
    ROWS = "rows"
    """Stripes would keep rows of what others read, too, and all rows at once do not fit."""
    LINES = "lines"
    """The rows that they hand to each other take too much of the scratchpad."""
    TILES = "tiles"
    """Their tiles do not fit beside what the plan keeps on chip."""
    BYTES = "bytes"
    """Together they would move more."""
    CYCLES = "cycles"
    """Together they would move less, or as much, and take longer."""
    CHOICE = "choice"
    """Nothing of these: the plan had other groups to choose, or they do not fit beside those."""


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """What steps move [byte] and take [cycle], by their greedy tiles.

    Tensors that pass off chip in whole count only where one step hands them to the other.
    """

    bytes: int
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """Where a step of a plan ends or begins.

    Attributes:
        neighbour: The step on the other side.
        is_after: Whether that one comes later.
        obstacle: What keeps them apart.
        operator: Of ``KIND``, the operator that can be no member.
        demand: Of ``COUNT``, all operators; of ``LINES``, what the lowest stripes need [byte].
        limit: Of ``COUNT``, the most; of ``LINES``, what lines may take; of ``TILES``, what the
            plan leaves [byte].
        apart: What they cost in two steps, where it was measured.
        together: What they would cost as a group, where it was measured.
    """

    neighbour: str
    is_after: bool
    obstacle: Obstacle
    operator: str = ""
    demand: int = 0
    limit: int = 0
    apart: StepEstimate | None = None
    together: StepEstimate | None = None


def borders(
    graph: Graph, arch: Architecture, plan: GraphSchedule, step: int, traffic: TrafficModel
) -> tuple[Border, ...]:
    """Return what keeps a step from being one with the step before it, and with the next.

    Args:
        graph: The network.
        arch: The machine.
        plan: The plan.
        step: A step of it.
        traffic: Tells what operators and groups move and take.
    """
    places = [place for place in (step - 1, step + 1) if 0 <= place < len(plan.order)]
    return tuple(_Pair(graph, arch, plan, step, place, traffic).border() for place in places)


@dataclass(frozen=True)
class _Pair:
    """A step and its neighbour.

    Attributes:
        graph: The network.
        arch: The machine.
        plan: The plan.
        step: The step.
        other: The one before or behind it.
        traffic: Tells what operators and groups move and take.
    """

    graph: Graph
    arch: Architecture
    plan: GraphSchedule
    step: int
    other: int
    traffic: TrafficModel

    def border(self) -> Border:
        """Return what keeps the two apart."""
        return self._forbidden() or self._without_space() or self._measured()

    @property
    def _steps(self) -> tuple[int, int]:
        return min(self.step, self.other), max(self.step, self.other)

    @property
    def _members(self) -> tuple[str, ...]:
        names = (self.plan.order[step] for step in self._steps)
        return tuple(member for name in names for member in self.plan.members(name))

    @property
    def _whole(self) -> Group:
        return Group(members=self._members)

    def _at(self, obstacle: Obstacle) -> Border:
        return Border(
            neighbour=self.plan.order[self.other],
            is_after=self.other > self.step,
            obstacle=obstacle,
        )

    def _forbidden(self) -> Border | None:
        """Return why they can be no group at all."""
        for name in self._members:
            if not can_be_member(self.graph, self.graph.producer[name], self.arch):
                return replace(self._at(Obstacle.KIND), operator=name)
        count = working(chains(self.graph, self._members))
        if count > MOST_CHAINS:
            return replace(self._at(Obstacle.COUNT), demand=count, limit=MOST_CHAINS)
        if not hand_on_rows(self.graph, self._members):
            return self._at(Obstacle.AXES)
        return None if is_group(self.graph, self._whole) else self._at(Obstacle.UNRELATED)

    def _without_space(self) -> Border | None:
        """Return that not even the lowest stripes leave space for their lines, or keep rows."""
        if self._offered:
            return None
        lowest = replace(self._whole, rows=1)
        if not hands_out(self.graph, lowest.members, lowest.rows):
            return self._at(Obstacle.ROWS)
        return replace(
            self._at(Obstacle.LINES),
            demand=line_bytes(self.graph, lowest),
            limit=int(LINES * self.plan.budget),
        )

    @cached_property
    def _offered(self) -> tuple[Group, ...]:
        return with_largest_stripes(self.graph, self._members, self.plan.budget)

    # -- measured -------------------------------------------------------------------------------

    def _measured(self) -> Border:
        """Return what their tiles tell, in the stripes that cost least."""
        space, apart = self._space, self._apart()
        found = [self._traffic(group_op(self.graph, group), space) for group in self._offered]
        costs = [_estimate(item) for item in found if item is not None]
        if not costs or apart is None:
            return replace(self._at(Obstacle.TILES), limit=space)
        together = min(costs, key=lambda cost: rating(cost.cycles, cost.bytes))
        return replace(self._at(_worse(apart, together)), apart=apart, together=together)

    @property
    def _space(self) -> int:
        """What the plan leaves in both steps, without what they would hand to each other [byte]."""
        inside = handed_on(self.graph, self._members)
        kept = {
            item
            for item in self.plan.residences
            if item.first_step <= self._steps[1] and item.last_step >= self._steps[0]
        }
        return self.plan.budget - sum(item.bytes for item in kept if item.tensor not in inside)

    def _traffic(self, op: Op, space: int) -> StreamedTraffic | None:
        here = residents(op, self.plan, self._steps[0]) | residents(op, self.plan, self._steps[1])
        return self.traffic(op, here, space) if space > 0 else None

    def _apart(self) -> StepEstimate | None:
        """Return what the two cost one after the other, where the plan has them."""
        total = StepEstimate(0, 0)
        for step in self._steps:
            op = unit_of(self.graph, self.plan, self.plan.order[step])
            place = self.plan.workspace(step)
            found = self.traffic(
                op, residents(op, self.plan, step), 0 if place is None else place.bytes
            )
            if found is None:
                return None
            total = StepEstimate(total.bytes + found.total, total.cycles + found.cycles)
        return replace(total, bytes=total.bytes + self._handed_on)

    @property
    def _handed_on(self) -> int:
        """What passes off chip in whole of that which a group would hand on inside [byte]."""
        plan, inside = self.plan, handed_on(self.graph, self._members)
        moves = (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores)
        return sum(
            item.bytes for item in moves if item.step in self._steps and item.tensor in inside
        )


def _estimate(found: StreamedTraffic) -> StepEstimate:
    return StepEstimate(found.total, found.cycles)


def _worse(apart: StepEstimate, together: StepEstimate) -> Obstacle:
    if together.bytes > apart.bytes:
        return Obstacle.BYTES
    return Obstacle.CYCLES if together.cycles > apart.cycles else Obstacle.CHOICE
