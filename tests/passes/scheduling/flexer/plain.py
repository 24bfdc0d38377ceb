"""The list scheduler in plain Python: what the compiled kernel must do, from the same description.

It is written from section 4 of the paper and the docstrings of the kernel, with lists of objects in
the place of arrays: no table is kept up to date that can be looked up. What is left to do is added
up anew each time, sets of operations are compared by what they are and not by a hash, and fractions
are exact.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from accnn.passes.scheduling.flexer.kernel.arrays import (
    ABORTED,
    APART,
    BENEFIT,
    COMPUTE,
    DONE,
    EAGER,
    FINISH,
    FIRST_FIT,
    FURTHEST,
    LOAD,
    MIN_TRANSFER,
    RETRIEVE,
    SMALL_SPILL,
    SPILL,
    STORE,
    STUCK,
    SUM,
    Choice,
    Goal,
    TilingArrays,
)

Row = tuple[int, ...]
Flow = Counter[tuple[int, int, bool, bool, bool, int]]


@dataclass
class Segment:
    """Neighbouring bytes that hold one tile, or nothing, and when they were last touched."""

    size: int
    tile: int | None = None
    touched: int = 0


@dataclass
class Tile:
    """What is known of a tile; times in cycles, events by number."""

    size: int
    xfer: int
    is_resident: bool
    is_seen: bool
    uses: list[int] = field(default_factory=list[int])
    ready: int = 0
    touched: int = 0
    first: int | None = None
    last: int | None = None
    spilled: int | None = None
    adder: int | None = None

    @property
    def left(self) -> int:
        """Operations that will still touch it."""
        return len(self.uses)


@dataclass
class Kept:
    """A parameter tensor in a slot: when it is there, last touched, first and last event."""

    ready: int = 0
    touched: int = 0
    first: int = 0
    last: int = 0


@dataclass
class Port:
    """When a port has served all so far, and when it idles before the last one."""

    free: int = 0
    gap: tuple[int, int] = (0, 0)

    def serve(self, ready: int, cycles: int) -> int:
        """Serve a transfer and return when it ends."""
        begin = max(ready, self.gap[0])
        if begin + cycles <= self.gap[1]:
            self.gap = (begin + cycles, self.gap[1])
            return begin + cycles
        begin = max(ready, self.free)
        if begin > self.free:
            self.gap = (self.free, begin)
        self.free = begin + cycles
        return self.free


@dataclass(frozen=True)
class Take:
    """A tile (or none) that takes a run of segments, whose tiles leave."""

    tile: int | None
    low: int
    high: int
    position: int
    at_end: bool


@dataclass(frozen=True)
class Plan:
    """What a set would do to memory."""

    takes: tuple[Take, ...]
    spilled: Fraction
    used: int
    overhead: int
    moved: int


@dataclass(frozen=True)
class Grown:
    """A set of operations that is considered."""

    members: tuple[int, ...]
    reused: int
    new: int
    flow: Flow

    @property
    def rank(self) -> tuple[int, int]:
        """Sets of a smaller one come first."""
        return (-self.reused, self.new)


def free_runs(pad: Sequence[Segment]) -> list[range]:
    """Return the largest runs of free neighbours."""
    runs: list[range] = []
    for at, segment in enumerate(pad):
        if segment.tile is None:
            is_longer = bool(runs) and runs[-1].stop == at
            begin = runs.pop().start if is_longer else at
            runs.append(range(begin, at + 1))
    return runs


def total(pad: Sequence[Segment], run: range) -> int:
    return sum(pad[at].size for at in run)


def covering(pad: Sequence[Segment], low: int, size: int) -> range:
    """Return the fewest segments from ``low`` on that have so many bytes."""
    high = low
    while total(pad, range(low, high + 1)) < size:
        high += 1
    return range(low, high + 1)


def touch_of(pad: Sequence[Segment], run: range) -> int:
    return max(pad[at].touched for at in run)


def put(pad: list[Segment], run: range, size: int, tile: int, at_end: bool) -> Segment:
    """Put a tile at the start, or the end, of free segments; return its segment."""
    rest = total(pad, run) - size
    new = Segment(size, tile, touch_of(pad, run))
    behind = Segment(rest, None, pad[run[0] if at_end else run[-1]].touched)
    both = [behind, new] if at_end else [new, behind]
    pad[run.start : run.stop] = [item for item in both if item.size]
    return new


@dataclass
class Schedule:
    """A schedule in the making, and how it is made."""

    p: TilingArrays
    uses: Sequence[Sequence[int]]
    pad: list[Segment] = field(init=False)
    tiles: list[Tile] = field(init=False)
    channels: list[int] = field(init=False)
    ports: list[Port] = field(init=False)
    arrays: list[int] = field(init=False)
    vectors: list[int] = field(init=False)
    slots: list[int | None] = field(init=False)
    kept: list[list[Kept]] = field(init=False)
    oldest_slot: int = 0
    pending: list[int] = field(default_factory=list[int])
    order: list[int] = field(default_factory=list[int])
    groups: list[int] = field(default_factory=list[int])
    events: list[Row] = field(default_factory=list[Row])
    placements: list[Row] = field(default_factory=list[Row])
    bytes: int = 0
    moved: int = 0
    makespan: int = 0

    def __post_init__(self) -> None:
        p, npus, tensors = self.p, self.p.latency.shape[1], self.p.param_bytes.shape[1]
        self.pad = [Segment(p.capacity)]
        self.tiles = [
            Tile(int(size), int(xfer), bool(home), bool(home), list(uses))
            for size, xfer, home, uses in zip(p.size, p.xfer, p.resident, self.uses, strict=True)
        ]
        self.channels = [0] * p.channels
        self.ports = [Port() for _ in range(p.sides)]
        self.arrays, self.vectors = [0] * npus, [0] * npus
        self.slots = [None] * p.slots
        self.kept = [[Kept() for _ in range(tensors)] for _ in self.slots]

    # -- What there is ---------------------------------------------------------------------------

    def reads(self, op: int) -> tuple[int, int, int]:
        one, two, three = (int(tile) for tile in self.p.reads[op])
        return one, two, three

    def is_sum(self, tile: int) -> bool:
        return self.p.first_acc <= tile < self.p.first_acc + len(self.p.finish)

    def output_of(self, acc: int) -> int:
        return acc + len(self.p.finish)

    def is_here(self, tile: int) -> bool:
        return any(segment.tile == tile for segment in self.pad)

    def address(self, tile: int) -> int:
        at = next(at for at, segment in enumerate(self.pad) if segment.tile == tile)
        return total(self.pad, range(at))

    # -- Events ----------------------------------------------------------------------------------

    def note(self, kind: int, subject: int, engine: int, start: int, end: int, clear: bool) -> int:
        self.events.append((kind, subject, engine, start, end, int(clear)))
        self.makespan = max(self.makespan, end)
        return len(self.events) - 1

    def touch(self, tile: int, number: int, end: int) -> None:
        item = self.tiles[tile]
        item.first = number if item.first is None else item.first
        item.last, item.touched = number, max(item.touched, end)

    def move(self, kind: int, subject: int, ready: int, cycles: int, size: int) -> int:
        """Issue a transfer: on the busiest channel that is free by then, or the first to be."""
        free = [at for at, time in enumerate(self.channels) if time <= ready]
        if free:
            channel = max(free, key=lambda at: (self.channels[at], -at))
        else:
            channel = min(range(len(self.channels)), key=lambda at: (self.channels[at], at))
        start = max(self.channels[channel], ready)
        port = self.ports[0] if kind in (LOAD, RETRIEVE) else self.ports[-1]
        end = port.serve(start + self.p.startup, cycles)
        self.channels[channel] = end
        self.bytes, self.moved = self.bytes + size, self.moved + cycles
        number = self.note(kind, subject, channel, start, end, False)
        if subject >= 0:
            self.touch(subject, number, end)
        return end

    def move_tile(self, kind: int, tile: int, ready: int) -> int:
        return self.move(kind, tile, ready, self.tiles[tile].xfer, self.tiles[tile].size)

    # -- Space -----------------------------------------------------------------------------------

    def needed(self, members: Sequence[int]) -> tuple[list[int], set[int]]:
        """Return the tiles that a set has to bring, in order, and all that it uses."""
        missing: list[int] = []
        pinned: set[int] = set()
        for op in members:
            for tile in self.reads(op):
                if self.tiles[tile].is_resident or tile in pinned:
                    continue
                pinned.add(tile)
                if not self.is_here(tile):
                    missing.append(tile)
            acc = self.reads(op)[2]
            out = self.output_of(acc)
            if self.tiles[acc].left == 1 and not self.tiles[out].is_resident:
                pinned.add(out)
                missing.append(out)
        return missing, pinned

    def plan(self, members: Sequence[int], memory: int) -> Plan | None:
        """Return where the tiles of a set would lie and who would leave, ``None`` if it fits not.

        First in place of equals, then in free space, then Algorithm 2 or another rule.
        """
        missing, pinned = self.needed(members)
        pad = [replace(segment) for segment in self.pad]
        takes: list[Take] = []
        left: list[int] = []
        leaving = self._place_free(pad, missing, memory, takes)
        for position in leaving:
            run = self._make_space(pad, missing[position], pinned, memory % EAGER, takes, left)
            if run is None:
                return None
            self._take(pad, missing, position, run, False, takes)
        brought = [t for t in missing if t < self.p.first_acc]
        brought += [t for t in missing if self.is_sum(t) and self.tiles[t].spilled is not None]
        moving = brought + [tile for tile in left if self.is_sum(tile)]
        npus = len(self.arrays)
        return Plan(
            tuple(takes),
            sum(
                (
                    Fraction(self.tiles[tile].size, min(npus, self.tiles[tile].left))
                    for tile in left
                    if self.tiles[tile].left
                ),
                Fraction(0),
            ),
            sum(segment.size for segment in pad if segment.tile is not None),
            sum(self.p.startup + self.tiles[tile].xfer for tile in moving),
            sum(self.tiles[tile].size for tile in moving),
        )

    def _take(
        self,
        pad: list[Segment],
        missing: Sequence[int],
        position: int,
        run: range,
        at_end: bool,
        takes: list[Take],
    ) -> None:
        tile = missing[position]
        takes.append(Take(tile, run[0], run[-1], position, at_end))
        put(pad, run, self.tiles[tile].size, tile, at_end)

    def _place_free(
        self, pad: list[Segment], missing: Sequence[int], memory: int, takes: list[Take]
    ) -> list[int]:
        """Place tiles where nobody has to leave; return the positions of the others."""
        is_empty = all(segment.tile is None for segment in pad)
        is_eager = memory % APART >= EAGER and not is_empty
        others: list[int] = []
        for position, tile in enumerate(missing):
            at = None if is_empty else self._in_place(pad, self.tiles[tile].size, is_eager)
            if at is None:
                others.append(position)
            else:
                self._take(pad, missing, position, range(at, at + 1), False, takes)
        leaving: list[int] = []
        for position in others:
            tile = missing[position]
            at_end = memory >= APART and self.is_sum(tile)
            run = self._free_run(pad, self.tiles[tile].size, at_end, is_eager)
            if run is None:
                leaving.append(position)
            else:
                self._take(pad, missing, position, run, at_end, takes)
        return leaving

    def _in_place(self, pad: Sequence[Segment], size: int, is_eager: bool) -> int | None:
        """Return the free segment of just this size that was touched first, if it is to be taken.

        If ``is_eager`` it is not where other space is free earlier, and before a channel is.
        """
        equal = [at for at, item in enumerate(pad) if item.tile is None and item.size == size]
        if not equal:
            return None
        at = min(equal, key=lambda at: (pad[at].touched, at))
        if is_eager and self._soonest(pad, size)[0] < max(pad[at].touched, min(self.channels)):
            return None
        return at

    def _soonest(self, pad: Sequence[Segment], size: int) -> tuple[int, int, int]:
        """Return when space is free first, bytes of its run, and its first segment."""
        return min(
            (
                max(min(self.channels), touch_of(pad, covering(pad, low, size))),
                total(pad, run),
                low,
            )
            for run in free_runs(pad)
            for low in run
            if total(pad, range(low, run.stop)) >= size
        )

    def _free_run(
        self, pad: Sequence[Segment], size: int, at_end: bool, is_eager: bool
    ) -> range | None:
        runs = [run for run in free_runs(pad) if total(pad, run) >= size]
        if not runs:
            return None
        if at_end:
            low = runs[-1].stop - 1
            while total(pad, range(low, runs[-1].stop)) < size:
                low -= 1
            return range(low, runs[-1].stop)
        if is_eager:
            return covering(pad, self._soonest(pad, size)[2], size)
        best = min(
            runs,
            key=lambda run: (
                total(pad, run),
                touch_of(pad, covering(pad, run.start, size)),
                run.start,
            ),
        )
        return covering(pad, best.start, size)

    def _make_space(
        self,
        pad: list[Segment],
        tile: int,
        pinned: set[int],
        rule: int,
        takes: list[Take],
        left: list[int],
    ) -> range | None:
        """Let tiles leave and return the run that they leave, ``None`` where it cannot be."""
        size = self.tiles[tile].size
        if rule != SMALL_SPILL:
            run = self._victims(pad, size, pinned, rule)
            if run is not None:
                self._leave(pad, run, left)
            return run
        while (run := self._free_run(pad, size, False, False)) is None:
            may_go = [
                at
                for at, item in enumerate(pad)
                if item.tile is not None
                if item.tile not in pinned
            ]
            if not may_go:
                return None
            at = min(may_go, key=lambda at: (pad[at].size, at))
            self._leave(pad, range(at, at + 1), left)
            takes.append(Take(None, at, at, 0, False))
        return run

    def _leave(self, pad: Sequence[Segment], run: range, left: list[int]) -> None:
        for at in run:
            tile, pad[at].tile = pad[at].tile, None
            if tile is not None:
                left.append(tile)

    def _victims(
        self, pad: Sequence[Segment], size: int, pinned: set[int], rule: int
    ) -> range | None:
        """Return the run that makes space: the best of the shortest from every start."""
        runs: list[tuple[tuple[float, ...], int, range]] = []
        for low in range(len(pad)):
            if total(pad, range(low, len(pad))) >= size:
                run = covering(pad, low, size)
                if not any(pad[at].tile in pinned for at in run):
                    runs.append((self._disadvantage(pad, run, size, rule), low, run))
        return min(runs, default=(0, 0, None))[2]

    def _disadvantage(
        self, pad: Sequence[Segment], run: range, size: int, rule: int
    ) -> tuple[float, ...]:
        if rule == FIRST_FIT:
            return (len(run),)
        inside = [(pad[at].size, pad[at].tile) for at in run]
        tiles = [(bytes, tile, self.tiles[tile]) for bytes, tile in inside if tile is not None]
        if rule == FURTHEST:
            used = [(bytes, tile) for bytes, tile, item in tiles if item.left]
            return (
                sum(bytes for bytes, tile in used if tile >= self.p.first_acc),
                -min((item.uses[0] for _, _, item in tiles if item.uses), default=math.inf),
                sum(bytes for bytes, _ in used),
            )
        return (
            total(pad, run) - size,
            sum(bytes * item.left for bytes, _, item in tiles),
            len(tiles),
        )

    # -- Tiles come and go -----------------------------------------------------------------------

    def free(self, tile: int) -> None:
        item = self.tiles[tile]
        address = self.address(tile)
        segment = next(segment for segment in self.pad if segment.tile == tile)
        segment.tile, segment.touched = None, item.touched
        if item.first is not None:
            assert item.last is not None
            self.placements.append((tile, 0, address, item.first, item.last))
        item.first = None

    def store(self, tile: int) -> None:
        self.move_tile(STORE, tile, self.tiles[tile].ready)
        self.pending.remove(tile)
        self.free(tile)

    def evict(self, tile: int) -> None:
        """Take a tile off chip; sums and results are written, the others are there still."""
        if self.is_sum(tile):
            self.tiles[tile].spilled = self.move_tile(SPILL, tile, self.tiles[tile].ready)
        if tile >= self.output_of(self.p.first_acc):
            self.store(tile)
        else:
            self.free(tile)

    def arrive(self, tile: int, touched: int) -> None:
        item = self.tiles[tile]
        item.ready = item.touched = touched
        item.adder = None
        if tile < self.p.first_acc:
            item.ready = self.move_tile(LOAD, tile, touched)
            item.is_seen = True
        elif item.spilled is not None:
            item.ready = self.move_tile(RETRIEVE, tile, max(touched, item.spilled))
            item.spilled = None

    def make_space(self, takes: Sequence[Take]) -> None:
        """Carry out a plan; tiles come in by when their space is free, if nothing is written."""
        waiting: list[tuple[int, int, int]] = []
        for take in takes:
            run = range(take.low, take.high + 1)
            leaving = [self.pad[at].tile for at in run]
            there = [tile for tile in leaving if tile is not None]
            is_written = any(tile >= self.p.first_acc for tile in there)
            if is_written:
                self._bring(waiting)
                waiting = []
            for tile in there:
                self.evict(tile)
            if take.tile is None:
                continue
            size = self.tiles[take.tile].size
            time = put(self.pad, run, size, take.tile, take.at_end).touched
            if is_written:
                self.arrive(take.tile, time)
            else:
                waiting.append((time, take.position, take.tile))
        self._bring(waiting)

    def _bring(self, waiting: Sequence[tuple[int, int, int]]) -> None:
        for time, _, tile in sorted(waiting):
            self.arrive(tile, time)

    # -- Operations ------------------------------------------------------------------------------

    def do_set(self, members: Sequence[int], takes: Sequence[Take]) -> None:
        oldest = list(self.pending)
        self.make_space(takes)
        for tile in oldest:
            if self.is_here(tile):
                self.store(tile)
        for op, npu in self._assigned(members):
            acc = self.reads(op)[2]
            slot = 0
            if self.tiles[acc].left == 1:
                slot = self._parameters(int(self.p.params[acc - self.p.first_acc]))
            self._issue(op, npu, slot)
        for op in members:
            for tile in self.reads(op):
                if not self.tiles[tile].left and self.is_here(tile):
                    self.free(tile)
        self.order += members
        self.groups.append(len(members))
        self._tidy()

    def _assigned(self, members: Sequence[int]) -> list[tuple[int, int]]:
        """Return operations by when their operands are there, each with the NPU that ends first."""
        ready = {op: max(self.tiles[tile].ready for tile in self.reads(op)) for op in members}
        free, found = list(self.arrays), list[tuple[int, int]]()
        for op in sorted(members, key=ready.__getitem__):
            ends = [
                max(time, ready[op] + int(self.p.fill[op, npu])) + int(self.p.latency[op, npu])
                for npu, time in enumerate(free)
            ]
            npu = ends.index(min(ends))
            free[npu] = ends[npu]
            found.append((op, npu))
        return found

    def _parameters(self, key: int) -> int:
        """Bring the parameters of a result to all NPUs if they are not there; return their slot."""
        if key in self.slots:
            return self.slots.index(key)
        slot = self.oldest_slot
        self.oldest_slot = (slot + 1) % self.p.slots
        tensors = self.p.param_bytes.shape[1]
        for tensor, item in enumerate(self.kept[slot]):
            self._drop(slot, tensor)
            number = len(self.events)
            cycles = int(self.p.param_xfer[key, tensor])
            size = int(self.p.param_bytes[key, tensor])
            end = self.move(LOAD, -1 - (key * tensors + tensor), item.touched, cycles, size)
            item.ready = item.touched = end
            item.first = item.last = number
        self.slots[slot] = key
        return slot

    def _drop(self, slot: int, tensor: int) -> None:
        key, tensors = self.slots[slot], self.p.param_bytes.shape[1]
        if key is not None:
            item = self.kept[slot][tensor]
            subject = -1 - (key * tensors + tensor)
            self.placements.append((subject, 0, slot * tensors + tensor, item.first, item.last))

    def _issue(self, op: int, npu: int, slot: int) -> None:
        p, reads = self.p, self.reads(op)
        acc = self.tiles[reads[2]]
        operands = [self.tiles[tile].ready for tile in reads[:2]]
        start = max([*operands, acc.ready] if acc.adder != npu else operands)
        begin = max(self.arrays[npu], start + int(p.fill[op, npu]))
        cycles = p.adding if acc.is_seen else p.latency
        self.arrays[npu] = begin + int(cycles[op, npu])
        end = self.arrays[npu] + int(p.drain[op, npu])
        number = self.note(COMPUTE, op, npu, start, end, not acc.is_seen)
        acc.is_seen, acc.ready, acc.adder = True, end, npu
        for tile in reads:
            if not self.tiles[tile].is_resident:
                self.touch(tile, number, end)
            self.tiles[tile].uses.pop(0)
        if not acc.left:
            self._finish(op, npu, slot, end)

    def _finish(self, op: int, npu: int, slot: int, ready: int) -> None:
        acc = self.reads(op)[2]
        out = self.output_of(acc)
        is_resident, kept = self.tiles[out].is_resident, self.kept[slot]
        begin = max([self.vectors[npu], ready, *(item.ready for item in kept)])
        if not is_resident:
            begin = max(begin, self.tiles[out].ready)
        end = self.vectors[npu] = begin + int(self.p.finish[acc - self.p.first_acc])
        number = self.note(FINISH, op, npu, begin, end, False)
        self.touch(acc, number, end)
        for item in kept:
            item.touched, item.last = max(item.touched, end), number
        if not is_resident:
            self.touch(out, number, end)
            self.tiles[out].ready = end
            self.pending.append(out)

    def _tidy(self) -> None:
        """Join free neighbours that no engine can still find busy."""
        quiet = min([*self.channels, *self.arrays, *self.vectors])
        pad: list[Segment] = []
        for segment in self.pad:
            is_quiet = segment.tile is None and segment.touched <= quiet
            if is_quiet and pad and pad[-1].tile is None and pad[-1].touched <= quiet:
                pad[-1].size += segment.size
            else:
                pad.append(segment)
        self.pad = pad

    def try_set(self, members: Sequence[int], memory: int) -> int:
        """Schedule as many of the first ones as fit together; where none does, in an empty pad."""
        for count in range(len(members), 0, -1):
            plan = self.plan(members[:count], memory)
            if plan is not None:
                self.do_set(members[:count], plan.takes)
                return count
        for tile in [segment.tile for segment in self.pad if segment.tile is not None]:
            self.evict(tile)
        plan = self.plan(members[:1], memory)
        if plan is None:
            return 0
        self.do_set(members[:1], plan.takes)
        return 1

    def close(self) -> None:
        while self.pending:
            self.store(self.pending[0])
        for slot, items in enumerate(self.kept):
            for tensor in range(len(items)):
                self._drop(slot, tensor)

    # -- Which set comes next --------------------------------------------------------------------

    def is_ready(self, op: int) -> bool:
        if op in self.order:
            return False
        return self.p.commute or self.tiles[self.reads(op)[2]].uses[0] == op

    def presence(self, op: int) -> tuple[bool, ...]:
        return tuple(self.is_here(tile) or self.tiles[tile].is_resident for tile in self.reads(op))

    def candidates(self, window: int) -> list[int]:
        """Return operations worth considering: an eighth of them of every kind, then the best."""
        kinds: dict[tuple[bool, ...], list[int]] = {}
        for op in range(len(self.p.reads)):
            if self.is_ready(op):
                kinds.setdefault(self.presence(op), []).append(op)
        quota = {kind: min(len(ops), max(1, window // 8)) for kind, ops in kinds.items()}
        left = window - sum(quota.values())
        ranked = sorted(kinds, key=lambda kind: (-self._on_chip(kinds[kind][0]), kind[::-1]))
        for kind in ranked:
            extra = min(len(kinds[kind]) - quota[kind], max(0, left))
            quota[kind], left = quota[kind] + extra, left - extra
        return [op for kind in ranked for op in kinds[kind][: quota[kind]]]

    def _on_chip(self, op: int) -> int:
        return sum(self.tiles[tile].size for tile in self.reads(op) if self.is_here(tile))

    def grown(self, members: tuple[int, ...]) -> Grown:
        """Return a set with its reused and its new bytes, and its dataflow map (section 4.2)."""
        flow: Flow = Counter()
        reused = new = 0
        for role in range(3):
            shared = Counter(self.reads(op)[role] for op in members)
            for tile, sharing in shared.items():
                item, is_here = self.tiles[tile], self.is_here(tile)
                if item.is_resident:
                    continue
                reused += item.size * (sharing - (not is_here))
                new += item.size * (not is_here)
                state = (item.spilled is not None, is_here, item.left == sharing)
                flow[(item.size, sharing, *state, role)] += 1
        return Grown(members, reused, new, flow)

    def sets(self, choice: Choice) -> list[list[Grown]]:
        """Return, by size from one on, the sets that reuse most; equal maps count once."""
        window = self.candidates(choice.window)
        levels, level = list[list[Grown]](), [self.grown(())]
        for _ in self.arrays:
            best: list[Grown] = []
            for parent in level:
                sums = {self.reads(op)[2] for op in parent.members}
                for op in window:
                    if self.reads(op)[2] in sums:
                        continue
                    item = self.grown((*parent.members, op))
                    if not any(other.flow == item.flow for other in best):
                        best.append(item)
                        best = sorted(best, key=lambda item: item.rank)[: choice.beam]
            levels.append(best)
            level = best
        return levels

    def select(self, choice: Choice) -> tuple[tuple[int, ...], Plan] | None:
        """Return the set of the highest priority, of the largest size that fits (section 4.3)."""
        for level in reversed(self.sets(choice)):
            plans = [
                (item, plan)
                for item in level[: choice.trials]
                if (plan := self.plan(item.members, choice.memory)) is not None
            ]
            if plans:
                rank = [priority(choice.priority, item.reused, plan) for item, plan in plans]
                item, plan = plans[rank.index(max(rank))]
                return item.members, plan
        return None

    # -- When to give up -------------------------------------------------------------------------

    def is_hopeless(self, goal: Goal) -> bool:
        """Whether work and tiles that are left, spread at best, put the goal out of reach."""
        p, first = self.p, self.p.first_acc
        unread = [item for item in self.tiles[:first] if not item.is_seen]
        stored = {subject for kind, subject, *_ in self.events if kind == STORE}
        outs = range(self.output_of(first), len(self.tiles))
        unread += [self.tiles[t] for t in outs if not self.tiles[t].is_resident and t not in stored]
        xfer = sum(item.xfer for item in unread)
        work = sum(
            int(min(p.latency[op].min(), p.adding[op].min()))
            for op in range(len(p.reads))
            if op not in self.order
        )
        cycles = max(
            self.makespan,
            (self.moved + xfer) / p.sides,
            (sum(self.arrays) + work) / len(self.arrays),
            (sum(self.channels) + xfer) / len(self.channels),
        )
        bytes = self.bytes + sum(item.size for item in unread)
        if cycles > goal.most_cycles or bytes > goal.most_bytes:
            return True
        return minimised(goal, cycles, bytes) >= goal.limit


def priority(rule: int, reused: int, plan: Plan) -> tuple[Fraction | int, ...]:
    """Return the priority of a set; the largest wins, the first of equals."""
    if rule == BENEFIT:
        return reused - plan.spilled, plan.used, -plan.overhead
    if rule == MIN_TRANSFER:
        return -plan.moved, reused - plan.spilled, plan.used
    return -plan.spilled, reused, plan.used


def minimised(goal: Goal, cycles: float, bytes: float) -> float:
    """Return the figure that a goal says."""
    if goal.kind == SUM:
        return goal.fixed + cycles * goal.latency_power + bytes * goal.bytes_power
    return cycles**goal.latency_power * bytes**goal.bytes_power


def _uses(p: TilingArrays, order: Sequence[int]) -> list[list[int]]:
    """Return the positions at which each tile is used."""
    uses: list[list[int]] = [[] for _ in p.size]
    for position, op in enumerate(order):
        for tile in p.reads[op].tolist():
            uses[tile].append(position)
    return uses


def in_order(
    p: TilingArrays, order: Sequence[int], groups: Sequence[int], memory: int, goal: Goal
) -> tuple[int, Schedule]:
    """Schedule operations in a given order, set by set; see ``drive.schedule_in_order``."""
    made = Schedule(p, _uses(p, order))
    position = 0
    for size in groups:
        end = min(len(order), position + size)
        while position < end:
            taken = made.try_set([int(op) for op in order[position:end]], memory)
            if not taken:
                return STUCK, made
            position += taken
        if made.is_hopeless(goal):
            return ABORTED, made
    made.close()
    return (ABORTED if made.is_hopeless(goal) else DONE), made


def freely(p: TilingArrays, choice: Choice, goal: Goal) -> tuple[int, Schedule]:
    """Schedule operations out of order; see ``drive.schedule_freely``."""
    made = Schedule(p, _uses(p, range(len(p.reads))))
    while len(made.order) < len(p.reads):
        found = made.select(choice)
        if found is not None:
            made.do_set(found[0], found[1].takes)
        else:
            first = next(op for op in range(len(p.reads)) if made.is_ready(op))
            if not made.try_set([first], choice.memory):
                return STUCK, made
        if made.is_hopeless(goal):
            return ABORTED, made
    made.close()
    return (ABORTED if made.is_hopeless(goal) else DONE), made


def random_tiling(seed: int) -> TilingArrays:
    """Draw a tiling of a few operations; sizes are multiples of 6, so that fractions are exact."""
    rng = np.random.default_rng(seed)

    def some(low: int, high: int, *shape: int) -> np.ndarray:
        return rng.integers(low, high + 1, shape).astype(np.int64)

    inputs, weights, accs = (int(n) for n in some(1, 4, 3))
    ops = int(some(max(inputs, weights, accs), 9, 1)[0])
    npus, tensors, keys = int(some(1, 3, 1)[0]), int(some(0, 2, 1)[0]), int(some(1, accs, 1)[0])
    columns = [
        rng.permutation([*range(n), *some(0, n - 1, ops - n)]) for n in (inputs, weights, accs)
    ]
    first = inputs + weights
    reads = np.stack(columns, axis=1).astype(np.int64) + np.array([0, inputs, first])
    tiles = first + 2 * accs
    size = 6 * some(1, int(rng.choice([1, 2, 4])), tiles)
    resident = np.zeros(tiles, np.bool_)
    parts = (slice(0, inputs), slice(inputs, first), slice(first + accs, None))
    for part in parts:
        resident[part] = rng.random() < 0.15
    biggest = max(
        int(sum(size[t] for t in row if not resident[t]) + size[row[2] + accs])
        for row in reads.tolist()
    )
    latency = some(1, 9, ops, npus)
    return TilingArrays(
        capacity=int(biggest * rng.choice([0.9, 1.0, 1.2, 1.5, 2.0, 4.0])),
        channels=int(some(1, 3, 1)[0]),
        reads=reads,
        latency=latency,
        adding=latency + some(0, 3, ops, npus),
        fill=some(0, 3, ops, npus),
        drain=some(0, 3, ops, npus),
        size=size,
        startup=int(some(0, 3, 1)[0]),
        sides=int(some(1, 2, 1)[0]),
        xfer=np.where(resident, 0, some(1, 6, tiles)),
        resident=resident,
        finish=some(1, 5, accs),
        first_acc=first,
        params=some(0, keys - 1, accs),
        param_bytes=6 * some(1, 3, keys, tensors),
        param_xfer=some(1, 4, keys, tensors),
        slots=int(some(1, 2, 1)[0]),
        commute=bool(rng.random() < 0.7),
    )
