"""An operator cut into tiles that fit on chip, and the operations on them.

A tile is a box of one tensor, the unit that is placed and transferred. A tile operation is the
work of one NPU on such tiles: one instruction of the MAC array, the vector unit or a copy.
Operations of the MAC array add into accumulator tiles; those that add into the same one, or into
the same part of it, commute, and the schedule says which one clears each part. When all sums are in
it, one more operation *finishes* the tile: it turns accumulators into outputs.

Several operators may share one tile graph, as a fused group. What one of them hands to another lies
in *inner* tiles, which are written and read on chip, and neither loaded nor stored; or in tiles of
outputs, which are stored, too, if others need it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..errors import VerifyError
from ..isa.instructions import Space, Unit
from ..mapping import LoopNest
from ..workload import DIMS, Dim


class Role(StrEnum):
    """What a tile is to its operator."""

    W = "W"
    I = "I"  # noqa: E741 - the field's name
    O = "O"  # noqa: E741 - the field's name
    PSUM = "psum"
    PARAM = "param"
    INNER = "inner"


class Range(NamedTuple):
    """Indices ``start, start+step, ..`` below ``stop`` along one axis.

    There are more of these than of any other value, so it is a tuple.
    """

    start: int
    stop: int
    step: int = 1

    @property
    def size(self) -> int:
        """Number of indices."""
        return -(-(self.stop - self.start) // self.step)


@lru_cache(maxsize=4096)
def dense_strides(shape: tuple[int, ...], step: int = 1) -> tuple[int, ...]:
    """Return the strides of a row-major tensor whose innermost one is ``step``."""
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A box of a tensor, densely packed in row-major order where it is placed.

    Attributes:
        tensor: Name of the tensor; accumulators carry the name of their result.
        role: What it is to the operator.
        view: The tensor, seen with the axes that the operator tiles: strides in elements, one
            for each axis of ``box``. Weights are seen as ``G K C R S``, inputs of the MAC array
            as ``N G C row column``, its outputs as ``N G K P Q``, parameters as ``G K``.
        box: Index range along each axis of the view.
        element_bytes: Size of one element; accumulators have their own.
        space: Where it is placed; in a private space, once for every NPU that touches it.
        address: Set if the whole tensor is resident on chip: its own tiles are then never
            placed. ``box`` is the whole tensor, or the part that operations touch (a *window*);
            this is the address of its first element.
        layout: In ``wb`` and ``ab``, the index of the nest that spreads it over their instances.
        footprint: In ``wb`` and ``ab``, the bytes that it takes of all instances together: what
            its largest part takes, in each of them [byte].
        rolls: Rows of a plane that are there at once: each plane begins so many rows behind the
            one before, and its later rows take the place of the next one's earlier ones. Rows are
            the last axis but one; 0: all of them are there.
    """

    tensor: str
    role: Role
    view: tuple[int, ...]
    box: tuple[Range, ...]
    element_bytes: int
    space: Space
    address: int | None = None
    layout: int | None = None
    footprint: int | None = None
    rolls: int = 0

    @property
    def occupied(self) -> int:
        """Bytes of its space that nothing else may take meanwhile."""
        return self.bytes if self.footprint is None else self.footprint

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return tuple(axis.size for axis in self.box)

    @cached_property
    def bytes(self) -> int:
        """Size on chip [byte]."""
        if self.rolls:
            *planes, rows, columns = self.shape
            return ((math.prod(planes) - 1) * self.rolls + rows) * columns * self.element_bytes
        return math.prod(self.shape) * self.element_bytes

    @property
    def is_resident(self) -> bool:
        """Whether it needs no transfer."""
        return self.address is not None

    @property
    def strides(self) -> tuple[int, ...]:
        """Byte stride along each axis of the view, where the tile lies on chip.

        A placed tile is dense, or rolls; a resident one keeps the layout of its tensor.
        """
        if self.is_resident:
            return tuple(
                axis.step * stride * self.element_bytes
                for axis, stride in zip(self.box, self.view, strict=True)
            )
        if self.rolls:
            *planes, _, columns = self.shape
            return dense_strides((*planes, self.rolls, columns), self.element_bytes)
        return dense_strides(self.shape, self.element_bytes)


