"""Give tiles and resident tensors their space, in the order of the layers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ....ir.arch import Architecture
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa.instructions import Space
from ....ir.isa.spaces import space_bytes
from ....ir.tiles.events import Placement
from ....ir.tiles.touches import Accesses, OnChip, Storage
from ..engine.address_space import AT_ONCE, AddressSpace, Claim, SpaceKey


@dataclass(frozen=True, slots=True)
class Fragmented(Exception):  # noqa: N818 - a signal, not an error
    """A tile of a step finds no space; the step must keep its addresses."""

    step: int


@dataclass
class Allocators:
    """Who is where on chip; local to one scheduling run.

    Attributes:
        accesses: Of the schedule whose tiles are placed.
        plan: Tells which tensors are resident.
        arch: The machine.
    """

    accesses: Accesses
    plan: GraphSchedule
    arch: Architecture
    _spaces: dict[SpaceKey, AddressSpace] = field(default_factory=dict[SpaceKey, AddressSpace])
    _claims: dict[Storage, tuple[SpaceKey, Claim]] = field(
        default_factory=dict[Storage, tuple[SpaceKey, Claim]]
    )
    _left: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _moved: dict[Placement, Placement] = field(default_factory=dict[Placement, Placement])

    def __post_init__(self) -> None:
        self._blocked = _blocked(self.plan)
        self._sizes = {**space_bytes(self.arch), Space.GB: self.plan.budget}

    def copy(self) -> "Allocators":
        """Return spaces that may go on in another way."""
        return replace(
            self,
            _spaces={memory: space.copy() for memory, space in self._spaces.items()},
            _claims=dict(self._claims),
            _left=dict(self._left),
            _moved=dict(self._moved),
        )

    def begin(self, storage: Storage) -> int | None:
        """Return when the space of a content is free; ``None`` if it has none, or is off chip."""
        found = self._claims.get(storage)
        return None if found is None else found[1].begin

    def moved(self, item: Placement) -> Placement:
        """Return where a tile is placed now; its events are still the old ones."""
        return self._moved[item]

    def forget(self, storage: Storage) -> None:
        """Note that a tensor is about to be brought in anew."""
        self._claims.pop(storage, None)

    def hold(self, tensor: OnChip) -> int:
        """Give a resident tensor the space that the plan has for it; return when it is free."""
        memory = Space.GB, 0
        claim = self._space(memory).claim(tensor.base, tensor.base + self.accesses.bytes(tensor))
        self._claims[tensor] = memory, claim
        return claim.begin

    def place(self, item: Placement, step: int, npu: int, *, move: bool) -> int:
        """Give a tile its space; return when that is free and its last placement is over [cycle].

        Args:
            item: The tile's placement as it was.
            step: Step that it belongs to.
            npu: Whose private space it goes to, 0 for shared ones.
            move: Whether it may take other addresses of its space.

        Raises:
            Fragmented: Free space is in pieces.
        """
        tile = self.accesses.graph.tiles[item.tile]
        memory = tile.space, npu
        space = self._space(memory)
        address: int | None = item.address
        if move:
            blocked = self._blocked[step] if tile.space is Space.GB else ()
            address = space.earliest(tile.occupied, blocked, self._sizes[tile.space])
            if address is None:
                raise Fragmented(step)
        claim = space.claim(address, address + tile.occupied, next_use=AT_ONCE)
        claim = replace(claim, begin=max(claim.begin, self._left.get((item.tile, npu), 0)))
        self._claims[item] = memory, claim
        self._moved[item] = replace(item, npu=npu, address=address)
        return claim.begin

    def use(self, storage: Storage, end: int) -> None:
        """Note that a content on chip is used until a cycle; nothing, off chip."""
        if storage in self._claims:
            memory, claim = self._claims[storage]
            self._spaces[memory].use(claim, max(end, claim.begin))

    def leave(self, item: Placement) -> None:
        """Note that a tile has been used for the last time."""
        memory, claim = self._claims[item]
        self._left[item.tile, memory[1]] = self._spaces[memory].leave(claim)

    def _space(self, memory: SpaceKey) -> AddressSpace:
        return self._spaces.setdefault(memory, AddressSpace())


def _blocked(plan: GraphSchedule) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """Return the address ranges that resident tensors hold at each step."""
    found: dict[int, list[tuple[int, int]]] = {step: [] for step in range(len(plan.order))}
    for item in plan.residences:
        for step in range(item.first_step, item.last_step + 1):
            found[step].append((item.address, item.address + item.bytes))
    return {step: tuple(sorted(ranges)) for step, ranges in found.items()}
