"""The traffic of one operator over the mesh, from its loop nest, and how long it takes.

Each child of the mesh computes phase by phase. Tiles of weights and inputs come over the mesh while
it computes on those before, as far as its memories are double buffered; sums leave when their tile
is complete, and come back where their reduction goes on later. The scratchpad gets its tiles from
the off-chip memory in the same manner. What waits for what:

- a phase: the one before, and the tiles that begin with it;
- a tile for a child: that the tile two before (double buffered; else the one before) is not needed
  any more, and that the scratchpad has what it is a part of;
- sums that leave: the last phase of their tile, and sums of others that are to be added to them;
- a tile for the scratchpad: that all children have got what they need of the tile two before;
- a tile of outputs that leaves the scratchpad: all sums that belong to it.

A port takes its share of all groups in turn, the one with the least to send first.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...ir.arch import Architecture, MemoryLevel
from ...ir.mapping import LoopNest
from ...ir.mesh import Mesh, mesh_of
from ...ir.workload import Operand
from ..array.counts import Side, count_accesses
from ..array.nest import ArrayNest, Leg
from .destinations import Groups, groups_of, next_hops, port_for
from .kernel import NO_MEMORY, READ, WRITE, Ints
from .phases import Phases, Visits
from .transfers import Arrivals, Transfers

_REGION = 1 << 34
"""Bytes from tensor to tensor of a nest off chip, more than one takes."""

MOST = 400_000
"""Packets and phases that are simulated of one nest, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRun:
    """How an operator runs over the mesh.

    Attributes:
        cycles: Latency [cycle].
        compute_cycles: Of the children, if they never wait [cycle].
        phases: Phases of the nest.
        simulated: Phases that were simulated; the others go on at the pace of the last half of
            these, but not faster than the busiest link and the off-chip memory can.
        is_bound: Whether the pace of those that were not simulated is that of a bound.
        packets: Packets simulated.
        crossed: Flits over each link in the simulated phases.
        waits: How long a child waits in the simulated phases, on average over children, by whose
            tile it waits for [cycle]; of the outputs: for a place for new sums, or old ones.
        simulated_cycles: Until the last phase that was simulated is over [cycle].
        fill_cycles: Until a child first computes [cycle].
        drain_cycles: From the last phase's end until all has left [cycle].
        carried: Flits of the whole nest over each link that carries some.
    """

    cycles: int
    compute_cycles: int
    phases: int
    simulated: int
    is_bound: bool
    packets: int
    crossed: Ints
    waits: Mapping[Operand, float]
    simulated_cycles: int
    fill_cycles: int
    drain_cycles: int
    carried: Mapping[int, int]


def run_nest(
    nest: LoopNest, arch: Architecture, *, accumulate: bool = False, most: int = MOST
) -> NetworkRun:
    """Return how long an operator, or one instruction, takes with its traffic over the mesh.

    Args:
        nest: Its loops, from the memories that its operands lie in down to the MACs. What lies in
            the array already does not cross the mesh.
        arch: The machine of one NPU.
        accumulate: Whether sums that lie in the scratchpad are added to, so that they come first.
        most: Packets and phases simulated, about.

    Raises:
        ArchitectureError: The machine has no mesh, or one that is too small.
        SimulationError: It cannot run the nest.
    """
    return _Traffic(ArrayNest(nest, arch), mesh_of(arch), most, accumulate=accumulate).run()


@dataclass(frozen=True, slots=True)
class _Way:
    """An operand's way over the mesh.

    Attributes:
        leg: From the memory with ports on the mesh into the children.
        outer: From the off-chip memory into that one; ``None`` where the operand lies in it.
        is_off_chip: Whether the memory with ports is the off-chip memory.
        groups: Children with equal parts.
        flits: Of one tile of a group; of sums, at their own width.
        narrow: Of finished outputs.
    """

    leg: Leg
    outer: Leg | None
    is_off_chip: bool
    groups: Groups
    flits: int
    narrow: int


