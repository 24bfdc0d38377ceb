"""What the compiler predicts of an operator, event by event, and what the simulator counts."""

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from accnn.ir.arch import Architecture
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.isa.program import Program
from accnn.ir.isa.spaces import level_of_space
from accnn.ir.tiles.events import INWARDS, Event, EventKind
from accnn.ir.tiles.graph import Tile
from accnn.ir.tiles.schedule import TileSchedule
from accnn.ir.tiles.touches import Accesses
from accnn.passes.analysis.tile_cost import TileCost
from accnn.passes.analysis.traffic import Direction
from accnn.passes.scheduling.timing.retime import memory_owner
from accnn.passes.scheduling.timing.spread import link_loads
from accnn.passes.scheduling.timing.work import Works
from accnn.runtime_sim.accesses import touches
from accnn.runtime_sim.array.arrays import Arrays
from accnn.runtime_sim.array.counts import Side
from accnn.runtime_sim.array.run import ArrayRun
from accnn.runtime_sim.ledger import Ledger
from accnn.runtime_sim.result import OperatorAccount
from accnn.runtime_sim.timing.events import time_of

READ, WRITE, DOWN, UP = Direction.READ, Direction.WRITE, Direction.DOWN, Direction.UP


@dataclass
class Account:
    """Sums over the events of one schedule.

    Attributes:
        schedule: The events.
        arch: The machine.
        bits: Through every memory and over all links of every fan-out, by direction [bit].
        macs: Executed multiply-accumulates, padding included.
        lane_cycles: Of vector units.
    """

    schedule: TileSchedule
    arch: Architecture
    bits: Counter[tuple[str, Direction]] = field(default_factory=Counter)
    macs_pj: float = 0.0
    lane_cycles: int = 0

    def __post_init__(self) -> None:
        self.graph = self.schedule.graph
        self.works = Works(self.graph, self.arch)
        accesses = Accesses(self.schedule)
        for number, event in enumerate(self.schedule.events):
            self._add(event, memory_owner(accesses, number))

    def _add(self, event: Event, npu: int) -> None:
        if event.kind is not EventKind.COMPUTE:
            tile, inwards = self.graph.tiles[event.subject], event.kind in INWARDS
            self._move(self.arch.off_chip.name, READ if inwards else WRITE, tile.bytes)
            self._on_chip(tile, npu, inwards=inwards)
        elif event.unit is Unit.MX:
            op = self.graph.ops[event.subject]
            cost = self.works.cost(op, npu, clear=event.clear)
            nest = self.graph.nests[op.nests[npu]]
            lanes = math.prod(loop.extent for loop in nest.spatial)
            self.macs_pj += cost.steps * lanes * self.arch.mac_energy
            for item in cost.traffic:
                self.bits[item.place, item.direction] += item.bits
        elif self.graph.finishes(self.graph.ops[event.subject]):
            self._finish(event, npu)
        else:
            op = self.graph.ops[event.subject]
            self._move(self.arch.scratchpad, READ, op.read_bytes)
            self._move(self.arch.scratchpad, WRITE, op.written_bytes)
            self.lane_cycles += math.prod(axis.size for axis in op.box) * op.cost

    def _finish(self, event: Event, npu: int) -> None:
        op = self.graph.ops[event.subject]
        sums, out = self.graph.tiles[op.reads[0]], self.graph.tiles[op.out]
        elements = sums.bytes // sums.element_bytes
        self._on_chip(sums, npu, inwards=False, width=out.element_bytes)
        self._move(self.arch.scratchpad, READ, op.read_bytes)
        self._move(self.arch.scratchpad, WRITE, elements * out.element_bytes)
        self.lane_cycles += elements

    def _move(self, place: str, way: Direction, size: int) -> None:
        self.bits[place, way] += 8 * size

    def _on_chip(self, tile: Tile, npu: int, *, inwards: bool, width: int | None = None) -> None:
        """Count a tile that enters or leaves a memory of the chip, and the links above it."""
        way = WRITE if inwards else READ
        if tile.space is Space.GB:
            self._move(self.arch.scratchpad, way, tile.bytes)
        elif tile.layout is not None:
            layout = self.graph.nests[tile.layout]
            machine = self.arch.for_npu(self.arch.npus[npu])
            level = level_of_space(self.arch)[tile.space]
            part, links = link_loads(layout, machine, tile.element_bytes, width)
            children = 1
            for fanout, busiest in links:
                unrolled = (loop.extent for loop in layout.spatial if loop.fanout == fanout)
                children *= math.prod(unrolled)
                crossing = 8 * busiest * children
                self.bits[fanout, DOWN if inwards else UP] += crossing
            self._move(level, way, part * children)

    @property
    def levels(self) -> dict[tuple[str, str], Fraction]:
        """Bytes read and written, of all memories that have any [byte]."""
        return {
            (place, way.value): Fraction(bits, 8)
            for (place, way), bits in self.bits.items()
            if bits and place in self.arch.level_names
        }

    @property
    def energy(self) -> float:
        """All together [pJ]."""
        total = self.macs_pj + self.lane_cycles * self.arch.vector.energy
        for (place, way), bits in self.bits.items():
            if way in (DOWN, UP):
                total += float(bits) / 8 * self.arch.fanout(place).hop_energy
            else:
                level = self.arch.level(place)
                each = level.read_energy if way is READ else level.write_energy
                total += float(bits) / level.word_bits * each
        return total


