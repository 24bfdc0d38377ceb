"""Hold a program against the tile schedule that it was made from: nothing more, nothing less.

Each event must be one instruction of its engine's queue, in the schedule's order, and each
instruction an event:

- a transfer moves the bytes of its tile, each to the byte where the schedule places it, from or to
  the tensor's place off chip;
- a MAC instruction adds the products of the operation's box, rows and columns of padding included,
  to the accumulators of that box, begins from zero where the schedule says so, and runs its loops;
- any other operation writes the box of its result, byte for byte, and reads nothing but its tiles,
  each of them; what finishes sums reads all of its box.

Nothing of lowering is used: places and boxes are those of the schedule, and what an instruction
touches is what the simulator says. Values, the order of elements within an operation of the vector
unit, and waits are judged by running the program.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product

from ...ir.errors import SimulationError, VerifyError
from ...ir.graph import Graph
from ...ir.isa.instructions import Access, AnyInstruction, Copy, Halt, Mac, Space
from ...ir.isa.program import Program, Symbol
from ...ir.operators.access import Box
from ...ir.operators.views import window_of
from ...ir.tiles.events import INWARDS, TRANSFERS, Event, EventKind
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from ...ir.tiles.schedule import TileSchedule
from ...ir.tiles.touches import Accesses
from ...ir.workload import DIMS, Dim
from ...runtime_sim.accesses import ByteTouch, Way, touches
from ...runtime_sim.functional.region import strided_region

_IMAGE = 5
"""Axes of a tile that has those of the MAC array: ``N G C row column``."""


def check_translation(graph: Graph, schedule: TileSchedule, program: Program) -> None:
    """Check that a program does what its tile schedule says, all of it and nothing else.

    Args:
        graph: The network.
        schedule: Its tile schedule.
        program: What was made of it.

    Raises:
        VerifyError: Names the instruction and the event that differ.
    """
    _Translation(graph, schedule, program).check()


@dataclass
class _Translation:
    """One comparison; local to one call."""

    graph: Graph
    schedule: TileSchedule
    program: Program
    _blocks: dict[int | str, str] = field(default_factory=dict[int | str, str])
    _owners: dict[str, int | str] = field(default_factory=dict[str, int | str])

    def check(self) -> None:
        """Go through events and queues side by side."""
        queues = {(item.unit, item.index): n for n, item in enumerate(self.program.queues)}
        done = [0] * len(self.program.queues)
        for number, event in enumerate(self.schedule.events):
            queue = queues.get((event.unit, event.index))
            if queue is None:
                raise VerifyError(
                    f"event {number} runs on {event.unit}{event.index}, which is no queue"
                )
            instruction = self.program.queues[queue].instructions[done[queue]]
            try:
                self._event(number, event, instruction)
            except (VerifyError, SimulationError) as error:
                where = self.program.where(queue, done[queue])
                raise VerifyError(f"{where} is not event {number}: {error.message}") from None
            done[queue] += 1
        for number, queue in enumerate(self.program.queues):
            if not isinstance(queue.instructions[done[number]], Halt):
                raise VerifyError(f"{self.program.where(number, done[number])} is no event")

    @property
    def _tiles(self) -> TileGraph:
        return self.schedule.graph

    @cached_property
    def _accesses(self) -> Accesses:
        return Accesses(self.schedule)

    def _event(self, number: int, event: Event, instruction: AnyInstruction) -> None:
        if isinstance(instruction, Halt):
            raise VerifyError("the queue ends")
        _equal("works for operator", instruction.op, event.step)
        if event.kind in TRANSFERS:
            if not isinstance(instruction, Copy):
                raise VerifyError("it moves no tile")
            self._transfer(number, event, instruction)
            return
        op = self._tiles.ops[event.subject]
        if op.accumulates != isinstance(instruction, Mac):
            raise VerifyError(f"it is a {type(instruction).__name__}")
        if isinstance(instruction, Mac):
            self._mac(number, event, op, instruction)
        elif self._tiles.keeps(op):
            self._keep(number, op, instruction)
        else:
            self._other(number, op, instruction)

    # -- transfers -------------------------------------------------------------------------------

    def _transfer(self, number: int, event: Event, copy: Copy) -> None:
        tile = self._tiles.tiles[event.subject]
        inwards = event.kind in INWARDS
        chip, outside = (copy.dst, copy.src) if inwards else (copy.src, copy.dst)
        place = self._place(event.subject, number)
        _equal("on chip begins at", _begin(chip), place)
        _equal("outside is", outside.space, Space.DRAM)
        symbol = self._symbol(outside.address)
        self._check_symbol(symbol, event)
        size = tile.element_bytes
        sums = tile.role is Role.PSUM
        far = (
            tile.strides
            if sums
            else tuple(
                axis.step * stride * size for axis, stride in zip(tile.box, tile.view, strict=True)
            )
        )
        first = (
            0
            if sums
            else sum(
                axis.start * stride * size for axis, stride in zip(tile.box, tile.view, strict=True)
            )
        )
        _equal("begins in its tensor at", outside.address - symbol.address, first)
        found = _pairs(copy.shape, chip.strides, outside.strides, copy.element_bytes)
        _equal("moves", found, _pairs(tile.shape, tile.strides, far, size))
        self._check_nest("layout", copy.layout, tile.layout)

    def _check_symbol(self, symbol: Symbol, event: Event) -> None:
        """Check which block off chip a transfer reads or fills.

        That of the tensor; spilled sums have one of their own, and so have copies of tensors, which
        nobody reads.
        """
        tile = self._tiles.tiles[event.subject]
        sums = tile.role is Role.PSUM
        is_whole = event.kind is EventKind.STORE and tile.is_resident
        if not sums and (not is_whole or tile.tensor in self.graph.outputs):
            _equal("is a transfer of", symbol.name, tile.tensor)
            return
        owner = event.subject if sums else tile.tensor
        is_own = self._owners.setdefault(symbol.name, owner) == owner
        is_own &= self._blocks.setdefault(owner, symbol.name) == symbol.name
        if not is_own or symbol.name in self.graph.types:
            raise VerifyError(f"{symbol.name} is not the block of {'sums' if sums else owner}")

    @cached_property
    def _by_address(self) -> tuple[list[int], list[Symbol]]:
        symbols = sorted(self.program.symbols, key=lambda item: item.address)
        return [item.address for item in symbols], symbols

    def _symbol(self, address: int) -> Symbol:
        starts, symbols = self._by_address
        found = bisect_right(starts, address) - 1
        if found < 0 or address >= starts[found] + symbols[found].type.bytes:
            raise VerifyError(f"nothing lies off chip at {address:#x}")
        return symbols[found]

    # -- the MAC array ---------------------------------------------------------------------------

    def _mac(self, number: int, event: Event, op: TileOp, mac: Mac) -> None:
        ranges = dict(zip(DIMS, op.box, strict=True))
        _equal("runs over", mac.extents, tuple(ranges[dim].size for dim in DIMS))
        _equal("adds to what is there", mac.accumulate, not event.clear)
        x, w = op.reads
        sums, weights = self._tiles.tiles[op.out], self._tiles.tiles[w]
        box = tuple(ranges[dim] for dim in (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S))
        _equal("adds to", _dense(mac.acc, op.sums), self._access(op.out, number, op.sums))
        _equal("reads weights", _dense(mac.w, box), self._access(w, number, box))
        _equal("adds elements of", mac.acc_bytes, sums.element_bytes)
        self._check_image(number, op, ranges, mac, x)
        for name, given, tile in (
            ("x", mac.x_dtype, self._tiles.tiles[x]),
            ("w", mac.w_dtype, weights),
        ):
            _equal(f"takes {name} as", given, self.graph.types[tile.tensor].dtype)
        self._check_nest("nest", mac.nest, op.nests[event.index])
        self._check_nest("layout", mac.layout, sums.layout)
        begin = 0 if sums.layout is None else self._place(op.out, number)[2]
        _equal("has its tile of sums at", mac.tile, begin)

    def _check_image(
        self, number: int, op: TileOp, ranges: dict[Dim, Range], mac: Mac, tile: int
    ) -> None:
        """Check that every output and tap meet the right row and column, or padding."""
        node, item = self.graph.producer[op.works_for], self._tiles.tiles[tile]
        is_dense = node.kind == "dense"
        whole = window_of(node, (1, 1))
        type = self.graph.types[node.operands[0]]
        extents = (type.shape[-2], 1) if is_dense else type.shape[2:]
        lines: list[Range] = []
        for axis, (output, tap) in enumerate(((Dim.P, Dim.R), (Dim.Q, Dim.S))):
            there = _lines(item, axis, is_dense)
            before = (mac.window.top, mac.window.left)[axis]
            count = (mac.window.rows, mac.window.columns)[axis]
            steps = whole.stride[axis], whole.dilation[axis]
            first = (
                ranges[output].start * steps[0] + ranges[tap].start * steps[1] - whole.pads[axis]
            )
            start = first + before * there.step
            line = Range(start, start + (count - 1) * there.step + 1, there.step)
            if not _inside(line, there):
                raise VerifyError(f"it reads lines {line} of tile lines {there}")
            wanted = ranges[output].size, ranges[tap].size
            moved = mac.window.stride[axis] * there.step, mac.window.dilation[axis] * there.step
            if any(n > 1 and a != b for n, a, b in zip(wanted, steps, moved, strict=True)):
                raise VerifyError(f"its windows move by {moved}, not by {steps}")
            if axis == 0 and item.rolls:
                _equal("reads rows", (Range(line.start, line.stop),), op.rows)
            if not _meets(wanted, steps, first, extents[axis], line):
                raise VerifyError(f"lines {line} of {extents[axis]} are not those that are met")
            lines.append(line)
        channels = self.graph.types[node.operands[1]].shape[1]
        box = (ranges[Dim.N], ranges[Dim.G], ranges[Dim.C], *lines)
        _equal("reads", _dense(mac.x, box), self._image(number, op, tile, box, channels, is_dense))

    def _image(
        self, number: int, op: TileOp, tile: int, box: Box, channels: int, is_dense: bool
    ) -> tuple[object, ...]:
        """Return where a box ``N G C row column`` of the operand lies, and its strides."""
        item, space = self._tiles.tiles[tile], self._place(tile, number)
        strides = item.strides
        starts = tuple(axis.start for axis in box)
        if len(item.box) != _IMAGE:
            n, g, c, row, column = starts
            if is_dense:
                operand = self.graph.producer[op.works_for].operands[0]
                batch = self.graph.types[operand].shape[:-2]
                first, second, *others = *_index(batch, g), row, c
                starts = (first, second + op.shift(0), *others)
                strides = (0, _step(batch, strides), strides[-1], strides[-2], 0)
            else:
                starts = (n, g * channels + c + op.shift(0), row, column)
                strides = (strides[0], channels * strides[1], *strides[1:])
        offset = _offset(item, starts)
        return (*space[:2], space[2] + offset, _moving(box, strides))

    # -- everything else -------------------------------------------------------------------------

    def _keep(self, number: int, op: TileOp, instruction: AnyInstruction) -> None:
        """Check rows that are kept: each byte is copied to where the same element lies."""
        if not isinstance(instruction, Copy):
            raise VerifyError(f"it is a {type(instruction).__name__}, not a copy")
        source, out = self._tiles.tiles[op.reads[0]], self._tiles.tiles[op.out]
        box = self._tiles.written_box(op)
        shape = tuple(axis.size for axis in box)
        for access, tile in ((instruction.src, op.reads[0]), (instruction.dst, op.out)):
            space, npu, address, _ = self._access(tile, number, box)
            _equal("keeps at", _begin(access), (space, npu, address))
        found = _pairs(
            instruction.shape,
            instruction.dst.strides,
            instruction.src.strides,
            instruction.element_bytes,
        )
        _equal("keeps", found, _pairs(shape, out.strides, source.strides, out.element_bytes))

    def _other(self, number: int, op: TileOp, instruction: AnyInstruction) -> None:
        found = touches(instruction)
        (written,) = (item for item in found if item.way is Way.WRITE)
        self._check_box("writes", written, op.out, number, self._tiles.written_box(op))
        read = [item for item in found if item.way is Way.READ]
        if self._tiles.finishes(op):
            self._check_box("finishes", read[0], op.reads[0], number, op.box)
            self._check_place(op)
        met: set[int] = set()
        for item in read:
            inside = [tile for tile in op.reads if self._lies_in(item, tile, number)]
            for tile in inside:
                self._check_rows(item, tile, number, op)
            if item.region.lattices and not inside:
                raise VerifyError(f"it reads {item.access.space}:{item.access.address:#x}")
            met.update(inside)
        if all(item.region.lattices for item in read) and (left := set(op.reads) - met):
            raise VerifyError(f"it does not read tile {min(left)}")

    def _check_place(self, op: TileOp) -> None:
        """Check that finished sums go where their elements are in a tensor's own axes."""
        if not op.written:
            return
        node, (n, groups, channels, row, column) = self.graph.producer[op.works_for], op.box
        shape = node.result.type.shape
        if node.kind == "dense":
            wanted = {_index(shape[:-2], group) for group in range(groups.start, groups.stop)}
            part, lines, others = op.written[:-2], op.written[-2:], (row, channels)
        else:
            count = shape[1] // node.int("groups", 1)
            firsts = (group * count for group in range(groups.start, groups.stop))
            pairs = product(firsts, range(channels.start, channels.stop))
            wanted = {(first + channel,) for first, channel in pairs}
            part, lines = op.written[1:2], (op.written[0], *op.written[2:])
            others = (n, row, column)
        _equal("writes", lines, others)
        there = set(product(*(range(axis.start, axis.stop) for axis in part)))
        if there != wanted:
            raise VerifyError(f"it writes {part}, not where {groups} and {channels} belong")

    def _check_box(self, what: str, touch: ByteTouch, tile: int, number: int, box: Box) -> None:
        """Check that an access touches a box of a tile, every byte of it and no other."""
        space, npu, address, _ = self._access(tile, number, box)
        item = self._tiles.tiles[tile]
        shape = tuple(axis.size for axis in box)
        region = strided_region(shape, item.strides, item.element_bytes)
        _equal(what, (*_begin(touch.access)[:2], touch.region), (space, npu, region))
        _equal(f"{what} from", touch.access.address, address)

    def _lies_in(self, touch: ByteTouch, tile: int, number: int) -> bool:
        """Whether an access touches bytes of a tile only."""
        item = self._tiles.tiles[tile]
        space, npu, address = self._place(tile, number)
        low = touch.access.address + touch.region.low
        high = touch.access.address + touch.region.high
        reach = sum((n - 1) * step for n, step in zip(item.shape, item.strides, strict=True))
        return (
            (touch.access.space, touch.access.npu) == (space, npu)
            and bool(touch.region.lattices)
            and address <= low
            and high <= address + reach + item.element_bytes
        )

    def _check_rows(self, touch: ByteTouch, tile: int, number: int, op: TileOp) -> None:
        """Check that an access to a tile that rolls begins and ends with the rows it is said to."""
        item = self._tiles.tiles[tile]
        if not item.rolls:
            return
        address = self._place(tile, number)[2]
        bytes_of_row = item.strides[-2]
        low, high = touch.region.low, touch.region.high - 1
        first, last = (
            (touch.access.address + byte - address) // bytes_of_row % item.rolls
            for byte in (low, high)
        )
        (rows,) = op.rows
        wanted = rows.start % item.rolls, (rows.stop - 1) % item.rolls
        _equal("begins and ends with rows", (first, last), wanted)

    def _access(self, tile: int, number: int, box: Box) -> tuple[object, ...]:
        """Return where a box of a tile lies: space, NPU, first byte, strides of longer axes."""
        item, (space, npu, address) = self._tiles.tiles[tile], self._place(tile, number)
        if len(box) != len(item.box) or not all(map(_inside, box, item.box)):
            raise VerifyError(f"{box} is no part of tile {tile}")
        offset = _offset(item, tuple(axis.start for axis in box))
        return space, npu, address + offset, _moving(box, item.strides)

    def _place(self, tile: int, number: int) -> tuple[Space, int, int]:
        """Return the space, NPU and first byte of a tile at an event."""
        item = self._tiles.tiles[tile]
        if item.address is not None:
            return item.space, 0, item.address
        place = self._accesses.placement(tile, number)
        return item.space, item.space.owner(place.npu), place.address

    def _check_nest(self, what: str, given: int, wanted: int | None) -> None:
        if wanted is None:
            _equal(f"has {what}", given, -1)
        elif not 0 <= given < len(self.program.nests):
            raise VerifyError(f"it has no {what}")
        elif self.program.nests[given] != self._tiles.nests[wanted]:
            raise VerifyError(f"its {what} is another one")