_SUMS_OF_BOX = itemgetter(*map(DIMS.index, (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TileOp:
    """The work of one instruction on tiles.

    Attributes:
        operator: Name of the operator it is part of, or of the group.
        unit: The kind of engine that executes it.
        box: For the MAC array: index ranges over R S P Q C K N G. For finishing: those of the
            accumulators, ``N G K P Q``. Otherwise over the axes of the result (of the operand, for
            copies that gather into a result).
        reads: Indices of the tiles it reads, in the order of the operator's operands; for
            finishing the accumulators, then the parameters.
        out: Index of the tile that it writes; on the MAC array the accumulators that it adds to.
        nests: Index of the loops that the array of each NPU runs, for the MAC array; else empty.
        cost: Lane cycles of one element on the vector unit; zero for the MAC array and for copies.
        read_bytes: What it reads of the scratchpad, if it does not run on the MAC array; sums that
            it finishes do not count [byte].
        written_bytes: What it writes there, if it neither runs on the MAC array nor finishes
            [byte].
        member: Which operator of the group; empty where ``operator`` is no group.
        shifts: For each tile that is read, then for the one that is written: the channel of the
            tile's tensor that is the first one of the operator's own, where that lies in place in
            a concatenation; empty: 0 of all.
        written: For finishing into a tile that has the axes of its tensor: what is written along
            those of the operator's own result. Otherwise empty; it is the box then.
        joined: The member that what is finished passes on to, in the lanes of the vector unit: its
            result is written, its other operand, or its table, is the last tile that is read.
            Otherwise empty.
        rows: The rows that it reads of tiles that roll; empty where it reads no such tile.
    """

    operator: str
    unit: Unit
    box: tuple[Range, ...]
    reads: tuple[int, ...]
    out: int
    nests: tuple[int, ...] = ()
    cost: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    member: str = ""
    shifts: tuple[int, ...] = ()
    written: tuple[Range, ...] = ()
    joined: str = ""
    rows: tuple[Range, ...] = ()

    @property
    def works_for(self) -> str:
        """Name of the operator of the network whose work it is."""
        return self.member or self.operator

    def shift(self, position: int) -> int:
        """Return the channel of a tile's tensor at which the operator's own begins.

        Args:
            position: Of the tile among those that are read; -1 for the one that is written.
        """
        return self.shifts[position] if self.shifts else 0

    @property
    def accumulates(self) -> bool:
        """Whether it adds to accumulators."""
        return self.unit is Unit.MX

    @property
    def sums(self) -> tuple[Range, ...]:
        """Index ranges ``N G K P Q`` of the accumulators that it adds to."""
        return _SUMS_OF_BOX(self.box)


def shifted(box: tuple[Range, ...], channels: int) -> tuple[Range, ...]:
    """Return a box along a tensor's own axes, so many channels further on.

    Args:
        box: The box, along the axes ``N C H W`` or rows and columns.
        channels: How many.
    """
    if not channels:
        return box
    axis = box[1]
    return box[0], Range(axis.start + channels, axis.stop + channels, axis.step), *box[2:]


@dataclass(frozen=True, kw_only=True)
class TileGraph:
    """Tiles and operations of one operator, or of several.

    Attributes:
        operators: Names, in execution order.
        tiles: All tiles.
        ops: All operations, in the order of the static loop nest.
        nests: What operations and tiles refer to: loops inside of one operation, and layouts.
        preloaded: Resident tensors that lie on chip from the start; none, where the graph is that
            of a whole network.
    """

    operators: tuple[str, ...]
    tiles: tuple[Tile, ...]
    ops: tuple[TileOp, ...]
    nests: tuple[LoopNest, ...] = ()
    preloaded: tuple[str, ...] = ()

    def sums_of(self, op: TileOp) -> int | None:
        """Return the accumulator tile that an operation adds to or finishes, if there is one."""
        if op.accumulates:
            return op.out
        return op.reads[0] if self.finishes(op) else None

    def finishes(self, op: TileOp) -> bool:
        """Whether an operation turns accumulators into outputs."""
        return bool(op.reads) and self.tiles[op.reads[0]].role is Role.PSUM

    def written_box(self, op: TileOp) -> tuple[Range, ...]:
        """Return what an operation writes, along the axes of the tile that it writes."""
        return shifted(op.written or op.box, op.shift(-1))

    def rows(self, op: TileOp, tile: int) -> tuple[int, ...] | None:
        """Return which rows of a tile that rolls an operation reads or writes; ``None`` of others.

        Args:
            op: The operation.
            tile: Number of the tile.
        """
        if not self.tiles[tile].rolls:
            return None
        rows = self.written_box(op)[-2] if tile == op.out else op.rows[0]
        return tuple(range(rows.start, rows.stop, rows.step))

    def keeps(self, op: TileOp) -> bool:
        """Whether an operation copies rows of a tile into an inner one of the same tensor."""
        if not op.reads or self.finishes(op):
            return False
        first, out = self.tiles[op.reads[0]], self.tiles[op.out]
        return out.role is Role.INNER and first.tensor == out.tensor

    @cached_property
    def writers(self) -> Mapping[int, tuple[int, ...]]:
        """Operations that write, or add to, each tile, by tile."""
        found: dict[int, list[int]] = {}
        for number, op in enumerate(self.ops):
            found.setdefault(op.out, []).append(number)
        return {tile: tuple(ops) for tile, ops in found.items()}

    @cached_property
    def readers(self) -> Mapping[int, tuple[int, ...]]:
        """Operations that read each tile, by tile."""
        found: dict[int, list[int]] = {}
        for number, op in enumerate(self.ops):
            for tile in dict.fromkeys(op.reads):
                found.setdefault(tile, []).append(number)
        return {tile: tuple(ops) for tile, ops in found.items()}

    def verify(self) -> None:
        """Check that indices exist and that boxes are not empty.

        Raises:
            VerifyError: Names the tile or operation.
        """
        for number, tile in enumerate(self.tiles):
            if not tile.box or any(axis.size < 1 for axis in tile.box):
                raise VerifyError(f"tile {number} of %{tile.tensor} is empty")
            if len(tile.box) != len(tile.view):
                raise VerifyError(f"tile {number} of %{tile.tensor}: box and view disagree")
            if tile.rolls and not _can_roll(tile):
                raise VerifyError(f"tile {number} of %{tile.tensor} cannot roll")
            if tile.layout is not None and not 0 <= tile.layout < len(self.nests):
                raise VerifyError(f"tile {number} of %{tile.tensor} has no such layout")
            if tile.occupied < tile.bytes:
                raise VerifyError(f"tile {number} of %{tile.tensor} is larger than its footprint")
        count = len(self.tiles)
        for number, op in enumerate(self.ops):
            if any(not 0 <= tile < count for tile in (*op.reads, op.out)):
                raise VerifyError(f"tile operation {number} uses a tile that does not exist")
            if any(not 0 <= item < len(self.nests) for item in op.nests):
                raise VerifyError(f"tile operation {number} has a nest that does not exist")
            if op.accumulates and len(op.box) != len(DIMS):
                raise VerifyError(f"tile operation {number} has {len(op.box)} ranges for the array")
            if op.accumulates and not _covers(self.tiles[op.out].box, op.sums):
                raise VerifyError(f"tile operation {number} adds outside of tile {op.out}")
            if op.accumulates != (self.tiles[op.out].role is Role.PSUM):
                raise VerifyError(f"tile operation {number} cannot write tile {op.out}")
            if op.joined and not (self.finishes(op) and op.written):
                raise VerifyError(f"tile operation {number} finishes nothing for %{op.joined}")
            if op.operator not in self.operators:
                raise VerifyError(f"tile operation {number} works for unknown %{op.operator}")
            if len(op.rows) != any(self.tiles[tile].rolls for tile in op.reads):
                raise VerifyError(f"tile operation {number} has {len(op.rows)} ranges of rows")
            if len(op.shifts) not in (0, len(op.reads) + 1) or any(item < 0 for item in op.shifts):
                raise VerifyError(f"tile operation {number} has no shift for each tile")
        for number, tile in enumerate(self.tiles):
            if tile.role is Role.PSUM and len(self.readers.get(number, ())) != 1:
                raise VerifyError(f"sums in tile {number} of %{tile.tensor} are not finished once")
            if tile.role is Role.INNER:
                self._verify_inner(number, tile)
            elif tile.role is Role.O and number in self.readers and not tile.is_resident:
                self._verify_written(number, tile)

    def _verify_inner(self, number: int, tile: Tile) -> None:
        if tile.is_resident or not tile.space.is_shared:
            raise VerifyError(f"inner tile {number} of %{tile.tensor} must lie in a workspace")
        if number not in self.writers or number not in self.readers:
            raise VerifyError(f"inner tile {number} of %{tile.tensor} is not written and read")
        self._verify_written(number, tile)

    def _verify_written(self, number: int, tile: Tile) -> None:
        if number not in self.writers:
            raise VerifyError(f"tile {number} of %{tile.tensor} is read and not written")
        boxes = [self.written_box(self.ops[op]) for op in self.writers[number]]
        if len(boxes) == 1 and boxes[0] == tile.box:
            return
        is_written = np.zeros(tile.shape, np.bool_)
        for box in boxes:
            inside = _within(tile.box, box)
            if inside is None or is_written[inside].any():
                break
            is_written[inside] = True
        if not is_written.all():
            raise VerifyError(f"tile {number} of %{tile.tensor} is not written once in full")


def _can_roll(tile: Tile) -> bool:
    """Whether a tile has rows that can take the place of others."""
    is_inner = tile.role is Role.INNER and not tile.is_resident
    return is_inner and len(tile.box) > 1 and 0 < tile.rolls <= tile.box[-2].size


def _within(outer: tuple[Range, ...], inner: tuple[Range, ...]) -> tuple[slice, ...] | None:
    """Return where a box lies in another one, both without gaps; ``None`` if not inside of it."""
    if not _covers(outer, inner):
        return None
    pairs = zip(outer, inner, strict=True)
    return tuple(slice(part.start - whole.start, part.stop - whole.start) for whole, part in pairs)


def multiplier_name(result: str) -> str:
    """Return what the multipliers of a quantised operator are called, by the name of its result."""
    return f"{result}.multiplier"


def _covers(outer: tuple[Range, ...], inner: tuple[Range, ...]) -> bool:
    """Whether a box without gaps has another one inside."""
    return len(outer) == len(inner) and all(
        whole.start <= part.start and part.stop <= whole.stop
        for whole, part in zip(outer, inner, strict=True)
    )
