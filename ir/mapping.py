"""One operator's loop nest: loops in order, spatial unrolling, and what each memory keeps.

A nest is one list of temporal loops, outermost first. Each operand says, for every memory level
that keeps it, from which loop inwards its tile at that level extends: its *allocation*. An even
mapping is the special case in which all operands of a level start at the same loop.

::

    nest (P=4 C=8 K=16) {
      dram [W I O]
        for C 2
      gb [I O]
        for P 4
        for C 4
      wb [W]
        par K 16 on lanes
    }
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .arch import Architecture
from .errors import InfeasibleError, Shortage, VerifyError
from .notebook import table_html
from .workload import DIMS, REDUCTION, RELEVANT, Dim, Operand, Workload


@dataclass(frozen=True, slots=True)
class Loop:
    """A temporal loop: ``extent`` steps along ``dim``."""

    dim: Dim
    extent: int


@dataclass(frozen=True, slots=True)
class SpatialLoop:
    """A loop unrolled over a fan-out of the architecture."""

    dim: Dim
    extent: int
    fanout: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """The tile of ``operand`` kept at ``level`` covers the temporal loops from ``start`` inwards.

    Attributes:
        operand: The tensor.
        level: Name of the memory level.
        start: Index into the nest's temporal loops, 0 .. number of loops.
    """

    operand: Operand
    level: str
    start: int


@dataclass(frozen=True, kw_only=True)
class LoopNest:
    """The loops of a workload, split and ordered for a memory hierarchy.

    Loop extents of one dimension multiply to at least the workload's extent; more is padding.

    Attributes:
        workload: What is computed.
        temporal: Temporal loops, outermost first.
        spatial: Unrolled loops; their order carries no meaning.
        allocations: Per operand and level that keeps it, outermost level first; kept sorted by
            ``start``, so that the text form is exact. Every operand has one at the off-chip
            level, with ``start`` 0. A level without one is bypassed.
    """

    workload: Workload
    temporal: tuple[Loop, ...]
    spatial: tuple[SpatialLoop, ...]
    allocations: tuple[Allocation, ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.allocations, key=lambda item: item.start))
        object.__setattr__(self, "allocations", ordered)

    @cached_property
    def extents(self) -> Mapping[Dim, int]:
        """Extent of every dimension with padding: the product of its loops."""
        found = dict.fromkeys(DIMS, 1)
        for loop in (*self.temporal, *self.spatial):
            found[loop.dim] *= loop.extent
        return found

    @cached_property
    def padding(self) -> Mapping[Dim, int]:
        """Steps added to each dimension that has any."""
        return {
            dim: self.extents[dim] - extent
            for dim, extent in self.workload.dims.items()
            if self.extents[dim] > extent
        }

    def _repr_html_(self) -> str:
        extents = " ".join(f"{dim}={size}" for dim, size in self.workload.dims.items() if size > 1)
        rows = [
            (" ".join(self._begun(position)), f"for {loop.dim} {loop.extent}")
            for position, loop in enumerate(self.temporal)
        ]
        rows.append((" ".join(self._begun(len(self.temporal))), ""))
        rows += [("", f"par {loop.dim} {loop.extent} on {loop.fanout}") for loop in self.spatial]
        return table_html(f"Loop nest, {extents or 'one MAC'}", ("kept from here", "loop"), rows)

    def _begun(self, position: int) -> Iterator[str]:
        """Yield what memories keep from a loop inwards, neighbours at one level together."""
        here = (item for item in self.allocations if item.start == position)
        for level, items in itertools.groupby(here, key=lambda item: item.level):
            yield f"{level} [{' '.join(item.operand for item in items)}]"

    def of(self, operand: Operand) -> tuple[Allocation, ...]:
        """Return the allocations of an operand, outermost level first."""
        return self._by_operand[operand]

    @cached_property
    def _by_operand(self) -> Mapping[Operand, tuple[Allocation, ...]]:
        own = self.allocations
        return {
            operand: tuple([item for item in own if item.operand is operand]) for operand in Operand
        }

    def start(self, operand: Operand, level: str) -> int | None:
        """Return where the tile of an operand at a level starts; ``None`` where it is bypassed."""
        for item in self.allocations:
            if item.operand is operand and item.level == level:
                return item.start
        return None

    def tile(self, arch: Architecture, allocation: Allocation) -> Mapping[Dim, int]:
        """Return the extents of an allocated tile: the loops inside it, temporal and spatial."""
        found = dict.fromkeys(DIMS, 1)
        for loop in self.temporal[allocation.start :]:
            found[loop.dim] *= loop.extent
        beneath = {fanout.name for fanout in arch.fanouts_beneath(allocation.level)}
        for loop in self.spatial:
            if loop.fanout in beneath:
                found[loop.dim] *= loop.extent
        return found

    def holds_psums(self, arch: Architecture, level: str) -> bool:
        """Whether outputs reach a level as partial sums.

        They do where a reduction loop lies outside of the next inner allocation of ``O`` and is
        separated from it by a loop that changes the output tile, or where a fan-out further out
        adds up the sums of several instances. The innermost allocation always accumulates.
        """
        inner = [item for item in self.of(Operand.O) if arch.index(item.level) > arch.index(level)]
        if not inner:
            return True
        above = {fanout.name for fanout in arch.fanouts_above(level)}
        if any(
            loop.fanout in above and loop.dim in REDUCTION and loop.extent > 1
            for loop in self.spatial
        ):
            return True
        start = inner[0].start
        while start > 0 and not self._turns(Operand.O, start - 1):
            start -= 1
        return any(loop.dim in REDUCTION and loop.extent > 1 for loop in self.temporal[:start])

    def _turns(self, operand: Operand, position: int) -> bool:
        loop = self.temporal[position]
        return loop.extent > 1 and loop.dim in RELEVANT[operand]

    def bytes_at(self, arch: Architecture, level: str) -> tuple[tuple[str, int], ...]:
        """Return what each operand takes of one instance of a level, as (operand, byte) pairs."""
        taken: list[tuple[str, int]] = []
        for item in self.allocations:
            if item.level != level:
                continue
            bits = self.workload.bits(item.operand)
            if item.operand is Operand.O and self.holds_psums(arch, level):
                bits = max(bits, arch.accumulator_bits)
            elements = self.workload.elements(item.operand, self.tile(arch, item))
            taken.append((item.operand.value, math.ceil(elements * bits / 8)))
        return tuple(taken)

    def verify(self, arch: Architecture) -> None:
        """Check that the nest computes its workload and fits the architecture.

        Raises:
            VerifyError: Loops do not cover the workload, or allocations are out of order.
            InfeasibleError: A tile or an unrolling does not fit; the shortage says what.
        """
        self.workload.verify()
        for loop in (*self.temporal, *self.spatial):
            if loop.extent < 1:
                raise VerifyError(f"loop {loop.dim} has extent {loop.extent}")
        for dim, extent in self.workload.dims.items():
            if self.extents[dim] < extent:
                raise VerifyError(f"loops over {dim} cover {self.extents[dim]} of {extent}")
        for operand in Operand:
            self._verify_allocations(arch, operand)
        self._verify_spatial(arch)
        self.verify_capacities(arch)

    def verify_capacities(self, arch: Architecture) -> None:
        """Check that the tiles fit the memories; all else is taken to be right.

        Raises:
            InfeasibleError: A tile does not fit; the shortage says what.
        """
        for level in arch.levels:
            if level.usable is not None:
                self._verify_capacity(arch, level.name, level.usable)

    def _verify_allocations(self, arch: Architecture, operand: Operand) -> None:
        own = self.of(operand)
        if not own or own[0].level != arch.off_chip.name or own[0].start != 0:
            raise VerifyError(f"{operand} must be kept whole at {arch.off_chip.name}")
        for item in own:
            if operand not in arch.level(item.level).holds:
                raise VerifyError(f"{item.level} cannot hold {operand}")
            if not 0 <= item.start <= len(self.temporal):
                raise VerifyError(f"{operand} at {item.level} starts at loop {item.start}")
        for outer, inner in itertools.pairwise(own):
            if arch.index(outer.level) >= arch.index(inner.level) or outer.start > inner.start:
                raise VerifyError(f"{operand}: {inner.level} must lie inside {outer.level}")

    def _verify_spatial(self, arch: Architecture) -> None:
        for loop in self.spatial:
            if loop.dim not in arch.fanout(loop.fanout).dims:
                raise VerifyError(f"{loop.dim} may not be unrolled over {loop.fanout}")
            if loop.dim in REDUCTION and loop.extent > 1 and not arch.fanout(loop.fanout).reduction:
                raise VerifyError(f"{loop.fanout} cannot reduce over {loop.dim}")
        limits = [((fanout.name,), fanout.size) for fanout in arch.fanouts]
        limits += [(group.fanouts, group.limit) for group in arch.groups]
        for names, limit in limits:
            used = math.prod(loop.extent for loop in self.spatial if loop.fanout in names)
            if used > limit:
                shortage = Shortage(
                    resource="+".join(names), demand=used, capacity=limit, unit="instances"
                )
                raise InfeasibleError("spatial unrolling does not fit", shortage=shortage)

    def _verify_capacity(self, arch: Architecture, level: str, usable: int) -> None:
        terms = self.bytes_at(arch, level)
        demand = sum(amount for _, amount in terms)
        if demand > usable:
            shortage = Shortage(resource=level, demand=demand, capacity=usable, terms=terms)
            raise InfeasibleError("a tile does not fit", shortage=shortage)


def even_nest(
    workload: Workload,
    arch: Architecture,
    temporal: Mapping[str, Sequence[Loop]],
    spatial: Sequence[SpatialLoop] = (),
    bypass: frozenset[tuple[Operand, str]] = frozenset(),
) -> LoopNest:
    """Build a nest from loops per level, the way CoSA and Timeloop write mappings.

    Loops of a level run *over* the tiles of the levels inside it: the tile at a level includes
    the level's own loops.

    Args:
        workload: What is computed.
        arch: The memory hierarchy.
        temporal: Loops of each level, outermost first; extent-one loops are dropped.
        spatial: Unrolled loops.
        bypass: (operand, level) pairs that are not kept although the level could.
    """
    loops: list[Loop] = []
    allocations: list[Allocation] = []
    for level in arch.levels:
        allocations += [
            Allocation(operand, level.name, len(loops))
            for operand in level.holds
            if (operand, level.name) not in bypass
        ]
        loops += [loop for loop in temporal.get(level.name, ()) if loop.extent > 1]
    return LoopNest(
        workload=workload,
        temporal=tuple(loops),
        spatial=tuple(loop for loop in spatial if loop.extent > 1),
        allocations=tuple(allocations),
    )
