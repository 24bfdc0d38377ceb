"""What an event asks of the machine, before anyone else is taken into account.

======================  ============  ======================  =====================================
event                   lead          least                   bytes through ports
======================  ============  ======================  =====================================
transfer                DMA start-up  0                       the tile: off chip; scratchpad, or a
                                                              memory of the array and its links
MAC operation           0             steps of its loops      what its loops move
vector operation        start-up      elements x cost over    scratchpad
                                      lanes
copy on chip            4             0                       scratchpad
finish                  start-up      elements over lanes     sums from scratchpad, or from a memory
                                                              of the array; the other operand of
                                                              what is joined from scratchpad;
                                                              results to scratchpad
======================  ============  ======================  =====================================

Events of one shape ask for the same. Parameters lie beside the vector unit and pass no port.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ....ir.arch import Architecture
from ....ir.isa.instructions import Space
from ....ir.isa.latency import ON_CHIP_STARTUP, port_cycles
from ....ir.isa.spaces import level_of_space
from ....ir.tiles.events import INWARDS, Event, EventKind
from ....ir.tiles.graph import Tile, TileGraph, TileOp
from ...analysis.tile_cost import TileCost, tile_cost
from ...analysis.traffic import Direction
from .ports import Ports
from .spread import link_loads

Load = tuple[tuple[str, ...], int]
"""Ports, and the bytes that spread over them evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The time that an event needs, and the bytes that it moves.

    Attributes:
        lead: Start-up before the first byte moves [cycle].
        least: What its own engine needs for the rest [cycle].
        moved: Bytes through each port, by name.
        fill: On the MAC array, until it can begin; hidden behind what computes before [cycle].
        drain: On the MAC array, from its last step until sums are in their home [cycle].
    """

    lead: int = 0
    least: int = 0
    moved: tuple[tuple[str, int], ...] = ()
    fill: int = 0
    drain: int = 0

    def length(self, bandwidths: dict[str, float]) -> int:
        """Return how long it takes alone between start-up (or fill) and drain [cycle]."""
        return max(
            [self.least, *(port_cycles(size, bandwidths[port]) for port, size in self.moved)]
        )


@dataclass
class Works:
    """The work of events, each distinct one once; local to one run.

    Attributes:
        graph: Tiles and operations.
        arch: The machine.
    """

    graph: TileGraph
    arch: Architecture
    _known: dict[tuple[object, ...], Work] = field(default_factory=dict[tuple[object, ...], Work])
    _asked: dict[tuple[bool, int, int, bool], Work] = field(
        default_factory=dict[tuple[bool, int, int, bool], Work]
    )
    _costs: dict[tuple[int, int, bool], TileCost] = field(
        default_factory=dict[tuple[int, int, bool], TileCost]
    )
    _lengths: dict[Work, int] = field(default_factory=dict[Work, int])

    @cached_property
    def ports(self) -> Ports:
        """The machine's ports."""
        return Ports(self.arch)

    @cached_property
    def _machines(self) -> tuple[Architecture, ...]:
        return tuple(self.arch.for_npu(npu) for npu in self.arch.npus)

    def of(self, event: Event, npu: int) -> Work:
        """Return the work of an event.

        Args:
            event: The event.
            npu: Whose memory a transfer goes to or comes from, where it is private; whose engine
                works otherwise.
        """
        return self.to_do(event.kind, event.subject, npu, clear=event.clear)

    def to_do(self, kind: EventKind, subject: int, npu: int, *, clear: bool) -> Work:
        """Return the work of what is to be an event.

        Args:
            kind: Of the event.
            subject: Its tile or operation.
            npu: As for :meth:`of`.
            clear: Of an operation, whether accumulation starts from zero.
        """
        is_operation = kind is EventKind.COMPUTE
        way = clear if is_operation else kind in INWARDS
        asked = is_operation, subject, npu, way
        found = self._asked.get(asked)
        if found is None:
            found = self._asked[asked] = self._found(is_operation, subject, npu, way)
        return found

    def length(self, work: Work) -> int:
        """Return how long work takes alone between start-up (or fill) and drain [cycle]."""
        found = self._lengths.get(work)
        if found is None:
            found = self._lengths[work] = work.length(self.ports.bandwidths)
        return found

    def _found(self, is_operation: bool, subject: int, npu: int, way: bool) -> Work:
        if is_operation:
            return self._operation(self.graph.ops[subject], npu, clear=way)
        return self._transfer(self.graph.tiles[subject], npu, inwards=way)

    def cost(self, op: TileOp, npu: int, *, clear: bool) -> TileCost:
        """Return the cost of an operation of the MAC array.

        Args:
            op: The operation.
            npu: Who computes it.
            clear: Whether sums start from zero.
        """
        key = op.nests[npu], npu, clear
        if key not in self._costs:
            inner = self.graph.nests[key[0]]
            self._costs[key] = tile_cost(inner, self._machines[npu], accumulate=not clear)
        return self._costs[key]

    # -- transfers ------------------------------------------------------------------------------

    def _transfer(self, tile: Tile, npu: int, *, inwards: bool) -> Work:
        key = ("move", tile.space, tile.bytes, tile.layout, npu, inwards)
        if key not in self._known:
            off, on = Direction.READ, Direction.WRITE
            if not inwards:
                off, on = on, off
            loads: list[Load] = [(self.ports.off_chip(off), tile.bytes)]
            if tile.space is Space.GB:
                loads.append((self.ports.scratchpad(on), tile.bytes))
            elif tile.layout is not None:
                loads += self._in_array(tile, npu, inwards=inwards)
            self._known[key] = Work(lead=self.arch.dma.startup, moved=_joined(loads))
        return self._known[key]

    def _in_array(
        self, tile: Tile, npu: int, *, inwards: bool, out_bytes: int | None = None
    ) -> Iterator[Load]:
        """Yield what moving a tile loads of a memory of the array and of the links above it."""
        assert tile.layout is not None
        machine = self._machines[npu]
        part, links = link_loads(
            self.graph.nests[tile.layout], machine, tile.element_bytes, out_bytes
        )
        across = Direction.DOWN if inwards else Direction.UP
        at_memory = Direction.WRITE if inwards else Direction.READ
        level = level_of_space(self.arch)[tile.space]
        yield self.ports.inside(level, at_memory, npu), part
        for fanout, size in links:
            yield self.ports.inside(fanout, across, npu), math.ceil(size)

    # -- operations -----------------------------------------------------------------------------

    def _operation(self, op: TileOp, npu: int, *, clear: bool) -> Work:
        if op.accumulates:
            return self._mac(op, npu, clear=clear)
        if self.graph.finishes(op):
            return self._finish(op, npu)
        elements = math.prod(axis.size for axis in op.box)
        key = ("direct", elements, op.cost, op.read_bytes, op.written_bytes, npu)
        if key not in self._known:
            moved = through_scratchpad(self.ports, npu, op.read_bytes, op.written_bytes)
            if op.cost == 0:
                self._known[key] = Work(lead=ON_CHIP_STARTUP, moved=moved)
            else:
                self._known[key] = on_vector_unit(self.arch, elements * op.cost, moved)
        return self._known[key]

    def _mac(self, op: TileOp, npu: int, *, clear: bool) -> Work:
        key = ("mac", op.nests[npu], npu, clear)
        if key not in self._known:
            cost = self.cost(op, npu, clear=clear)
            loads: Counter[tuple[str, Direction]] = Counter()
            for item in cost.traffic:
                loads[item.place, item.direction] += item.busiest_bits
            moved = _joined(
                (self.ports.inside(place, way, npu), math.ceil(bits / 8))
                for (place, way), bits in loads.items()
            )
            self._known[key] = Work(
                least=cost.steps, moved=moved, fill=cost.fill_cycles, drain=cost.drain_cycles
            )
        return self._known[key]

    def _finish(self, op: TileOp, npu: int) -> Work:
        sums, width = self.graph.tiles[op.reads[0]], self.graph.tiles[op.out].element_bytes
        read = op.read_bytes
        key = ("finish", sums.space, sums.bytes, sums.element_bytes, width, sums.layout, read, npu)
        if key not in self._known:
            elements = sums.bytes // sums.element_bytes
            loads: list[Load] = [
                (self.ports.scratchpad(Direction.WRITE, npu), elements * width),
            ]
            if sums.space is Space.GB:
                read += sums.bytes
            loads.append((self.ports.scratchpad(Direction.READ, npu), read))
            if sums.space is not Space.GB and sums.layout is not None:
                loads += self._in_array(sums, npu, inwards=False, out_bytes=width)
            self._known[key] = on_vector_unit(self.arch, elements, _joined(loads))
        return self._known[key]


def on_vector_unit(
    arch: Architecture, lane_cycles: int, moved: tuple[tuple[str, int], ...]
) -> Work:
    """Return the work of something on a vector unit.

    Args:
        arch: The machine.
        lane_cycles: What all lanes together take for it [cycle].
        moved: Bytes through each port, by name.
    """
    vector = arch.vector
    return Work(lead=vector.startup, least=-(-lane_cycles // vector.lanes), moved=moved)


def through_scratchpad(
    ports: Ports, npu: int, read: int, written: int
) -> tuple[tuple[str, int], ...]:
    """Return the bytes through each port that an NPU uses of the scratchpad, by name.

    Args:
        ports: The machine's.
        npu: The NPU.
        read: From the scratchpad [byte].
        written: To it [byte].
    """
    return _joined(
        [
            (ports.scratchpad(Direction.READ, npu), read),
            (ports.scratchpad(Direction.WRITE, npu), written),
        ]
    )


def _joined(loads: Iterable[Load]) -> tuple[tuple[str, int], ...]:
    """Return the bytes through each port, by name."""
    found: Counter[str] = Counter()
    for ports, size in loads:
        for port in ports:
            found[port] += -(-size // len(ports))
    return tuple(sorted((port, size) for port, size in found.items() if size))