def _equal(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise VerifyError(f"it {what} {found}, not {wanted}")


def _begin(access: Access) -> tuple[Space, int, int]:
    return access.space, access.npu, access.address


def _moving(box: Box, strides: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of axes that have more than one index."""
    return tuple(step if axis.size > 1 else 0 for axis, step in zip(box, strides, strict=True))


def _dense(access: Access, box: Box) -> tuple[object, ...]:
    """Return what an instruction accesses in the form in which a tile says where a box lies."""
    return (*_begin(access), _moving(box, access.strides))


def _offset(tile: Tile, starts: Sequence[int]) -> int:
    """Return the byte of an element within its tile."""
    return sum(
        (start - axis.start) // axis.step * step
        for start, axis, step in zip(starts, tile.box, tile.strides, strict=True)
    )


def _index(batch: Sequence[int], number: int) -> tuple[int, ...]:
    """Return which matrix of a batch a number is, along the axes of that."""
    inner = [math.prod(batch[axis + 1 :]) for axis in range(len(batch))]
    return tuple(number // size % n for n, size in zip(batch, inner, strict=True))


def _step(batch: Sequence[int], strides: Sequence[int]) -> int:
    """Return how far apart the matrices of a batch lie in a tile that has several of them."""
    return next((step for n, step in zip(batch[::-1], strides[-3::-1], strict=True) if n > 1), 0)


def _lines(tile: Tile, axis: int, is_dense: bool) -> Range:
    """Return the rows (axis 0) or columns that a tile has."""
    if len(tile.box) == _IMAGE:
        return tile.box[3 + axis]
    if is_dense:
        return tile.box[-2] if axis == 0 else Range(0, 1)
    return tile.box[2 + axis]


def _inside(part: Range, whole: Range) -> bool:
    """Whether all indices of a range are among those of another one."""
    return (
        whole.start <= part.start
        and part.stop <= whole.stop
        and (part.start - whole.start) % whole.step == 0
        and (part.size < 2 or part.step == whole.step)
    )


@lru_cache(maxsize=1 << 14)
def _meets(
    wanted: tuple[int, int], steps: tuple[int, int], first: int, extent: int, lines: Range
) -> bool:
    """Whether outputs and taps meet a tensor's lines where they meet those of the region.

    Args:
        wanted: Outputs and taps.
        steps: How far each output, and each tap, is from the one before.
        first: Line of the first output and tap; below 0 in the padding.
        extent: Lines that the tensor has.
        lines: Of the region.
    """
    met = {first + p * steps[0] + r * steps[1] for p in range(wanted[0]) for r in range(wanted[1])}
    there = range(lines.start, lines.stop, lines.step)
    return all((line in there) == (0 <= line < extent) for line in met)


def _pairs(
    shape: Sequence[int], near: Sequence[int], far: Sequence[int], size: int
) -> tuple[tuple[int, int, int], ...]:
    """Return which byte here goes with which byte there, in one form for all that are equal.

    Args:
        shape: Extents of the loops.
        near: Byte stride here of each.
        far: There.
        size: Bytes of an element.
    """
    loops = sorted((a, b, n) for n, a, b in zip(shape, near, far, strict=True) if n > 1)
    merged = [(1, 1, size)]
    for a, b, n in loops:
        inner = merged[-1]
        if (a, b) == (inner[0] * inner[2], inner[1] * inner[2]):
            merged[-1] = (*inner[:2], inner[2] * n)
        else:
            merged.append((a, b, n))
    return tuple(merged)
