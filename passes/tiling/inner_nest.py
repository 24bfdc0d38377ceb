"""What the array is programmed with: the loops inside of one operation, and layouts of tiles.

The compiler unrolls the loops outside of the on-chip tiles into instructions; each MAC instruction
executes ``temporal[start:]`` and the spatial loops of the nest, with every operand lying in its
*home*, the outermost on-chip memory that keeps it. Operations at the border of the workload are
smaller: their loops are clipped, unrolled loops last.

A tile in a memory of the array is spread over that memory's instances by the unrolled loops: those
that index it give each instance a part of its own, the others give several the same part.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, Shortage
from ...ir.isa.spaces import level_of_space
from ...ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from ...ir.tiles.graph import Tile
from ...ir.workload import DIMS, RELEVANT, Dim, Operand, Workload


def inner_nest(
    nest: LoopNest, arch: Architecture, tile: Workload, start: int, sums: str
) -> LoopNest:
    """Return what the array runs for one operation of ``temporal[start:]``.

    Args:
        nest: The operator's nest.
        arch: The machine.
        tile: The operation's own extents, at most those of the loops, and how its window steps
            over the tile of inputs.
        start: First temporal loop that belongs to the operation.
        sums: The memory that the operation leaves its sums in.

    Raises:
        InfeasibleError: A memory holds too little of what passes through it.
    """
    temporal, spatial = clip_loops(nest.temporal[start:], nest.spatial, tile.dims)
    width = 8 * arch.accumulator_bytes  # finishing is another instruction's work
    inner = LoopNest(
        workload=replace(tile, output_bits=width),
        temporal=temporal,
        spatial=spatial,
        allocations=tuple(
            item for operand in Operand for item in _from_home(nest, arch, operand, start, sums)
        ),
    )
    _check_passed_through(inner, arch)
    return inner


def _check_passed_through(inner: LoopNest, arch: Architecture) -> None:
    """Check that memories hold what passes through them from a home further out.

    The cost model lets finished outputs leave the innermost memory of sums; what leaves it here are
    sums, which are wider.

    Raises:
        InfeasibleError: A memory holds too little; the shortage says what.
    """
    homes = {operand: inner.of(operand)[0].level for operand in Operand}
    for name in dict.fromkeys(item.level for item in inner.allocations):
        found = inner.bytes_at(arch, name)
        terms = tuple((operand, size) for operand, size in found if homes[Operand(operand)] != name)
        demand, usable = sum(size for _, size in terms), arch.level(name).usable
        if usable is not None and demand > usable:
            shortage = Shortage(resource=name, demand=demand, capacity=usable, terms=terms)
            raise InfeasibleError("the sums of an operation do not fit", shortage=shortage)


def clip_loops(
    temporal: Sequence[Loop], spatial: Sequence[SpatialLoop], dims: Mapping[Dim, int]
) -> tuple[tuple[Loop, ...], tuple[SpatialLoop, ...]]:
    """Return the loops cut down to what ``dims`` needs: outer temporal loops shrink first.

    Args:
        temporal: Temporal loops, outermost first.
        spatial: Unrolled loops.
        dims: Extents that are needed.
    """
    left = dict(dims)

    def clipped(dim: Dim, extent: int) -> int:
        taken = min(extent, left[dim])
        left[dim] = math.ceil(left[dim] / taken)
        return taken

    unrolled = tuple(
        SpatialLoop(loop.dim, clipped(loop.dim, loop.extent), loop.fanout)
        for loop in reversed(spatial)
    )
    inner = tuple(Loop(loop.dim, clipped(loop.dim, loop.extent)) for loop in reversed(temporal))
    return inner[::-1], unrolled[::-1]


def _from_home(
    nest: LoopNest, arch: Architecture, operand: Operand, start: int, sums: str
) -> tuple[Allocation, ...]:
    """Return the memories that keep an operand, from its home inwards; the home keeps it whole."""
    home = _home(nest, arch, operand, sums)
    inner = [
        Allocation(operand, item.level, max(0, item.start - start))
        for item in nest.of(operand)
        if arch.index(item.level) > arch.index(home)
    ]
    return (Allocation(operand, home, 0), *inner)


def _home(nest: LoopNest, arch: Architecture, operand: Operand, sums: str) -> str:
    """Return the memory in which instructions find, or leave, an operand."""
    if operand is Operand.O:
        return sums
    if operand in arch.scratchpad_level.holds:
        return arch.scratchpad
    on_chip = [item.level for item in nest.of(operand) if item.level != arch.off_chip.name]
    return on_chip[0] if on_chip else arch.home(operand).name


def accumulates_inside(nest: LoopNest, arch: Architecture) -> bool:
    """Whether outputs are completed in a memory beneath the scratchpad, the accumulators.

    Args:
        nest: The nest.
        arch: The machine.
    """
    inner = nest.of(Operand.O)[-1]
    is_below = arch.index(inner.level) > arch.index(arch.scratchpad)
    return is_below and not nest.holds_psums(arch, arch.scratchpad)


def managed_bytes(nest: LoopNest, arch: Architecture, level: str) -> int:
    """Return what a memory of the array holds besides tiles with addresses, all instances [byte].

    That is the tiles of operands that pass through it from a home further out; two of each where
    the memory is double buffered.

    Args:
        nest: The nest.
        arch: The machine.
        level: Name of the memory.
    """
    sums = level if accumulates_inside(nest, arch) else arch.scratchpad
    homes = {operand: _home(nest, arch, operand, sums) for operand in Operand}
    taken = sum(
        amount for name, amount in nest.bytes_at(arch, level) if homes[Operand(name)] != level
    )
    halves = 2 if arch.level(level).double_buffered else 1
    return halves * taken * arch.instances(level)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a tile lies in the instances of a memory of the array.

    Attributes:
        layout: Loops inside of the tile and the unrolling, with one allocation: the tile.
        footprint: Bytes of its largest part, times the number of instances [byte].
    """

    layout: LoopNest
    footprint: int


def spread(
    nest: LoopNest, arch: Architecture, tile: Tile, extents: Mapping[Dim, int], start: int
) -> Spread | None:
    """Return how a tile is spread; ``None`` where it lies in a memory without instances.

    Args:
        nest: The operator's nest.
        arch: The machine.
        tile: A tile of weights or accumulators.
        extents: Of the tile along the dimensions that index it, and of all its operations
            along the others.
        start: First temporal loop inside of the tile.
    """
    operand = Operand.W if tile.role == Operand.W.value else Operand.O
    level = level_of_space(arch).get(tile.space)
    if tile.space.is_shared or level is None:
        return None
    dims = {dim: extents[dim] for dim in DIMS}
    temporal, spatial = clip_loops(nest.temporal[start:], nest.spatial, dims)
    layout = LoopNest(
        workload=nest.workload.resized(dims),
        temporal=temporal,
        spatial=spatial,
        allocations=(Allocation(operand, level, 0),),
    )
    beneath = {fanout.name for fanout in arch.fanouts_beneath(level)}
    part = math.prod(
        loop.extent
        for loop in (*temporal, *(item for item in spatial if item.fanout in beneath))
        if loop.dim in RELEVANT[operand]
    )
    return Spread(layout, part * tile.element_bytes * arch.instances(level))
