"""Give tiles and resident tensors their room, in the order of the layers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa import Space
from ....ir.spaces import space_bytes
from ....ir.tile_events import Placement
from ....ir.tiles import TileGraph
from ....ir.touches import Accesses, OnChip, Storage
from .occupancy import AddressSpace, Stay


@dataclass(frozen=True, slots=True)
class NoRoom(Exception):  # noqa: N818 - a signal, not an error
    """A tile of a step finds no room; the step must keep its addresses."""

    step: int


@dataclass
class Rooms:
    """Who is where on chip; local to one scheduling run.

    Attributes:
        accesses: Of the schedule whose tiles are placed.
        plan: Tells which tensors are resident.
        arch: The machine.
    """

    accesses: Accesses
    plan: GraphSchedule
    arch: Architecture
    _spaces: dict[tuple[Space, int], AddressSpace] = field(
        default_factory=dict[tuple[Space, int], AddressSpace]
    )
    _stays: dict[Storage, Stay] = field(default_factory=dict[Storage, Stay])
    _live: dict[tuple[Space, int], dict[Placement, tuple[int, int]]] = field(
        default_factory=dict[tuple[Space, int], dict[Placement, tuple[int, int]]]
    )
    _left: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _moved: dict[Placement, Placement] = field(default_factory=dict[Placement, Placement])

    def __post_init__(self) -> None:
        self._blocked = _blocked(self.plan)
        self._sizes = {**space_bytes(self.arch), Space.GB: self.plan.budget}

    @property
    def _graph(self) -> TileGraph:
        return self.accesses.graph

    def stay(self, storage: Storage) -> Stay | None:
        """Return a content that has its room; ``None`` for others, and off chip."""
        return self._stays.get(storage)

    def moved(self, item: Placement) -> Placement:
        """Return where a tile is placed now; its events are still the old ones."""
        return self._moved[item]

    def forget(self, storage: Storage) -> None:
        """Note that a tensor is about to be brought in anew."""
        self._stays.pop(storage, None)

    def hold(self, tensor: OnChip) -> None:
        """Give a resident tensor the room that the plan has for it."""
        size = self.accesses.elements[tensor] * self.accesses.element_bytes[tensor]
        space = self._space(Space.GB, 0)
        self._stays[tensor] = space.claim(tensor.base, tensor.base + size)

    def place(self, item: Placement, step: int, npu: int, *, move: bool) -> None:
        """Give a tile its room; if it was here before, it must have left.

        Args:
            item: The tile's stay as it was.
            step: Step that it belongs to.
            npu: Whose private space it goes to, 0 for shared ones.
            move: Whether it may take other room of its space.

        Raises:
            NoRoom: Free room is in pieces.
        """
        tile = self._graph.tiles[item.tile]
        space = self._space(tile.space, npu)
        address: int | None = item.address
        live = self._live.setdefault((tile.space, npu), {})
        if move:
            blocked = self._blocked[step] if tile.space is Space.GB else ()
            address = space.earliest(
                tile.occupied, (*blocked, *live.values()), self._sizes[tile.space]
            )
            if address is None:
                raise NoRoom(step)
        live[item] = (address, address + tile.occupied)
        stay = space.claim(address, address + tile.occupied)
        stay.begin = max(stay.begin, self._left.get((item.tile, npu), 0))
        self._stays[item] = stay
        self._moved[item] = replace(item, npu=npu, address=address)

    def leave(self, item: Placement) -> None:
        """Note that a tile has been used for the last time."""
        npu = self._moved[item].npu
        self._live[self._graph.tiles[item.tile].space, npu].pop(item)
        self._left[(item.tile, npu)] = self._stays[item].end

    def _space(self, space: Space, npu: int) -> AddressSpace:
        return self._spaces.setdefault((space, npu), AddressSpace())


def _blocked(plan: GraphSchedule) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """Return the address ranges that resident tensors hold at each step."""
    found: dict[int, list[tuple[int, int]]] = {step: [] for step in range(len(plan.order))}
    for item in plan.residences:
        for step in range(item.first_step, item.last_step + 1):
            found[step].append((item.address, item.address + item.bytes))
    return {step: tuple(ranges) for step, ranges in found.items()}
