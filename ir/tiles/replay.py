"""Check by replaying the events that what is read is there, and that all work is done."""

from collections import defaultdict

from ..errors import VerifyError
from ..isa.instructions import Unit
from .contents import RollingRows, TensorContents
from .events import INWARDS, Event, EventKind, Placement, TileEvents
from .graph import Role, Tile
from .sums import TileSums


class Replay:
    """Follows the content of every placement through the events; local to one verification."""

    def __init__(self, schedule: TileEvents) -> None:
        self.schedule = schedule
        self.graph = schedule.graph
        self.ready: dict[Placement, int] = {}
        self.done: set[int] = set()
        self.added: dict[int, set[int]] = defaultdict(set)
        self.finished: dict[int, int] = defaultdict(int)
        self.finish_time: dict[int, int] = defaultdict(int)
        self.stored: set[int] = set()
        self.tensors = TensorContents(self.graph, schedule.cells)
        self.sums = TileSums(self.graph)
        self.rolling: dict[int, RollingRows] = {}

    def run(self) -> None:
        """Replay all events.

        Raises:
            VerifyError: Names the event that breaks a rule.
        """
        for number, event in enumerate(self.schedule.events):
            if event.kind is EventKind.COMPUTE:
                self._compute(number, event)
            else:
                self._transfer(number, event)
        self._all_done()

    def _place(self, tile: int, number: int, npu: int) -> Placement:
        item = self.schedule.placement(tile, number, npu)
        if item is None:
            raise VerifyError(f"event {number} touches tile {tile}, which is not on chip")
        return item

    def _await_content(self, tile: int, number: int, event: Event) -> None:
        if self.graph.tiles[tile].is_resident:
            if self.tensors.ready_on_chip(tile) > event.start:
                raise VerifyError(f"event {number} reads resident tile {tile} before it is there")
            return
        if self.finished[tile] < len(self.graph.writers.get(tile, ())):
            raise VerifyError(f"event {number} reads tile {tile} before all of it is written")
        item = self._place(tile, number, event.index if event.unit is not Unit.DMA else 0)
        if self.ready.get(item, event.start + 1) > event.start:
            raise VerifyError(f"event {number} reads tile {tile} before it is there")

    def _compute(self, number: int, event: Event) -> None:
        if event.subject in self.done:
            raise VerifyError(f"operation {event.subject} is executed twice")
        op = self.graph.ops[event.subject]
        for tile in op.reads:
            if self.graph.tiles[tile].rolls:
                self._await_rows(tile, number, event)
            elif self.graph.tiles[tile].role is Role.PSUM:
                self._take_sums(tile, number, event)
            else:
                self._await_content(tile, number, event)
        if op.accumulates:
            self._accumulate(op.out, number, event)
        else:
            self._write_output(op.out, number, event)
        self.done.add(event.subject)

    def _await_rows(self, tile: int, number: int, event: Event) -> None:
        """Check that the rows are there which an operation reads of a tile that rolls."""
        self._place(tile, number, event.index)
        (rows,) = self.graph.ops[event.subject].rows
        if not self._rolling(tile).read(rows, event.start, event.end):
            raise VerifyError(f"event {number} reads rows of tile {tile} that are not there")

    def _rolling(self, tile: int) -> RollingRows:
        if tile not in self.rolling:
            self.rolling[tile] = RollingRows(self.graph, tile)
        return self.rolling[tile]

    def _accumulate(self, acc: int, number: int, event: Event) -> None:
        item = self._place(acc, number, event.index)
        part = self.graph.ops[event.subject].sums
        try:
            self.sums.add(item, part, event)
        except VerifyError as error:
            raise VerifyError(f"event {number} {error}") from error
        self.added[acc].add(event.subject)

    def _take_sums(self, acc: int, number: int, event: Event) -> None:
        """Read accumulators, which are no longer needed then."""
        if self.added[acc] != set(self.graph.writers[acc]):
            raise VerifyError(f"event {number} finishes tile {acc} before all sums are in it")
        item = self._place(acc, number, event.index)
        if self.sums.ready(item) > event.start:
            raise VerifyError(f"event {number} reads tile {acc} before it is there")
        self.sums.finish(item)

    def _write_output(self, out: int, number: int, event: Event) -> None:
        self.finished[out] += 1
        self.finish_time[out] = max(self.finish_time[out], event.end)
        if self.graph.tiles[out].rolls:
            self._place(out, number, event.index)
            rows = self.graph.written_box(self.graph.ops[event.subject])[-2]
            if not self._rolling(out).write(rows, event.start, event.end):
                raise VerifyError(f"event {number} writes over rows of tile {out} too early")
        elif not self.graph.tiles[out].is_resident:
            self.ready[self._place(out, number, event.index)] = self.finish_time[out]
        elif self.finished[out] == len(self.graph.writers[out]):
            self._note_on_chip(out, number, self.finish_time[out])

    def _note_on_chip(self, tile: int, number: int, end: int) -> None:
        if not self.tensors.write_on_chip(tile, end):
            raise VerifyError(f"event {number} writes resident tile {tile} a second time")

    def move(self, number: int, event: Event) -> None:
        """Follow a whole tensor between its address on chip and off-chip memory."""
        if event.kind in INWARDS:
            self._check_off_chip(number, event)
            self.tensors.forget(event.subject)
            self._note_on_chip(event.subject, number, event.end)
        else:
            self._await_content(event.subject, number, event)
            self.tensors.write_off_chip(event.subject, event.end)

    def _check_off_chip(self, number: int, event: Event) -> None:
        if self.tensors.ready_off_chip(event.subject) > event.start:
            tensor = self.graph.tiles[event.subject].tensor
            raise VerifyError(f"event {number} loads a tile of %{tensor} before it is off chip")

    def _transfer(self, number: int, event: Event) -> None:
        tile = self.graph.tiles[event.subject]
        if tile.is_resident:
            self.move(number, event)
            return
        if event.kind is EventKind.LOAD:
            self._check_off_chip(number, event)
            self._arrive(number, event)
            if tile.role in (Role.O, Role.PSUM, Role.INNER):
                raise VerifyError(f"event {number} loads an output tile")
        elif event.kind is EventKind.RETRIEVE:
            place = self._arrive(number, event)
            if not self.sums.retrieve(place, event.start, event.end):
                raise VerifyError(f"event {number} retrieves a tile that was not spilled")
        elif event.kind is EventKind.SPILL:
            place = self._leave(number, event, tile, Role.PSUM)
            if not self.sums.spill(place, event.start, event.end):
                raise VerifyError(f"event {number} writes tile {event.subject} off too early")
        else:
            place = self._leave(number, event, tile, Role.O)
            if self.ready.get(place, event.start + 1) > event.start:
                raise VerifyError(f"event {number} writes tile {event.subject} off too early")
            if self.finished[event.subject] != len(self.graph.writers[event.subject]):
                raise VerifyError(f"event {number} stores tile {event.subject} unfinished")
            self.stored.add(event.subject)
            if not self.tensors.write_off_chip(event.subject, event.end):
                raise VerifyError(f"event {number} stores what was stored before")

    def _arrive(self, number: int, event: Event) -> Placement:
        for item in self.schedule.placements_of.get(event.subject, ()):
            if item.first_event == number:
                self.ready[item] = event.end
                return item
        raise VerifyError(f"event {number} loads tile {event.subject} to nowhere")

    def _leave(self, number: int, event: Event, tile: Tile, role: Role) -> Placement:
        if tile.role is not role:
            raise VerifyError(f"event {number}: {event.kind} of a tile of role {tile.role}")
        for item in self.schedule.placements_of.get(event.subject, ()):
            if item.first_event <= number <= item.last_event:
                return item
        raise VerifyError(f"event {number}: tile {event.subject} is not on chip")

    def _all_done(self) -> None:
        missing = set(range(len(self.graph.ops))) - self.done
        if missing:
            raise VerifyError(f"{len(missing)} operations are not executed, e.g. {min(missing)}")
        for out in self.graph.writers:
            if self.graph.tiles[out].role in (Role.PSUM, Role.INNER):
                continue
            if not self.graph.tiles[out].is_resident and out not in self.stored:
                raise VerifyError(f"output tile {out} is never stored")
