"""Turn one event of a tile schedule into one instruction on the bytes of its tiles."""

from dataclasses import dataclass

from ...ir.graph import Op
from ...ir.isa.instructions import Access, AnyInstruction, Copy, Space
from ...ir.tiles.events import INWARDS, Event, EventKind
from ...ir.tiles.graph import Role, TileGraph
from ...ir.tiles.touches import Accesses
from .addressing import off_chip, on_chip, squeeze
from .select_mac import Numbers, select_finish, select_mac
from .select_vector import select_keep, select_vector
from .site import SelectionSite
from .streams import Streams


@dataclass(frozen=True, slots=True)
class EventLowering:
    """Turns one event into one instruction.

    Attributes:
        streams: Where the instruction goes.
        accesses: Tells where tiles are.
        number: Of the event.
        nests: Numbers of the program's descriptors so far, by those of the tile graph's nests.
    """

    streams: Streams
    accesses: Accesses
    number: int
    nests: dict[int, int]

    @property
    def graph(self) -> TileGraph:
        """Tiles and operations."""
        return self.accesses.graph

    @property
    def event(self) -> Event:
        """The event."""
        return self.accesses.schedule.events[self.number]

    def instruction(self) -> AnyInstruction:
        """Return the instruction, without waits."""
        if self.event.kind is EventKind.COMPUTE:
            return select_compute(self._site(), self._nest, clear=self.event.clear)
        return self._copy()

    def _nest(self, number: int | None) -> int:
        if number is None:
            return -1
        if number not in self.nests:
            self.nests[number] = self.streams.nest(self.graph.nests[number])
        return self.nests[number]

    def _site(self) -> SelectionSite:
        step = self.graph.ops[self.event.subject]
        op: Op = self.streams.graph.producer[step.works_for]
        npu = self.event.index
        return SelectionSite(self.streams.graph, op, self.graph, step, npu, self._address)

    def _npu(self, tile: int) -> int:
        """Return whose space a transferred tile lies in."""
        item = self.graph.tiles[tile]
        if item.is_resident or item.space.is_shared:
            return 0
        return self.accesses.placement(tile, self.number).npu

    def _address(self, tile: int) -> int:
        address = self.graph.tiles[tile].address
        return self.accesses.placement(tile, self.number).address if address is None else address

    def _outside(self) -> str:
        """Return the symbol off chip of the tile that is transferred."""
        tile = self.graph.tiles[self.event.subject]
        if tile.role is Role.PSUM:
            return self.streams.spill_symbol(self.graph, self.event.subject)
        if tile.is_resident and self.event.kind is EventKind.STORE:
            return self.streams.store_symbol(tile.tensor)
        return tile.tensor

    def _copy(self) -> Copy:
        tile = self.event.subject
        item = self.graph.tiles[tile]
        chip = on_chip(item, self._npu(tile), self._address(tile), item.box)
        base = self.streams.layout.symbols[self._outside()].address
        if item.role is Role.PSUM:
            outside = Access(Space.DRAM, 0, base, item.strides)
        else:
            outside = off_chip(item, base)
        dst, src = (chip, outside) if self.event.kind in INWARDS else (outside, chip)
        shape, (dst, src) = squeeze(item.shape, dst, src)
        return Copy(
            dst=dst,
            src=src,
            shape=shape,
            element_bytes=item.element_bytes,
            layout=self._nest(item.layout),
        )


def select_compute(site: SelectionSite, numbers: Numbers, *, clear: bool) -> AnyInstruction:
    """Return the instruction of a tile operation.

    Args:
        site: The operation and where its tiles lie.
        numbers: Of the program's descriptors.
        clear: Whether sums start from zero.

    Raises:
        PassError: The machine has no instruction for the operator.
    """
    if site.step.accumulates:
        return select_mac(site, numbers, clear=clear)
    if site.tiles.keeps(site.step):
        return select_keep(site)
    if site.tiles.finishes(site.step):
        return select_finish(site, numbers)
    return select_vector(site)