class _Traffic:
    """Tasks of one nest."""

    def __init__(self, nest: ArrayNest, mesh: Mesh, most: int, *, accumulate: bool) -> None:
        self.nest, self.mesh, self.accumulate = nest, mesh, accumulate
        self.ways = {way.leg.operand: way for operand in Operand if (way := self._way(operand))}
        self.children = math.prod(
            loop.extent for loop in nest.nest.spatial if loop.fanout == mesh.network.fanout
        )
        legs = [item for way in self.ways.values() for item in (way.leg, way.outer) if item]
        probe = Phases(nest, tuple(legs), 1)
        self.phases = Phases(nest, tuple(legs), max(int(most / self._per_phase(probe)), 16))
        self.transfers = Transfers(mesh)
        self._load = [0] * len(mesh.positions)
        self._carried: Counter[int] = Counter()
        self._remembered = 0
        self._needs: list[tuple[Operand, Ints, Ints, Ints]] = []
        self.compute = self._compute()

    # -- geometry -------------------------------------------------------------------------------

    def _way(self, operand: Operand) -> _Way | None:
        """Return an operand's way; ``None`` where it lies in the array already."""
        legs = self.nest.legs(operand)
        crossing = [
            place
            for place, leg in enumerate(legs)
            if any(hop.fanout.name == self.mesh.network.fanout for hop in leg.hops)
        ]
        if not crossing:
            return None
        (at,) = crossing
        leg, inner = legs[at], legs[at].hops[1:]
        sums = operand is Operand.O
        copies = math.prod(hop.telling if sums else hop.transfers for hop in inner)
        elements = leg.elements * copies
        return _Way(
            leg=leg,
            outer=legs[at - 1] if at else None,
            is_off_chip=leg.parent is self.nest.arch.off_chip,
            groups=groups_of(self.nest, self.mesh, operand),
            flits=self._flits(elements * self.nest.bits(operand)),
            narrow=self._flits(elements * self.nest.workload.output_bits),
        )

    def _flits(self, bits: int) -> int:
        return -(-bits // self.mesh.network.flit_bits)

    def _per_phase(self, phases: Phases) -> Fraction:
        """Return packets and phases of children, of the whole nest per phase."""
        total = Fraction(self.children)
        for operand, way in self.ways.items():
            packets = -(-way.flits // self.mesh.network.packet_flits)
            ways = len(way.groups.of) if operand is Operand.O else len(way.groups.members)
            total += phases.share(way.leg) * packets * ways
            if way.outer is not None:
                bits = way.outer.elements * self.nest.bits(operand)
                packets = -(-self._flits(bits) // self.mesh.network.packet_flits)
                total += phases.share(way.outer) * packets
        return total

    # -- tasks ----------------------------------------------------------------------------------

    def run(self) -> NetworkRun:
        """Return how it runs."""
        for operand in (Operand.I, Operand.W):
            if operand in self.ways:
                self._inputs(self.ways[operand])
        if Operand.O in self.ways:
            self._sums(self.ways[Operand.O])
        arch = self.nest.arch
        arrivals = self.transfers.run(arch.off_chip.read_bandwidth, arch.dram, arch.clock_hz)
        at_pace, bound = self._at_pace(arrivals), self._bound()
        first, last = self.compute[0], self.compute[-1]
        computed = int(arrivals.done[last].max()) + 1
        return NetworkRun(
            cycles=max(at_pace, bound),
            compute_cycles=math.ceil(self._phase_cycles() * self.phases.all),
            phases=self.phases.all,
            simulated=self.phases.count,
            is_bound=bound > at_pace,
            packets=arrivals.packets,
            crossed=arrivals.crossed,
            waits=self._waits(arrivals),
            simulated_cycles=computed,
            fill_cycles=int(arrivals.done[first].min()) + 1 - self._first_cycles,
            drain_cycles=int(arrivals.done.max()) + 1 - computed,
            carried=self._carried,
        )

    def _needed(self, operand: Operand, tasks: Ints, phases: Ints, children: Ints) -> None:
        """Let phases of children wait for tasks, ``[phases, children]``."""
        self.transfers.order(tasks, self.compute[phases][:, children])
        self._needs.append((operand, tasks, phases, children))

    def _waits(self, arrivals: Arrivals) -> Mapping[Operand, float]:
        """Return how long children wait, by the operand that comes last."""
        latest = np.full((len(Operand), *self.compute.shape), -1)
        for operand, tasks, phases, children in self._needs:
            came = latest[list(Operand).index(operand)]
            place = phases[:, None], children[None, :]
            came[place] = np.maximum(came[place], arrivals.done[tasks])
        before = np.full(self.compute.shape, -1)
        before[1:] = arrivals.done[self.compute[:-1]]
        lost = np.maximum(latest.max(axis=0) - before, 0)
        last = latest.argmax(axis=0)
        children = self.compute.shape[1]
        return {
            operand: float(lost[last == at].sum() / children) for at, operand in enumerate(Operand)
        }

    def _at_pace(self, arrivals: Arrivals) -> int:
        """Return the latency of the whole nest, at the pace of what was simulated."""
        phases, end = self.phases, int(arrivals.done.max()) + 1
        if phases.count == phases.all:
            return end
        done = arrivals.done[self.compute].max(axis=1)
        half = phases.count // 2
        pace = Fraction(int(done[-1] - done[half - 1]), phases.count - half)
        return end + math.ceil(pace * (phases.all - phases.count))

    def _bound(self) -> int:
        """Return how long the busiest link, or the off-chip memory, needs for the whole nest."""
        bandwidth, dram = self.nest.arch.off_chip.read_bandwidth, self.nest.arch.dram
        if dram is not None:
            bandwidth = dram.burst_bytes / (dram.burst_ns * self.nest.arch.clock_hz / 1e9)
        memory = _time(self._remembered * self.mesh.network.flit_bits, bandwidth)
        return max([math.ceil(memory), *self._carried.values()])

    def _carry(self, tree: int, flits: int, memory: int) -> None:
        """Book flits of the whole nest."""
        for link in self.transfers.links(tree):
            self._carried[link] += flits
        self._remembered += flits if memory != NO_MEMORY else 0

    def _times(self, leg: Leg) -> tuple[int, int]:
        """Return how many tiles of the whole nest go over a leg, and how many different ones."""
        return int(self.phases.share(leg) * self.phases.all), self.phases.different(leg)

    def _phase_cycles(self) -> Fraction:
        """Return how long children compute on one phase, their own memories' ports included."""
        arch, busiest = self.nest.arch, Fraction(self.nest.steps)
        loads: Counter[tuple[str, Side]] = Counter()
        for item in count_accesses(self.nest, accumulate=self.accumulate):
            loads[item.place, item.side] += item.busiest
        for level in arch.levels[arch.index(arch.scratchpad) + 1 :]:
            read, write = (loads[level.name, side] for side in (Side.READ, Side.WRITE))
            busiest = max(busiest, *_port_times(level, read, write))
        for fanout in arch.fanouts[1:]:
            for side in (Side.DOWN, Side.UP):
                time = _time(loads[fanout.name, side], fanout.link_bandwidth)
                busiest = max(busiest, time)
        return busiest / self.phases.all

    @property
    def _first_cycles(self) -> int:
        return max(math.floor(self._phase_cycles()), 1)

    def _compute(self) -> Ints:
        """Add the phases of all children, ``[phases, children]``."""
        each = self._phase_cycles()
        ends = [math.floor(each * number) for number in range(1, self.phases.count + 1)]
        cycles = np.maximum(np.diff(np.array([0, *ends], np.int64)), 1)
        tasks = self.transfers.delays(np.repeat(cycles[:, None], self.children, axis=1))
        self.transfers.order(tasks[:-1], tasks[1:])
        return tasks

    def _inputs(self, way: _Way) -> None:
        """Add the tiles of weights or inputs."""
        visits, halves = self.phases.visits(way.leg), _halves(way.leg.child)
        memory = READ if way.is_off_chip else NO_MEMORY
        weight = way.flits * self._times(way.leg)[0]
        trees = [
            self.transfers.tree(self._port(way, members, weight), members)
            for members in way.groups.members
        ]
        for tree in trees:
            self._carry(tree, weight, memory)
        flits = np.full((len(visits), len(trees)), way.flits)
        places = self._addresses(way.leg, visits.tile, way.flits, len(trees))
        tiles = self.transfers.add(np.array(trees)[None, :], flits, memory, places)
        by_child = tiles[:, way.groups.of]
        self._needed(
            way.leg.operand, by_child, visits.first, np.arange(by_child.shape[1], dtype=np.int64)
        )
        self.transfers.order(self.compute[visits.last[:-halves]], by_child[halves:])
        if way.outer is not None:
            self._staged(way.outer, visits, tiles, halves)

    def _staged(self, outer: Leg, visits: Visits, tiles: Ints, halves: int) -> None:
        """Add the tiles that the scratchpad gets, for those that the children get."""
        own = self.phases.visits(outer)
        bits = outer.elements * self.nest.bits(outer.operand)
        parts = self._off_chip(outer, own.tile, np.full(len(own), bits), READ)
        self._carry_off_chip(bits, self._times(outer)[0], READ)
        begun = visits.at(own.first)
        for late in range(halves):  # those behind wait for a phase of these
            at = begun + late
            inside = at < np.append(begun[1:], len(visits))
            self.transfers.order(parts[inside][:, :, None], tiles[at[inside]][:, None, :])
        ended = visits.at(own.last)
        again = _halves(outer.child)
        self.transfers.order(tiles[ended[:-again]][:, :, None], parts[again:][:, None, :])

    def _off_chip(self, leg: Leg, tile: Ints, bits: Ints, memory: int) -> Ints:
        """Add tiles between off-chip memory and scratchpad, over all ports ``[tiles, ports]``."""
        ports = len(self.mesh.scratchpad_nodes)
        flits = -(-bits // (self.mesh.network.flit_bits * ports))
        trees = np.array(self._off_chip_trees(memory))
        places = self._addresses(leg, tile, int(flits.max(initial=0)), ports)
        return self.transfers.add(trees[None, :], flits[:, None], memory, places)

    def _addresses(self, leg: Leg, tile: Ints, flits: int, parts: int) -> Ints:
        """Return the first byte off chip of each part of tiles, ``[tiles, parts]``.

        Tensors lie there tile by tile, each part of a tile as a whole.
        """
        size = flits * self.mesh.network.flit_bits // 8
        base = list(Operand).index(leg.operand) * _REGION
        return base + (tile[:, None] * parts + np.arange(parts)[None, :]) * size

    def _off_chip_trees(self, memory: int) -> list[int]:
        pads, outer = self.mesh.scratchpad_nodes, self.mesh.off_chip_nodes
        pairs = [(outer[place % len(outer)], pad) for place, pad in enumerate(pads)]
        if memory == READ:
            return [self.transfers.tree(other, (pad,)) for other, pad in pairs]
        return [self.transfers.tree(pad, (other,)) for other, pad in pairs]

    def _carry_off_chip(self, bits: int, tiles: int, memory: int) -> None:
        each = -(-bits // (self.mesh.network.flit_bits * len(self.mesh.scratchpad_nodes)))
        for tree in self._off_chip_trees(memory):
            self._carry(tree, each * tiles, memory)

    def _port(self, way: _Way, members: Sequence[int], weight: int) -> int:
        """Return the port of a group: the one with the least to carry, then the nearest."""
        mesh = self.mesh
        nodes = mesh.off_chip_nodes if way.is_off_chip else mesh.scratchpad_nodes
        best = port_for(mesh, nodes, members, self._load)
        self._load[best] += weight
        return best

    def _sums(self, way: _Way) -> None:
        """Add the tiles of outputs, on their way out and back in."""
        visits, halves = self.phases.visits(way.leg), _halves(way.leg.child)
        sends, last = self._messages(way, visits)
        self.transfers.order(self.compute[visits.last], sends)
        everyone = np.arange(sends.shape[1], dtype=np.int64)
        self._needed(Operand.O, sends[:-halves], visits.first[halves:], everyone)
        taken_up = self.accumulate and way.outer is None
        back = np.flatnonzero((visits.earlier >= 0) | taken_up)
        returns = self._returned(way, visits.tile[back], last, taken_up=taken_up)
        nearest = np.array([child for child, _ in last])
        again, late = visits.earlier[back] >= 0, back >= halves
        self.transfers.order(sends[visits.earlier[back][again]][:, nearest], returns[again])
        self.transfers.order(sends[back[late] - halves][:, nearest], returns[late])
        self._needed(Operand.O, returns, visits.first[back], nearest)
        if way.outer is not None:
            self._stored(way.outer, visits, sends[:, nearest], back, returns)

    def _returned(
        self, way: _Way, tile: Ints, last: Sequence[tuple[int, int]], *, taken_up: bool
    ) -> Ints:
        """Add old sums, each to the child that sent them to a port ``[tiles, ports]``."""
        trees = [self.transfers.tree(port, (child,)) for child, port in last]
        memory = READ if way.is_off_chip else NO_MEMORY
        places = self._addresses(way.leg, tile, way.flits, len(trees))
        tiles, different = self._times(way.leg)
        for tree in trees:
            self._carry(tree, (tiles - (0 if taken_up else different)) * way.flits, memory)
        flits = np.full((len(tile), len(trees)), way.flits)
        return self.transfers.add(np.array(trees)[None, :], flits, memory, places)

    def _messages(self, way: _Way, visits: Visits) -> tuple[Ints, list[tuple[int, int]]]:
        """Add what children send, ``[visits, children]``; return who sends to which port, too."""
        sends = np.zeros((len(visits), len(way.groups.of)), np.int64)
        last: list[tuple[int, int]] = []
        tiles, _ = self._times(way.leg)
        places = self._addresses(way.leg, visits.tile, way.flits, len(way.groups.members))
        for group, members in enumerate(way.groups.members):
            port = self._port(way, members, way.flits * tiles)
            hops = next_hops(self.mesh, members, port)
            for child, receiver in hops.items():
                tree = self.transfers.tree(child, (receiver,))
                if receiver == port:
                    sends[:, child] = self._sent_out(way, visits, tree, places[:, group])
                    last.append((child, port))
                else:
                    sends[:, child] = self._sent_on(way, visits, tree)
            for child, receiver in hops.items():
                if receiver != port:
                    self.transfers.order(sends[:, child], sends[:, receiver])
        return sends, last

    def _sent_on(self, way: _Way, visits: Visits, tree: int) -> Ints:
        """Add the sums that one child sends to another one ``[visits]``."""
        self._carry(tree, self._times(way.leg)[0] * way.flits, NO_MEMORY)
        return self.transfers.add(np.array(tree), np.full(len(visits), way.flits), NO_MEMORY)

    def _sent_out(self, way: _Way, visits: Visits, tree: int, places: Ints) -> Ints:
        """Add the sums that the last child sends to a port ``[visits]``; finished are narrow."""
        memory = WRITE if way.is_off_chip else NO_MEMORY
        tiles, different = self._times(way.leg)
        self._carry(tree, (tiles - different) * way.flits + different * way.narrow, memory)
        final = np.where(visits.is_final == 1, way.narrow, way.flits)
        return self.transfers.add(np.array(tree), final, memory, places)

    def _stored(self, outer: Leg, visits: Visits, sends: Ints, back: Ints, returns: Ints) -> None:
        """Add the tiles of outputs between the scratchpad and the off-chip memory."""
        own, again = self.phases.visits(outer), _halves(outer.child)
        transfers = self.transfers
        widths = np.where(own.is_final == 1, self.nest.workload.output_bits, self.nest.psum_bits)
        stores = self._off_chip(outer, own.tile, outer.elements * widths, WRITE)
        tiles, different = self._times(outer)
        wide, narrow = outer.elements * self.nest.psum_bits, self.nest.workload.output_bits
        self._carry_off_chip(wide, tiles - different, WRITE)
        self._carry_off_chip(outer.elements * narrow, different, WRITE)
        self._carry_off_chip(wide, tiles - different, READ)
        ended, of = visits.at(own.last), own.at(visits.first)
        transfers.order(sends[ended][:, :, None], stores[:, None, :])
        late = of >= again
        transfers.order(stores[of[late] - again][:, :, None], sends[late][:, None, :])
        anew = np.flatnonzero(own.earlier >= 0)
        loads = self._off_chip(outer, own.tile[anew], np.full(len(anew), wide), READ)
        transfers.order(stores[own.earlier[anew]], loads)
        freed = anew >= again
        transfers.order(stores[anew[freed] - again], loads[freed])
        known = np.isin(of[back], anew)
        place = np.searchsorted(anew, of[back][known])
        transfers.order(loads[place][:, :, None], returns[known][:, None, :])


def _halves(memory: MemoryLevel | None) -> int:
    return 2 if memory is None or memory.double_buffered else 1


def _port_times(level: MemoryLevel, read: int, write: int) -> tuple[Fraction, Fraction]:
    if level.shared_port:
        return _time(read + write, level.read_bandwidth), Fraction(0)
    return _time(read, level.read_bandwidth), _time(write, level.write_bandwidth)


def _time(bits: int, bandwidth: float | None) -> Fraction:
    return Fraction(0) if bandwidth is None else Fraction(bits, 8) / Fraction(bandwidth)
