"""The cost model of one spatial mapping as coefficients: what an order of loops multiplies.

With unrolling and memories fixed, all traffic over the boundary between a memory and the next
outer one is ``elements x (visits x a + tiles x b)``, where only these three depend on the order
and on where tiles start; so are energies and loads of ports (see :mod:`...analysis.traffic`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....ir.arch import Architecture, MemoryLevel
from ....ir.mapping import LoopNest
from ....ir.workload import Operand
from ...analysis.latency import ports_of
from ...analysis.stages import Hop, Stage, copies_of, reduction_of, relevant_of, stages_of
from ...analysis.traffic import Direction, Traffic, output_psum_bits
from ...analysis.view import NestView, view_nest
from .kernel.records import Floats

_OPERANDS = (Operand.W, Operand.I, Operand.O)


@dataclass(frozen=True)
class Coefficients:
    """Energies [pJ] and port loads [cycle]; see :mod:`.kernel.records`.

    Boundaries ``c`` of an operand are numbered from the innermost outwards.
    """

    fixed: float
    per_visit: Floats
    per_tile: Floats
    port_fixed: Floats
    port_visit: Floats
    port_tile: Floats
    first_tile: Floats
    couple: Floats


def coefficients(
    nest: LoopNest,
    arch: Architecture,
    resident: frozenset[Operand],
    depth: int,
    *,
    timed: bool = True,
) -> Coefficients:
    """Return the coefficients of all nests that share a nest's unrolling and memories.

    Args:
        nest: Any of them.
        arch: The machine.
        resident: Operands that lie whole in the scratchpad.
        depth: Boundaries to make room for, per operand.
        timed: Whether the loads of ports are wanted; else these are zero.
    """
    builder = _Builder(view_nest(nest, arch, resident), arch, depth, timed)
    for x, operand in enumerate(_OPERANDS):
        stages = stages_of(builder.view, arch, operand)
        for c, stage in enumerate(reversed(stages[:-1])):
            if operand is Operand.O:
                builder.add_output(c, stage)
            else:
                builder.add_input(x, c, stage)
        if operand is Operand.O:
            builder.add_sums(stages)
        else:
            builder.add_operand(stages[-1])
    return builder.finished()


@dataclass
class _Builder:
    """Collects traffic by place and direction and turns it into energies and cycles."""

    view: NestView
    arch: Architecture
    depth: int
    timed: bool
    fixed: float = 0.0
    unit_loads: dict[tuple[str, Direction], Floats] = field(
        default_factory=dict[tuple[str, Direction], Floats]
    )
    per_visit: Floats = field(init=False)
    per_tile: Floats = field(init=False)
    port_fixed: Floats = field(init=False)
    port_visit: Floats = field(init=False)
    port_tile: Floats = field(init=False)
    first_tile: Floats = field(init=False)
    couple: Floats = field(init=False)

    def __post_init__(self) -> None:
        ports = len(ports_of(self.arch, ()))
        shape = (len(_OPERANDS), self.depth)
        self.per_visit, self.per_tile = np.zeros(shape), np.zeros(shape)
        self.port_fixed = np.zeros(ports)
        self.port_visit, self.port_tile = np.zeros((ports, *shape)), np.zeros((ports, *shape))
        self.first_tile = np.zeros(shape)
        self.couple = np.zeros((self.depth, self.depth))
        self.fixed = self.view.macs * self.arch.mac_energy
        self.psum = output_psum_bits(self.view, self.arch)

    def finished(self) -> Coefficients:
        """Return what was collected."""
        return Coefficients(
            fixed=self.fixed,
            per_visit=self.per_visit,
            per_tile=self.per_tile,
            port_fixed=self.port_fixed,
            port_visit=self.port_visit,
            port_tile=self.port_tile,
            first_tile=self.first_tile,
            couple=self.couple,
        )

    # Weights and inputs

    def add_input(self, x: int, c: int, stage: Stage) -> None:
        """Add the way of a tile from its parent to all its children."""
        bits = self.view.workload.bits(stage.operand)
        assert stage.child is not None
        self._visit(x, c, stage.parent, Direction.READ, stage.parents, stage.copies * bits)
        self._visit(x, c, stage.child, Direction.WRITE, stage.children, bits)
        links = stage.parents
        slowest = _time(bits, _write_bandwidth(self.arch.level(stage.child)))
        for position, hop in enumerate(stage.hops):
            links *= hop.children
            each = copies_of(stage.hops[position + 1 :]) * bits
            self._visit(x, c, hop.fanout.name, Direction.DOWN, links, each)
            slowest = max(slowest, _time(each, hop.fanout.link_bandwidth))
        sent = _time(bits * stage.copies, self.arch.level(stage.parent).read_bandwidth)
        self.first_tile[x, c] = max(slowest, sent)

    def add_operand(self, macs: Stage) -> None:
        """Add the way of an operand to the MACs."""
        bits = self.view.workload.bits(macs.operand) * macs.visits
        self._always(macs.parent, Direction.READ, macs.parents, macs.copies * bits)
        links = macs.parents
        for position, hop in enumerate(macs.hops):
            links *= hop.children
            each = copies_of(macs.hops[position + 1 :]) * bits
            self._always(hop.fanout.name, Direction.DOWN, links, each)

    # Outputs

    def add_output(self, c: int, stage: Stage) -> None:
        """Add the way of a tile of sums to its parent, and back."""
        assert stage.child is not None
        finished = self.view.workload.output_bits
        slowest = 0.0
        for place, direction, instances, tiles, is_done in _drain(stage, c == 0):
            self._visit(2, c, place, direction, instances, tiles * self.psum)
            last = finished if is_done else self.psum
            self._tile(2, c, place, direction, instances, tiles * (last - self.psum))
            slowest = max(slowest, _time(tiles * last, self._bandwidth(place, direction)))
        self.first_tile[2, c] = slowest
        all_children = relevant_of((*stage.above, *stage.hops))
        for place, direction, busiest in _read_back(stage):
            self._visit_energy(c, place, direction, all_children)
            self.per_tile[2, c] -= self._energy(place, direction, all_children * self.psum)
            self._port(self.port_visit, 2, c, place, direction, busiest * self.psum)
            self._port(self.port_tile, 2, c, place, direction, -busiest * self.psum)
        if c == 0:
            self._start_from_zero(stage, all_children)
        self._couple(c, stage)

    def add_sums(self, stages: Sequence[Stage]) -> None:
        """Add the updates of the innermost memory."""
        macs = stages[-1]
        updates = macs.visits * relevant_of(macs.hops) * self.psum
        starts = 0
        if len(stages) == 1:
            starts = macs.tiles * relevant_of(macs.hops) * self.psum
        self._always(macs.parent, Direction.READ, macs.parents, updates - starts)
        self._always(macs.parent, Direction.WRITE, macs.parents, updates)
        links = macs.parents
        for position, hop in enumerate(macs.hops):
            links *= hop.children
            each = macs.visits * relevant_of(macs.hops[position + 1 :]) * self.psum
            self._always(hop.fanout.name, Direction.UP, links, each)

    def _start_from_zero(self, stage: Stage, all_children: int) -> None:
        """A sum that starts from zero is not read: all visits but those read back."""
        assert stage.child is not None
        each = self._energy(stage.child, Direction.READ, self.psum)
        self.per_visit[2, 0] -= (stage.children - all_children) * each
        self.per_tile[2, 0] -= all_children * each
        self._port(self.port_tile, 2, 0, stage.child, Direction.READ, -self.psum)

    def _couple(self, c: int, stage: Stage) -> None:
        """Sums split above an outer child start anew in all but its first instance."""
        assert stage.child is not None
        each = sum(self._energy(place, way, self.psum) for place, way, _ in _read_back(stage))
        if c == 0:
            each += self._energy(stage.child, Direction.READ, self.psum)
        outer = stages_of(self.view, self.arch, Operand.O)[:-1][: -c - 1]
        others = relevant_of((*stage.above, *stage.hops))
        for further, item in enumerate(reversed(outer)):
            reduced = reduction_of(item.hops)
            self.per_visit[2, c] += others * (reduced - 1) * each
            self.couple[c, c + 1 + further] = -others * (reduced - 1) * each
            others *= reduced

    # Energies and cycles

    def _visit(
        self, x: int, c: int, place: str, direction: Direction, instances: int, bits: int
    ) -> None:
        self.per_visit[x, c] += self._energy(place, direction, instances * bits)
        self._port(self.port_visit, x, c, place, direction, bits)

    def _tile(
        self, x: int, c: int, place: str, direction: Direction, instances: int, bits: int
    ) -> None:
        self.per_tile[x, c] += self._energy(place, direction, instances * bits)
        self._port(self.port_tile, x, c, place, direction, bits)

    def _visit_energy(self, c: int, place: str, direction: Direction, tiles: int) -> None:
        self.per_visit[2, c] += self._energy(place, direction, tiles * self.psum)

    def _always(self, place: str, direction: Direction, instances: int, bits: int) -> None:
        self.fixed += self._energy(place, direction, instances * bits)
        self.port_fixed += self._loads(place, direction, bits)

    def _port(
        self, table: Floats, x: int, c: int, place: str, direction: Direction, bits: int
    ) -> None:
        table[:, x, c] += self._loads(place, direction, bits)

    def _loads(self, place: str, direction: Direction, bits: int) -> Floats:
        if not self.timed:
            return np.zeros_like(self.port_fixed)
        if (place, direction) not in self.unit_loads:
            self.unit_loads[place, direction] = self._unit_loads(place, direction)
        return bits * self.unit_loads[place, direction]

    def _unit_loads(self, place: str, direction: Direction) -> Floats:
        one = Traffic(
            place=place,
            operand=Operand.W,
            direction=direction,
            elements=1,
            bits=1,
            busiest_bits=1,
        )
        return np.array([port.cycles for port in ports_of(self.arch, (one,))])

    def _energy(self, place: str, direction: Direction, bits: int) -> float:
        match direction:
            case Direction.READ:
                level = self.arch.level(place)
                return bits / level.word_bits * level.read_energy
            case Direction.WRITE:
                level = self.arch.level(place)
                return bits / level.word_bits * level.write_energy
            case Direction.DOWN | Direction.UP:
                return bits / 8 * self.arch.fanout(place).hop_energy

    def _bandwidth(self, place: str, direction: Direction) -> float | None:
        match direction:
            case Direction.READ:
                return self.arch.level(place).read_bandwidth
            case Direction.WRITE:
                return _write_bandwidth(self.arch.level(place))
            case Direction.DOWN | Direction.UP:
                return self.arch.fanout(place).link_bandwidth


def _drain(stage: Stage, innermost: bool) -> list[tuple[str, Direction, int, int, bool]]:
    """Return where a tile of sums passes: place, direction, instances, tiles, sums finished."""
    assert stage.child is not None
    whole: tuple[Hop, ...] = (*stage.above, *stage.hops)
    done = reduction_of(whole) == 1 and not innermost
    passed = [(stage.child, Direction.READ, stage.children, 1, done)]
    links = stage.parents
    for position, hop in enumerate(stage.hops):
        links *= hop.children
        done = reduction_of((*stage.above, *stage.hops[: position + 1])) == 1
        inner = relevant_of(stage.hops[position + 1 :])
        passed.append((hop.fanout.name, Direction.UP, links, inner, done))
    done = reduction_of(stage.above) == 1
    passed.append((stage.parent, Direction.WRITE, stage.parents, relevant_of(stage.hops), done))
    return passed


def _read_back(stage: Stage) -> list[tuple[str, Direction, int]]:
    """Return where a tile of sums passes on its way back: place, direction, busiest tiles."""
    assert stage.child is not None
    passed = [(stage.parent, Direction.READ, relevant_of(stage.hops))]
    for position, hop in enumerate(stage.hops):
        inner = relevant_of(stage.hops[position + 1 :])
        passed.append((hop.fanout.name, Direction.DOWN, inner))
    return [*passed, (stage.child, Direction.WRITE, 1)]


def _write_bandwidth(level: MemoryLevel) -> float | None:
    return level.read_bandwidth if level.shared_port else level.write_bandwidth


def _time(bits: int, bandwidth: float | None) -> float:
    return 0.0 if bandwidth is None else bits / (8 * bandwidth)
