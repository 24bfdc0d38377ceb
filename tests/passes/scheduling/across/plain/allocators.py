"""Give tiles and resident tensors their space, in the order of the layers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from accnn.ir.arch import Architecture
from accnn.ir.graph_schedule import GraphSchedule
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.tiles.events import Placement
from accnn.ir.tiles.touches import Accesses, OnChip, Storage
from tests.passes.scheduling.across.plain.address_space import AddressSpace, Claim, Ints, SpaceKey
from tests.passes.scheduling.across.plain.layouts import Layout

_NOTHING: Ints = np.empty((0, 2), np.int64)


@dataclass
class Allocators:
    """Who is where on chip; local to one scheduling run.

    Attributes:
        accesses: Of the schedule whose tiles are placed.
        layouts: How they lay so far, by operator and memory.
        plan: Tells which tensors are resident.
        arch: The machine.
    """

    accesses: Accesses
    layouts: Mapping[tuple[int, SpaceKey], Layout]
    plan: GraphSchedule
    arch: Architecture
    _spaces: defaultdict[SpaceKey, AddressSpace] = field(
        default_factory=lambda: defaultdict(AddressSpace)
    )
    _claims: dict[Storage, tuple[SpaceKey, Claim]] = field(
        default_factory=dict[Storage, tuple[SpaceKey, Claim]]
    )
    _left: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _moved: dict[Placement, Placement] = field(default_factory=dict[Placement, Placement])
    _chosen: dict[tuple[int, SpaceKey], Layout] = field(
        default_factory=dict[tuple[int, SpaceKey], Layout]
    )

    def __post_init__(self) -> None:
        self._blocked = _blocked(self.plan)
        self._sizes = {**space_bytes(self.arch), Space.GB: self.plan.budget}

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
        claim = self._spaces[memory].claim(tensor.base, tensor.base + self.accesses.bytes(tensor))
        self._claims[tensor] = memory, claim
        return claim.begin

    def place(self, item: Placement, step: int, npu: int, quiet: int | None) -> int:
        """Give a tile its space; return when that is free and its last placement is over [cycle].

        Args:
            item: The tile's placement as it was.
            step: Step that it belongs to.
            npu: Whose private space it goes to, 0 for shared ones.
            quiet: Before that the space cannot be used anyway; a tile whose own place is free later
                may lie elsewhere, where this is not ``None`` [cycle].
        """
        tile = self.accesses.graph.tiles[item.tile]
        memory = tile.space, npu
        space, layout = self._spaces[memory], self._layout(item, step, memory)
        low, high = layout.place(item, tile.occupied)
        if quiet is not None and space.free_at(low, high) > quiet:
            walls = np.concatenate((self._walls(step, tile.space), layout.beside(item)))
            walls = walls[np.argsort(walls[:, 0], kind="stable")]
            other = space.earliest(tile.occupied, walls, self._sizes[tile.space], quiet)
            if other is not None:
                low, high = other, other + tile.occupied
        claim = space.claim(low, high, is_live=True)
        claim = Claim(claim.number, max(claim.begin, self._left.get((item.tile, npu), 0)))
        self._claims[item] = memory, claim
        self._moved[item] = replace(item, npu=npu, address=low)
        return claim.begin

    def _layout(self, item: Placement, step: int, memory: SpaceKey) -> Layout:
        """Return how an operator's tiles lie in a memory, decided when the first one comes."""
        key = step, (memory[0], item.npu)
        if key not in self._chosen:
            ways = self.layouts[key].ways(self._range(step, memory[0]))
            self._chosen[key] = min(ways, key=lambda way: way.wait(self._spaces[memory]))
        return self._chosen[key]

    def _range(self, step: int, space: Space) -> tuple[int, int]:
        """Return what the tiles of an operator may use of a memory."""
        if space is not Space.GB:
            return 0, self._sizes[space]
        workspace = self.plan.workspace(step)
        assert workspace is not None, "tiles in the scratchpad have a workspace"
        return workspace.address, workspace.address + workspace.bytes

    def _walls(self, step: int, space: Space) -> Ints:
        return self._blocked[step] if space is Space.GB else _NOTHING

    def use(self, storage: Storage, end: int) -> None:
        """Note that a content on chip is used until a cycle; nothing, off chip."""
        found = self._claims.get(storage)
        if found is not None:
            memory, claim = found
            self._spaces[memory].use(claim, max(end, claim.begin))

    def leave(self, item: Placement) -> None:
        """Note that a tile has been used for the last time."""
        memory, claim = self._claims[item]
        self._left[item.tile, memory[1]] = self._spaces[memory].leave(claim)


def _blocked(plan: GraphSchedule) -> Mapping[int, Ints]:
    """Return the address ranges that resident tensors hold at each step ``[tensors, 2]``."""
    found: dict[int, list[tuple[int, int]]] = {step: [] for step in range(len(plan.order))}
    for item in plan.residences:
        for step in range(item.first_step, item.last_step + 1):
            found[step].append((item.address, item.address + item.bytes))
    return {step: np.array(item, np.int64).reshape(-1, 2) for step, item in found.items()}