def counted(program: Program) -> OperatorAccount:
    """Return the simulator's account of a program, without its values."""
    arrays = Arrays(program)
    ledger = Ledger(program, arrays)
    for queue, line in zip(program.queues, time_of(program, arrays=arrays).queues, strict=True):
        for instruction, issue in zip(queue.instructions, line, strict=True):
            ledger.record(queue.unit, instruction, touches(instruction), issue)
    return ledger.total()


def levels_of(account: OperatorAccount) -> dict[tuple[str, str], int]:
    """Return the bytes read and written, of all memories that have any [byte]."""
    found: Counter[tuple[str, str]] = Counter()
    for item in account.traffic:
        found[item.level, "read"] += item.read
        found[item.level, "write"] += item.written
    return {key: size for key, size in found.items() if size}


def difference(found: Account, account: OperatorAccount) -> str:
    """Return in what a prediction differs from an account, empty if in nothing.

    The simulator rounds the bytes of each operand up.
    """
    ours, theirs = found.levels, levels_of(account)
    if ours.keys() != theirs.keys():
        return f"bytes move at {sorted(ours.keys() ^ theirs.keys())} only in one of the two"
    for key, size in ours.items():
        if not 0 <= theirs[key] - size < 3:
            return f"{key}: predicted {float(size)} byte, counted {theirs[key]}"
    if abs(found.energy - account.energy.total) > 1e-9 * account.energy.total:
        return f"predicted {found.energy} pJ, counted {account.energy.total}"
    return ""


def descriptor_difference(cost: TileCost, run: ArrayRun, arch: Architecture) -> str:
    """Return in what a descriptor's predicted cost differs from the simulator's, or nothing."""
    pairs = {
        "steps": (cost.steps, run.steps),
        "fill": (cost.fill_cycles, run.fill),
        "drain": (cost.drain_cycles, run.drain),
        "cycles between": (cost.steady_cycles, _steady(run, arch)),
        "accesses": (
            {
                (item.place, item.operand, item.direction.value): (item.bits, item.busiest_bits)
                for item in cost.traffic
            },
            {
                (item.place, item.operand, item.side.value): (item.bits, item.busiest)
                for item in run.counts
            },
        ),
    }
    for what, (ours, theirs) in pairs.items():
        if ours != theirs:
            return f"{what}: predicted {ours}, counted {theirs}"
    energy = run.macs * arch.mac_energy
    energy += sum(_energy(arch, item.place, item.side, item.bits) for item in run.counts)
    if abs(cost.energy_pj - energy) > 1e-9 * max(1.0, energy):
        return f"predicted {cost.energy_pj} pJ, counted {energy}"
    return ""


def _steady(run: ArrayRun, arch: Architecture) -> int:
    """Return what the slowest of the array and the busiest instances' ports takes [cycle]."""
    times = [Fraction(run.steps)]
    moved = dict(run.busiest)
    for level in arch.levels:
        read, write = moved.get((level.name, Side.READ), 0), moved.get((level.name, Side.WRITE), 0)
        if level.shared_port:
            read, write = read + write, 0
        for size, bandwidth in ((read, level.read_bandwidth), (write, level.write_bandwidth)):
            if bandwidth is not None:
                times.append(size / Fraction(bandwidth))
    for fanout in arch.fanouts:
        if fanout.link_bandwidth is not None:
            for side in (Side.DOWN, Side.UP):
                times.append(moved.get((fanout.name, side), 0) / Fraction(fanout.link_bandwidth))
    return math.ceil(max(times))


def _energy(arch: Architecture, place: str, side: Side, bits: int) -> float:
    if side in (Side.DOWN, Side.UP):
        return bits / 8 * arch.fanout(place).hop_energy
    level = arch.level(place)
    return bits / level.word_bits * (level.read_energy if side is Side.READ else level.write_energy)
