"""Tiles, an order of their operations, and space for them, as the engine's arrays."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.arch import Architecture
from ....ir.isa.instructions import Space, Unit
from ....ir.isa.spaces import ON_CHIP
from ....ir.tiles.cells import TensorCells
from ....ir.tiles.events import EventKind
from ....ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from ....ir.tiles.regions import base_of
from ....ir.tiles.touches import OnChip
from ..engine.kernel.arrays import (
    CLEARS,
    FETCHED,
    INNER,
    INWARDS,
    KIND,
    KNOWN,
    NPU,
    OPS,
    OUTWARDS,
    PATIENT,
    RESULT,
    SHARED,
    SINCE,
    SUMS,
    TENSOR,
    TILES,
    USES,
    WORK,
    Capacity,
    IssueOrder,
    TileArrays,
    TurnArrays,
)
from ..timing.issued import firsts
from ..timing.work import Work, Works
from .fixed_places import FixedPlaces

Ints = NDArray[np.int64]

_KINDS = {
    Role.W: FETCHED,
    Role.I: FETCHED,
    Role.PARAM: FETCHED,
    Role.PSUM: SUMS,
    Role.O: RESULT,
    Role.INNER: INNER,
}
"""What a tile is to the engine."""


@dataclass(frozen=True, eq=False)
class GraphTables:
    """A tile graph as the engine sees it; what is found once serves all orders.

    Attributes:
        graph: Tiles and operations.
        arch: The machine.
    """

    graph: TileGraph
    arch: Architecture

    @cached_property
    def works(self) -> Works:
        """What events ask of the machine."""
        return Works(self.graph, self.arch)

    @cached_property
    def engines(self) -> tuple[tuple[Unit, int], ...]:
        """Kind and number of the engine of each queue: channels, then arrays, then others."""
        channels = ((Unit.DMA, number) for number in range(self.arch.dma.channels))
        npus = range(len(self.arch.npus))
        return (*channels, *((unit, npu) for unit in self.units for npu in npus))

    @cached_property
    def units(self) -> Mapping[Unit, int]:
        """Numbers of the kinds of engines that operations need; the array is the first one."""
        units = dict.fromkeys((Unit.MX, *(op.unit for op in self.graph.ops)))
        return {unit: number for number, unit in enumerate(units)}

    @cached_property
    def tiles(self) -> TileArrays:
        """Tiles and operations."""
        cells, graph = _CellLists(self.graph), self.graph
        reads = [(tile, *cells.of(op, tile)) for op in graph.ops for tile in op.reads]
        first_reads = firsts([len(op.reads) for op in graph.ops]).tolist()
        ops = [
            self._op_row(op, cells, first)
            for op, first in zip(graph.ops, first_reads[:-1], strict=True)
        ]
        rows = [self._tile_row(number, tile, cells) for number, tile in enumerate(graph.tiles)]
        tensors = [(*at, self._memory(space)) for *at, space in cells.tensors.values()]
        return TileArrays(
            npus=len(self.arch.npus),
            channels=self.arch.dma.channels,
            ports=1 if self.arch.off_chip.shared_port else 2,
            cell_count=cells.count,
            tiles=np.array(rows, np.int64).reshape(-1, 10),
            tensors=np.array(tensors, np.int64).reshape(-1, 3),
            ops=np.array([*ops, (0, 0, 0, 0, len(reads), 0, 0)], np.int64),
            reads=np.array(reads, np.int64).reshape(-1, 3),
            cells=np.array(cells.lists, np.int64),
        )

    def _tile_row(self, number: int, tile: Tile, cells: "_CellLists") -> tuple[int, ...]:
        writers = self.graph.writers.get(number, ())
        return (
            self._memory(tile.space),
            tile.space.is_shared,
            tile.occupied,
            _KINDS[tile.role],
            cells.tensor_of.get(number, -1),
            tile.rolls,
            cells.first.get(number, 0),
            len(writers),
            len(self.graph.readers.get(number, ())),
            self.units[self.graph.ops[writers[0]].unit] if writers else -1,
        )

    def _memory(self, space: Space) -> int:
        """Return the number of a memory: of the first NPU, where each has its own."""
        return ON_CHIP.index(space) * len(self.arch.npus)

    def _op_row(self, op: TileOp, cells: "_CellLists", first_read: int) -> tuple[int, ...]:
        return (
            self.units[op.unit],
            op.out,
            op.accumulates,
            self.graph.finishes(op),
            first_read,
            *cells.of(op, op.out),
        )

    def turns(self, order: IssueOrder) -> tuple[TurnArrays, tuple[Work, ...]]:
        """Return an order of turns, and the works that it names.

        Args:
            order: Operations as they are issued, each with its NPU.
        """
        npus, works = len(self.arch.npus), self._numbered
        turns, tiles = order.turns, order.tiles
        position = np.repeat(np.arange(len(turns) - 1), np.diff(turns[:, TILES]))
        touched = tiles * npus
        touched += np.where(self.tiles.tiles[tiles, SHARED], 0, turns[position, NPU])
        does, copies = self._operations(order), self._moves(np.unique(touched))
        copies[:, USES] = firsts(np.bincount(touched, minlength=len(copies) - 1))
        found = TurnArrays(
            *order,
            does=does,
            copies=copies,
            uses=position[np.argsort(touched, kind="stable")],
            works=works.rows,
        )
        return found, tuple(works.found)

    @cached_property
    def _numbered(self) -> "_NumberedWorks":
        return _NumberedWorks(self.works, len(self.arch.npus))

    def _operations(self, order: IssueOrder) -> Ints:
        """Return which operations start sums from zero, and the work of each ``[ops, 2]``."""
        found = np.zeros((len(self.graph.ops), 2), np.int64)
        numbers, sums = order.ops, self._sums[order.ops]
        adding = np.flatnonzero(sums >= 0)
        found[numbers[adding[np.unique(sums[adding], return_index=True)[1]]], CLEARS] = 1
        npus = np.repeat(order.turns[:-1, NPU], np.diff(order.turns[:, OPS]))
        found[numbers, WORK] = self._numbered.operations(numbers, npus, found[numbers, CLEARS])
        return found

    def _moves(self, touched: Ints) -> Ints:
        """Return the work of bringing copies of tiles in and out ``[copies + 1, 3]``.

        Args:
            touched: Numbers of the copies that operations touch.
        """
        npus, tiles = len(self.arch.npus), self.tiles.tiles
        found = np.zeros((len(tiles) * npus + 1, 3), np.int64)
        kinds, is_moved = tiles[touched // npus, KIND], tiles[touched // npus, TENSOR] < 0
        for column, kind in ((INWARDS, FETCHED), (OUTWARDS, RESULT)):
            own = touched[is_moved & np.isin(kinds, (kind, SUMS))]
            inwards = np.full(len(own), int(column == INWARDS))
            found[own, column] = self._numbered.transfers(own // npus, own % npus, inwards)
        return found

    @cached_property
    def _sums(self) -> Ints:
        """Numbers of the sums that operations add to, -1 of others ``[ops]``."""
        known: dict[tuple[int, tuple[Range, ...]], int] = {}
        numbers = (
            known.setdefault((op.out, op.sums), len(known)) if op.accumulates else -1
            for op in self.graph.ops
        )
        return np.array([*numbers], np.int64)

    def capacity(
        self,
        ranges: Mapping[Space, tuple[int, int]],
        places: FixedPlaces,
        patient: Collection[int] = (),
    ) -> Capacity:
        """Return the space that tiles may use.

        Args:
            ranges: First byte and size of the range of each space.
            places: Addresses that are known beforehand.
            patient: Tiles that are not fetched for a channel that is idle.
        """
        tiles = np.zeros((len(self.graph.tiles), 3), np.int64)
        tiles[:, KNOWN] = -1
        for tile, address in places.addresses.items():
            tiles[tile, KNOWN], tiles[tile, SINCE] = address, places.since[tile]
        tiles[list(patient), PATIENT] = 1
        results, npus = self._result_bytes(places), len(self.arch.npus)
        rows = [(*ranges.get(space, (0, 0)), results.get(space, 0)) for space in ON_CHIP]
        memories = np.repeat(np.array(rows, np.int64), npus, axis=0)
        return Capacity(memories=np.append(memories, [(0, 0, 0)], axis=0), tiles=tiles)

    def _result_bytes(self, places: FixedPlaces) -> Mapping[Space, int]:
        """Return the bytes of each space that results take at most: two of each kind.

        Sums are of one kind; outputs and inner tiles of each tensor of one of their own. Of what
        rolls there is one tile.
        """
        largest: dict[tuple[Space, Role, str], int] = {}
        for number in self._results:
            tile = self.graph.tiles[number]
            if number not in places.addresses:
                tensor = "" if tile.role is Role.PSUM else tile.tensor
                key = tile.space, tile.role, tensor
                size = tile.occupied if tile.rolls else 2 * tile.occupied
                largest[key] = max(largest.get(key, 0), size)
        found: dict[Space, int] = {}
        for (space, *_), size in largest.items():
            found[space] = found.get(space, 0) + size
        return found

    @cached_property
    def _results(self) -> tuple[int, ...]:
        """Numbers of the tiles that operations write, and that are placed."""
        return tuple(
            number
            for number, tile in enumerate(self.graph.tiles)
            if _KINDS[tile.role] != FETCHED and not tile.is_resident
        )


class _NumberedWorks:
    """Numbers works, each distinct one once for all orders.

    Attributes:
        known: Finds them.
        found: Those that have a number.
    """

    def __init__(self, known: Works, npus: int) -> None:
        self.known = known
        self.found: list[Work] = []
        self._numbers: dict[int, int] = {}
        self._operations = np.full((len(known.graph.ops), npus, 2), -1, np.int64)
        self._transfers = np.full((len(known.graph.tiles), npus, 2), -1, np.int64)

    def operations(self, ops: Ints, npus: Ints, clear: Ints) -> Ints:
        """Return the numbers of what operations do.

        Args:
            ops: Their numbers.
            npus: Who works.
            clear: Whether accumulation starts from zero.
        """
        asked = np.stack((ops, npus, clear))
        for op, npu, clears in _unknown(self._operations, asked):
            work = self.known.to_do(EventKind.COMPUTE, op, npu, clear=bool(clears))
            self._operations[op, npu, clears] = self._number(work)
        return self._operations[*asked]

    def transfers(self, tiles: Ints, npus: Ints, inwards: Ints) -> Ints:
        """Return the numbers of what transfers do.

        Args:
            tiles: Numbers of what is moved.
            npus: Whose memory it goes to, or comes from.
            inwards: Whether it goes there.
        """
        asked = np.stack((tiles, npus, inwards))
        for tile, npu, way in _unknown(self._transfers, asked):
            kind = EventKind.LOAD if way else EventKind.STORE
            work = self.known.to_do(kind, tile, npu, clear=False)
            self._transfers[tile, npu, way] = self._number(work)
        return self._transfers[*asked]

    def _number(self, work: Work) -> int:
        number = self._numbers.setdefault(id(work), len(self.found))  # each is kept in `known`
        if number == len(self.found):
            self.found.append(work)
        return number

    @property
    def rows(self) -> Ints:
        """Lead, fill, drain and length of each [cycle] ``[works, 4]``."""
        length = self.known.length
        rows = [(work.lead, work.fill, work.drain, length(work)) for work in self.found]
        return np.array(rows, np.int64).reshape(-1, 4)


def _unknown(table: Ints, asked: Ints) -> list[tuple[int, int, int]]:
    """Return which entries of a table that are asked for are not known."""
    return asked[:, table[*asked] < 0].T.tolist()


class _CellLists:
    """Which cells of resident tensors, and rows of tiles that roll, operations touch.

    Attributes:
        tensors: First byte, bytes and space of each resident tensor.
        tensor_of: Number of the resident tensor that a tile is part of.
        first: First cell of each tile that rolls.
        lists: Numbers of cells, one list after the other.
        count: How many cells there are.
    """

    def __init__(self, graph: TileGraph) -> None:
        self.graph = graph
        self.tensors: dict[OnChip, tuple[int, int, Space]] = {}
        self.tensor_of: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.lists: list[int] = []
        self.count = 0
        self._windows: dict[int, tuple[int, int]] = {}
        self._number_tensors()
        for number, tile in enumerate(graph.tiles):
            if tile.rolls:
                self.first[number] = self.count
                self.count += tile.box[-2].stop - tile.box[-2].start

    def _number_tensors(self) -> None:
        """Number resident tensors and their cells."""
        known, tiles = TensorCells(self.graph), self.graph.tiles
        resident = {number: tile for number, tile in enumerate(tiles) if tile.is_resident}
        cells = {number: known.of(number) for number in resident}
        storages = {number: OnChip(tile.tensor, base_of(tile)) for number, tile in resident.items()}
        begins = dict[OnChip, int]()
        for storage in dict.fromkeys(storages.values()):
            begins[storage] = self.count
            own = (cells[number] for number in resident if storages[number] == storage)
            self.count += max((max(item) + 1 for item in own if item), default=0)
        numbers = {storage: number for number, storage in enumerate(begins)}
        for number, tile in resident.items():
            storage = storages[number]
            size = known.elements[tile.tensor] * tile.element_bytes
            self.tensors.setdefault(storage, (storage.base, size, tile.space))
            self.tensor_of[number] = numbers[storage]
            self._windows[number] = self._list(begins[storage] + cell for cell in cells[number])

    def _list(self, cells: Iterable[int]) -> tuple[int, int]:
        """Write cells down; return where they begin in the lists, and where they end."""
        begin = len(self.lists)
        self.lists += cells
        return begin, len(self.lists)

    def of(self, op: TileOp, number: int) -> tuple[int, int]:
        """Return where the cells of a tile that an operation touches are listed, from and to.

        Args:
            op: The operation.
            number: Of the tile.

        Returns:
            -1 twice where all of the tile is meant.
        """
        if number in self._windows:
            return self._windows[number]
        rows = self.graph.rows(op, number)
        if rows is None:
            return -1, -1
        shift = self.first[number] - self.graph.tiles[number].box[-2].start
        return self._list(shift + row for row in rows)
