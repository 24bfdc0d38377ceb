"""The traffic of an operator as compiled: map it, cut it into tiles, count what these transfer.

Nests come as the mapper finds them, and improved for tiles, whichever are better scheduled. Of a
fused group with many stripes the first ones are tiled; the others go on as these do.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias

from .....ir.arch import Architecture
from .....ir.errors import InfeasibleError
from .....ir.graph import Graph, Op
from .....ir.graph_schedule import GraphSchedule, Residence, Workspace
from .....ir.groups import group_of
from .....ir.module import Mapping as OperatorMapping
from .....ir.module import Module
from .....ir.tiles.events import TRANSFERS
from .....ir.tiles.schedule import TileSchedule
from ....analysis.compulsory import compulsory_group_bytes
from ....base import Context
from ....deadline import NEVER, Deadline
from ....helpers import Helped, Helpers, nobody
from ....mapping.jobs import KnownNests, MapJob
from ....mapping.mapper import Mapper, MappingResult
from ....mapping.problem import MappingProblem, Objective
from ....mapping.recipes.in_tiles import InTiles, in_tiles
from ....mapping.registry import find_mapper
from ....tiling.groups.stripes import stripe_count
from ...likeness import Likeness, Likenesses
from ...map_groups import GroupMapping, Solve, mapping_of
from ...map_operators import MapOperators
from ...static.group_schedules import GroupSchedules
from ...static.schedule_tiles import schedule_operator
from ...static.static import best_of
from .model import Asked, StreamedTraffic

Count = Callable[[TileSchedule], StreamedTraffic]
"""Counts what a schedule moves and takes."""

_FEW, _SEVERAL = 4, 10
"""Stripes of a group that are scheduled: the rest is taken to go on as these do."""


_Key: TypeAlias = tuple[int, frozenset[int], int]
"""What answers depend on: a likeness, where residents stand among its tensors, the workspace."""


@dataclass(frozen=True)
class Terms:
    """What decides the traffic of an operator beside its residents and its workspace.

    Attributes:
        graph: The network; its operators must be known to the compiler.
        arch: The accelerator.
        mapper: Name of the mapper.
        objective: What the mapper minimises.
        seed: Of the mapper.
    """

    graph: Graph
    arch: Architecture
    mapper: str = "output-stationary"
    objective: Objective = Objective.LATENCY
    seed: int = 0


class TiledTraffic:
    """The traffic model that maps and tiles each operator as the compiler will.

    Results are remembered, for operators that are alike too, and equal questions to the mapper are
    asked once.

    Args:
        terms: What decides the traffic.
        helpers: Who answers what is asked ahead.
        deadline: When these begin with no further answer.
        nests: Where all nests are kept that are found.
    """

    def __init__(
        self,
        terms: Terms,
        helpers: Helpers = nobody,
        deadline: Deadline = NEVER,
        nests: KnownNests | None = None,
    ) -> None:
        self._terms = terms
        self._deadline = deadline
        self._helpers = helpers
        self._known: dict[_Key, tuple[Likeness, StreamedTraffic | None]] = {}
        self._likenesses = Likenesses(terms.graph)
        self._nests = KnownNests() if nests is None else nests
        self._finder = MapOperators(mapper=terms.mapper, objective=terms.objective)
        own, npus = find_mapper(terms.mapper), len(terms.arch.npus)
        self._plain = in_tiles(own, npus)
        mappers = dict.fromkeys((self._plain, InTiles(mapper=own, npus=npus)))
        self._solvers = tuple(partial(self._solved, who=who) for who in mappers)

    def __call__(self, op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        """Return what an operator moves and takes; a :data:`~.model.TrafficModel`.

        Args:
            op: The operator, or the one that stands for a group.
            resident: Its resident tensors.
            workspace: What its tiles have [byte].

        Returns:
            ``None`` where the tiles do not fit.
        """
        key, like = self._key(op, resident, workspace)
        if key not in self._known:
            self._known[key] = like, self._measured(op, resident, workspace)
        first, found = self._known[key]
        return found if found is None or first is like else _renamed(found, first, like)

    def of(self, graph: Graph) -> "TiledTraffic":
        """Return the model of another network on the same terms, that knows what this one does.

        Args:
            graph: The network.
        """
        other = TiledTraffic(
            replace(self._terms, graph=graph), self._helpers, self._deadline, self._nests
        )
        other._known = self._known
        other._likenesses = self._likenesses.of_network(graph)
        return other

    def ahead(self, asked: Sequence[Asked]) -> None:
        """Let helpers find what is not known of several questions; an :data:`~.model.Ahead`.

        Args:
            asked: The questions.
        """
        unknown: dict[_Key, tuple[Likeness, _Question]] = {}
        for item in asked:
            key, like = self._key(*item)
            if key not in self._known:
                unknown.setdefault(key, (like, _Question(self._terms, *item, self._deadline)))
        if len(unknown) < 2:
            return
        answers = self._helpers([question for _, question in unknown.values()])
        for (key, (like, _)), found in zip(unknown.items(), answers, strict=True):
            if found is not None:
                self._known[key] = like, found.found.traffic
                self._nests.by_job.update(found.found.nests)

    def answer(self, op: Op, resident: frozenset[str], workspace: int) -> "_Answer":
        """Return what an operator moves and takes, with the nests that were not known before.

        Args:
            op: The operator, or the one that stands for a group.
            resident: Its resident tensors.
            workspace: What its tiles have [byte].
        """
        known = len(self._nests.by_job)
        traffic = self(op, resident, workspace)
        return _Answer(traffic, self._nests.since(known))

    def _key(self, op: Op, resident: frozenset[str], workspace: int) -> tuple[_Key, Likeness]:
        like = self._likenesses.of(op)
        return (like.number, like.places(resident), workspace), like

    def _measured(self, op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        terms = self._terms
        plan = _plan_of_one(terms.graph, op, resident, workspace)
        module = Module(graph=terms.graph, arch=terms.arch, graph_schedule=plan)
        group = group_of(op)
        counted = partial(_counted, terms.graph, op, resident=resident, workspace=workspace)
        try:
            if group is None:
                return counted(self._scheduled(op, module, plan))
            asked = GroupMapping(module, group, terms.objective, terms.seed)
            return _of_group(asked, self._solvers, self._solved, op, counted)
        except InfeasibleError:
            return None

    def _scheduled(self, op: Op, module: Module, plan: GraphSchedule) -> TileSchedule:
        """Return the tiles of an operator by the nests that are better scheduled.

        Raises:
            InfeasibleError: They do not fit, whichever nests are taken.
        """
        terms = self._terms
        problems = self._finder.problems(terms.graph, plan, terms.arch, terms.seed)
        asked = [(problem, name) for name, problem in problems]
        known: dict[tuple[OperatorMapping, ...], TileSchedule] = {}
        complaint: InfeasibleError | None = None
        for solve in self._solvers:
            try:
                found = solve(asked)
                nests = tuple(mapping_of(name, found[problem]) for name, problem in problems)
                if nests not in known:
                    mapped = replace(module, mappings=nests)
                    known[nests] = schedule_operator(mapped, op, other_ways=False)
            except InfeasibleError as error:
                complaint = complaint or error
        if complaint is not None and not known:
            raise complaint
        return best_of(known.values())

    def _solved(
        self, asked: Sequence[tuple[MappingProblem, str]], who: Mapper | None = None
    ) -> Mapping[MappingProblem, MappingResult]:
        mapper = who or self._plain
        context = Context(seed=self._terms.seed, solve_jobs=self._nests.solve)
        answers: dict[MappingProblem, MappingResult] = {}
        for item in asked:  # one by one, as none is asked behind one that nothing fits
            answers |= self._finder.solve((item,), self._terms.arch, context, mapper)
        return answers


@dataclass(frozen=True)
class _Answer:
    """What a helper tells of an operator.

    Attributes:
        traffic: What it moves and takes; ``None`` where the tiles do not fit.
        nests: Those that the helper has found for it.
    """

    traffic: StreamedTraffic | None
    nests: Mapping[MapJob, MappingResult]


@dataclass(frozen=True)
class _Question:
    """What :class:`TiledTraffic` is asked, with all that decides the answer.

    Attributes:
        terms: What decides the traffic beside the others.
        op: The operator, or the one that stands for a group.
        resident: Its resident tensors.
        workspace: What its tiles have [byte].
        deadline: When it is not answered any more.
    """

    terms: Terms
    op: Op
    resident: frozenset[str]
    workspace: int
    deadline: Deadline

    def answer(self) -> Helped[_Answer] | None:
        """Return the answer, with all that this process has found for the same terms before."""
        if self.deadline.is_over:
            return None
        return Helped(_traffic_of(self.terms).answer(self.op, self.resident, self.workspace))


@lru_cache(maxsize=1)
def _traffic_of(terms: Terms) -> TiledTraffic:
    """Return the traffic model of a helper, which remembers what it has found."""
    return TiledTraffic(terms)


def _of_group(
    asked: GroupMapping, solvers: Iterable[Solve], guide: Solve, op: Op, counted: Count
) -> StreamedTraffic:
    """Return what a group moves and takes, of many stripes as far as the first ones tell.

    Rows that come only now and then, because others before have brought them, may be missed by
    that: nothing is taken to move less than it must.

    Args:
        asked: Asks for the nests of the group.
        solvers: Answer; those are taken whose tiles are better scheduled.
        guide: Answers roughly, to share out the weights' memory.
        op: The operator that stands for the group.
        counted: Counts what a schedule moves.

    Raises:
        InfeasibleError: The tiles do not fit.
    """
    graph, group = asked.module.graph, asked.group
    count = stripe_count(graph, group.members, group.rows)
    first = None if count <= _SEVERAL else _SEVERAL
    several = _begun(asked, solvers, guide, first)
    if first is None:
        return counted(several.best)
    order, few = several.best_order, replace(several, first=_FEW)
    begun = few.with_order(order)
    found = _continued(counted(begun), counted(several.best), count)
    least = compulsory_group_bytes(graph, group.members)
    moved = ((name, max(size, least.get(name, 0))) for name, size in found.activations)
    return replace(found, activations=tuple(moved))


def _begun(
    asked: GroupMapping, solvers: Iterable[Solve], guide: Solve, first: int | None
) -> GroupSchedules:
    """Return the schedules by the nests that are better scheduled without lag.

    Equal nests are tried once.
    """
    known: dict[Hashable, GroupSchedules] = {}
    refused: dict[Hashable, InfeasibleError] = {}

    def in_turn(module: Module, op: Op) -> TileSchedule:
        key = tuple(item.nest for item in module.mappings)
        if key in refused:
            raise refused[key]
        try:
            schedules = GroupSchedules(module, op, first, other_ways=False)
            return known.setdefault(key, schedules).in_turn
        except InfeasibleError as error:
            refused[key] = error
            raise

    complaints: list[InfeasibleError] = []
    for solve in solvers:
        try:
            replace(asked, make=in_turn).best(solve, guide)
        except InfeasibleError as error:
            complaints.append(error)
    found = [item for key, item in known.items() if key not in refused]
    if not found:
        raise complaints[0]
    best = best_of(item.in_turn for item in found)
    return next(item for item in found if item.in_turn is best)


def _renamed(found: StreamedTraffic, first: Likeness, like: Likeness) -> StreamedTraffic:
    """Return the traffic of an operator, found for one that is like it."""
    names = dict(zip(first.tensors, like.tensors, strict=True))
    activations = tuple((names[name], size) for name, size in found.activations)
    return replace(found, activations=activations)


def _continued(few: StreamedTraffic, several: StreamedTraffic, count: int) -> StreamedTraffic:
    """Return what many stripes move and take, if they go on as the several first ones do.

    A few stripes may be scheduled worse than several, which says nothing about the others.

    Args:
        few: Of the first ``_FEW`` stripes.
        several: Of the first ``_SEVERAL`` stripes.
        count: Of all stripes.
    """
    rounds = (count - _SEVERAL) / (_SEVERAL - _FEW)

    def at_last(early: int, late: int) -> int:
        return round(late + rounds * max(0, late - early))

    pairs = zip(few.activations, several.activations, strict=True)
    return replace(
        several,
        activations=tuple((name, at_last(one, other)) for (name, one), (_, other) in pairs),
        constants=at_last(few.constants, several.constants),
        cycles=at_last(few.cycles, several.cycles),
    )


def _plan_of_one(graph: Graph, op: Op, resident: frozenset[str], workspace: int) -> GraphSchedule:
    """Return the plan of a single step: the workspace, then the residents behind it."""
    residences: list[Residence] = []
    address = workspace
    for name in sorted(resident):
        size = graph.types[name].bytes
        residences.append(
            Residence(tensor=name, first_step=0, last_step=0, address=address, bytes=size)
        )
        address += size
    places = (Workspace(step=0, address=0, bytes=workspace),) if workspace else ()
    group = group_of(op)
    return GraphSchedule(
        budget=address,
        order=(op.name,),
        residences=tuple(residences),
        workspaces=places,
        groups=() if group is None else (group,),
    )


def _counted(
    graph: Graph, op: Op, schedule: TileSchedule, resident: frozenset[str], workspace: int
) -> StreamedTraffic:
    moved: dict[str, int] = defaultdict(int)
    for event in schedule.events:
        if event.kind in TRANSFERS:
            tile = schedule.graph.tiles[event.subject]
            moved[tile.tensor] += tile.bytes
    activations = tuple(
        (name, moved[name])
        for name in op.touched
        if not graph.is_constant(name) and name not in resident
    )
    return StreamedTraffic(
        activations=activations,
        constants=sum(moved.values()) - sum(size for _, size in activations),
        workspace=workspace,
        cycles=schedule.cycles,
        operations=len(schedule.graph.ops),
    )
