"""Schedules of operators by themselves, each made once for all operators that are alike.

    tiles of %block1.a    ->    tiles of %block2.a: other names, other addresses, the same events

Tiles and their times depend on what :mod:`..likeness` compares, on the loop nests, on how large the
workspace is, and on which resident tensors overlap. Where the workspace and the residents lie
decides nothing, as they are disjoint; so a schedule is moved there.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.graph import Graph, Op
from ....ir.isa.instructions import Space
from ....ir.mapping import LoopNest
from ....ir.module import Module
from ....ir.tiles.graph import Tile, TileOp, multiplier_name
from ....ir.tiles.schedule import TileSchedule
from ...base import require_arch
from ...tiling.residency import parameter_range, residency
from ..likeness import Likeness, Likenesses

Make: TypeAlias = Callable[[Module, Op], TileSchedule]
"""Schedules the tiles of one operator of a module."""

Nests: TypeAlias = tuple[LoopNest | None, ...]
"""Loop nests of an operator, or of the members of a group; ``None`` for those that have none."""

Made: TypeAlias = TileSchedule | InfeasibleError
"""A schedule, or why there is none."""


@dataclass(frozen=True)
class Place:
    """Where an operator finds its tensors at its step of a plan.

    Attributes:
        like: What it has in common with others.
        residents: First byte of its tensors that are resident, and the byte past their last, by
            their place among its tensors.
        workspace: First byte.
        workspace_bytes: Size.
        parameters: First byte of the memory for parameters that it may use.
    """

    like: Likeness
    residents: Mapping[int, tuple[int, int]]
    workspace: int
    workspace_bytes: int
    parameters: int

    @property
    def conditions(self) -> Hashable:
        """All that decides its tiles and their times, but for the loop nests."""
        overlaps = tuple(self._overlaps)
        return self.like.number, tuple(self.residents), self.workspace_bytes, overlaps

    @property
    def _overlaps(self) -> Iterator[tuple[int, int, int]]:
        """Yield the pairs of residents that overlap, with their distance [byte]."""
        for (one, low), (other, high) in combinations(self.residents.items(), 2):
            if low[0] < high[1] and high[0] < low[1]:
                yield one, other, high[0] - low[0]


@dataclass
class KnownSchedules:
    """Makes schedules, or moves what was made before; local to one run of passes."""

    _seen: tuple[Graph, Architecture] | None = None
    _likenesses: Likenesses | None = None
    _known: dict[tuple[Hashable, Nests], tuple[Place, Made]] = field(
        default_factory=dict[tuple[Hashable, Nests], tuple[Place, Made]]
    )

    def of(self, module: Module, op: Op, make: Make) -> TileSchedule:
        """Return the schedule of an operator by itself.

        Args:
            module: The network with its plan and its loop nests.
            op: The operator, or the one that stands for a group.
            make: Makes the schedule if none is known.

        Raises:
            InfeasibleError: The tiles do not fit.
        """
        place, plan = self._place(module, op), module.graph_schedule
        assert plan is not None
        mappings = map(module.mapping, plan.members(op.name))
        key = place.conditions, tuple(None if item is None else item.nest for item in mappings)
        first, found = self._known.get(key, (place, None))
        if found is None or (isinstance(found, InfeasibleError) and first != place):
            first, found = self._known[key] = place, _made(make, module, op)
        if isinstance(found, InfeasibleError):
            raise found
        return found if first == place else _Move(first, place).schedule(found)

    def conditions(self, module: Module, op: Op) -> Hashable:
        """Return what decides the schedule of an operator beside its nests.

        Args:
            module: The network with its plan.
            op: The operator, or the one that stands for a group.
        """
        return self._place(module, op).conditions

    def made(self, module: Module, op: Op) -> Mapping[Nests, Made]:
        """Return what was made for an operator, by its nests.

        Args:
            module: The network with its plan.
            op: The operator, or the one that stands for a group.
        """
        place, items = self._place(module, op), self._known.items()
        return {nests: found for (_, nests), (first, found) in items if first == place}

    def note(self, module: Module, op: Op, made: Mapping[Nests, Made]) -> None:
        """Note what was made for an operator elsewhere.

        Args:
            module: The network with its plan.
            op: The operator, or the one that stands for a group.
            made: What it is, by nests.
        """
        place = self._place(module, op)
        for nests, schedule in made.items():
            self._known.setdefault((place.conditions, nests), (place, schedule))

    def _place(self, module: Module, op: Op) -> Place:
        graph, arch, plan = module.graph, require_arch(module), module.graph_schedule
        assert plan is not None
        like, found = self._likeness(graph, arch, op), residency(graph, plan, op)
        return Place(
            like=like,
            residents={
                place: (start, start + graph.types[name].bytes)
                for place, name in enumerate(like.tensors)
                if (start := found.addresses.get(name)) is not None
            },
            workspace=found.workspace_address,
            workspace_bytes=found.workspace_bytes,
            parameters=parameter_range(arch, plan, op.name)[0],
        )

    def _likeness(self, graph: Graph, arch: Architecture, op: Op) -> Likeness:
        """Return the likeness of an operator; what is known of another network is forgotten."""
        same = self._seen is not None and self._seen[0] is graph and self._seen[1] is arch
        if self._likenesses is None or not same:
            self._seen, self._likenesses = (graph, arch), Likenesses(graph)
            self._known.clear()
        return self._likenesses.of(op)


def _made(make: Make, module: Module, op: Op) -> Made:
    try:
        return make(module, op)
    except InfeasibleError as error:
        return error


@dataclass(frozen=True)
class _Move:
    """From the place of one operator to that of another one that is alike."""

    old: Place
    new: Place

    def schedule(self, found: TileSchedule) -> TileSchedule:
        """Return the other operator's schedule."""
        graph = found.graph
        moved = replace(
            graph,
            operators=tuple(map(self._name, graph.operators)),
            tiles=tuple(map(self._tile, graph.tiles)),
            ops=tuple(map(self._operation, graph.ops)),
            preloaded=tuple(map(self._name, graph.preloaded)),
        )
        placements = tuple(
            replace(item, address=item.address + self._shifts.get(graph.tiles[item.tile].space, 0))
            for item in found.placements
        )
        return replace(found, graph=moved, placements=placements)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        pairs = tuple(zip(self.old.like.tensors, self.new.like.tensors, strict=True))
        return dict(pairs) | {multiplier_name(old): multiplier_name(new) for old, new in pairs}

    def _name(self, name: str) -> str:
        return self._names[name] if name else ""

    @cached_property
    def _shifts(self) -> Mapping[Space, int]:
        """How much further tiles lie in each space [byte]."""
        return {
            Space.GB: self.new.workspace - self.old.workspace,
            Space.PB: self.new.parameters - self.old.parameters,
        }

    @cached_property
    def _resident_shifts(self) -> Mapping[str, int]:
        """How much further each resident tensor lies, by its old name [byte]."""
        return {
            self.old.like.tensors[place]: self.new.residents[place][0] - start
            for place, (start, _) in self.old.residents.items()
        }

    def _tile(self, tile: Tile) -> Tile:
        address = tile.address
        if address is not None:
            address += self._resident_shifts[tile.tensor]
        return replace(tile, tensor=self._name(tile.tensor), address=address)

    def _operation(self, op: TileOp) -> TileOp:
        names = {key: self._name(getattr(op, key)) for key in ("operator", "member", "joined")}
        return replace(op, **names)
