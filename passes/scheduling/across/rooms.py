"""Give tiles and resident tensors their room, in the order of the layers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa import Space
from ....ir.spaces import space_bytes
from ....ir.tile_events import Placement
from ....ir.touches import Accesses, OnChip, Storage
from .occupancy import AddressSpace, Stay


@dataclass(frozen=True, slots=True)
class NoRoom(Exception):  # noqa: N818 - a signal, not an error
    """A tile of a step finds no room; the step must keep its addresses."""

    step: int


_Memory: TypeAlias = tuple[Space, int]
"""A space, and the NPU that it belongs to; 0 where NPUs share it."""


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
    _spaces: dict[_Memory, AddressSpace] = field(default_factory=dict[_Memory, AddressSpace])
    _stays: dict[Storage, tuple[_Memory, Stay]] = field(
        default_factory=dict[Storage, tuple[_Memory, Stay]]
    )
    _left: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _moved: dict[Placement, Placement] = field(default_factory=dict[Placement, Placement])

    def __post_init__(self) -> None:
        self._blocked = _blocked(self.plan)
        self._sizes = {**space_bytes(self.arch), Space.GB: self.plan.budget}

    def copy(self) -> "Rooms":
        """Return rooms that may go on in another way."""
        return replace(
            self,
            _spaces={memory: space.copy() for memory, space in self._spaces.items()},
            _stays=dict(self._stays),
            _left=dict(self._left),
            _moved=dict(self._moved),
        )

    def begin(self, storage: Storage) -> int | None:
        """Return when the room of a content is free; ``None`` if it has none, or is off chip."""
        found = self._stays.get(storage)
        return None if found is None else found[1].begin

    def moved(self, item: Placement) -> Placement:
        """Return where a tile is placed now; its events are still the old ones."""
        return self._moved[item]

    def forget(self, storage: Storage) -> None:
        """Note that a tensor is about to be brought in anew."""
        self._stays.pop(storage, None)

    def hold(self, tensor: OnChip) -> int:
        """Give a resident tensor the room that the plan has for it; return when it is free."""
        memory = Space.GB, 0
        stay = self._space(memory).claim(tensor.base, tensor.base + self.accesses.bytes(tensor))
        self._stays[tensor] = memory, stay
        return stay.begin

    def place(self, item: Placement, step: int, npu: int, *, move: bool) -> int:
        """Give a tile its room; return when that is free and its last stay is over [cycle].

        Args:
            item: The tile's stay as it was.
            step: Step that it belongs to.
            npu: Whose private space it goes to, 0 for shared ones.
            move: Whether it may take other room of its space.

        Raises:
            NoRoom: Free room is in pieces.
        """
        tile = self.accesses.graph.tiles[item.tile]
        memory = tile.space, npu
        space = self._space(memory)
        address: int | None = item.address
        if move:
            blocked = self._blocked[step] if tile.space is Space.GB else ()
            address = space.earliest(tile.occupied, blocked, self._sizes[tile.space])
            if address is None:
                raise NoRoom(step)
        stay = space.claim(address, address + tile.occupied, is_live=True)
        stay = replace(stay, begin=max(stay.begin, self._left.get((item.tile, npu), 0)))
        self._stays[item] = memory, stay
        self._moved[item] = replace(item, npu=npu, address=address)
        return stay.begin

    def use(self, storage: Storage, end: int) -> None:
        """Note that a content on chip is used until a cycle; nothing, off chip."""
        if storage in self._stays:
            memory, stay = self._stays[storage]
            self._spaces[memory].use(stay, max(end, stay.begin))

    def leave(self, item: Placement) -> None:
        """Note that a tile has been used for the last time."""
        memory, stay = self._stays[item]
        self._left[item.tile, memory[1]] = self._spaces[memory].leave(stay)

    def _space(self, memory: _Memory) -> AddressSpace:
        return self._spaces.setdefault(memory, AddressSpace())


def _blocked(plan: GraphSchedule) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """Return the address ranges that resident tensors hold at each step."""
    found: dict[int, list[tuple[int, int]]] = {step: [] for step in range(len(plan.order))}
    for item in plan.residences:
        for step in range(item.first_step, item.last_step + 1):
            found[step].append((item.address, item.address + item.bytes))
    return {step: tuple(sorted(ranges)) for step, ranges in found.items()}
