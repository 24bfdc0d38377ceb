"""Transfers over the mesh, delays, and what waits for what; run by discrete events.

The rules, which ``tests/runtime_sim/noc/cycle_by_cycle.py`` follows flit by flit:

- A transfer goes from one node to one or several. It is cut into packets of ``packet_flits`` flits;
  of ``buffer_flits`` at most where its tree forks. A node sends transfers in the order in which
  they could begin, each as a whole; of those of one cycle the lowest number is first.
- A link carries one flit per cycle. Behind each link, but for those to a node, are ``buffers``
  buffers of ``buffer_flits`` flits. A flit that crosses a link in cycle ``t`` can cross the next
  one in cycle ``t + router_cycles``. A place in a buffer is free in the cycle after its flit left.
- *Wormhole*: a link belongs to a packet from the cycle in which its head crosses until its last
  flit has; one buffer behind it, until its last flit has left that. The head crosses when both are
  free; of several that wait the one that came first goes first, then that of the lowest transfer.
- A packet that forks is copied flit by flit, each branch by itself; a flit leaves the buffer when
  all branches have it. Such a packet fits a buffer, so that no branch holds up another.
- A node takes a flit in every cycle. A transfer is done in the cycle in which the last flit has
  reached the last node; what waits for it begins in the next one.
- The off-chip memory serves one packet at a time, of the transfers that ask in turn, in as many
  cycles as its bandwidth says (fractions add up). What is read enters the mesh when it is there,
  while the next packet of the transfer is read; what is written is done when it is. Where the
  memory has a timing of its own, see :mod:`.dram`; then ``ahead`` packets of a transfer are asked
  for at once, and those whose row is open come first.

Packets go along rows, then along columns, and wait for nothing but links further on their way, so
there is no circle of packets that wait for each other (Dally, Seitz: Deadlock-free message routing
in multiprocessor interconnection networks, IEEE Transactions on Computers 1987). That one buffer
holds flits of one packet only is the assumption of Duato (A new theory of deadlock-free adaptive
routing in wormhole networks, IEEE TPDS 1993).

Deviation: the simulator of CoSA runs a synthesisable router (MatchLib's), whose arbitration and
pipeline are not published; these rules have no flit-by-flit sharing of a link by its buffers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.arch import Dram
from ...ir.errors import SimulationError
from ...ir.mesh import Mesh, Tree
from .dram import PARTS, dram_figures
from .kernel import (
    ADDRESS,
    AHEAD,
    BACK,
    BUFFER_FLITS,
    CHILD,
    CHILD_END,
    CROSSED,
    DONE,
    FIRST,
    FLIT_BYTES,
    FLITS,
    FREE,
    FRONT,
    IS_OUT,
    LEFT,
    LINK,
    LONGEST,
    MEMORY,
    MEMORY_PARTS,
    NEXT,
    NEXT_END,
    PACKET_FLITS,
    PACKETS,
    PARENT,
    REACHED,
    ROUTER_CYCLES,
    SPARE,
    STEPS,
    TREE,
    UNDELIVERED,
    WAITS,
    Ints,
    Net,
    run_events,
)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What became of transfers.

    Attributes:
        done: Last cycle of each task ``[tasks]``.
        crossed: Flits that crossed each link ``[links]``.
        packets: Packets altogether.
    """

    done: Ints
    crossed: Ints
    packets: int


class Transfers:
    """Tasks, which are transfers and delays, and their dependences.

    Attributes:
        mesh: Where they go.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._trees: dict[tuple[int, tuple[int, ...]], int] = {}
        self._shapes: list[Tree] = []
        self._rows: list[Ints] = []
        self._edges: list[Ints] = []
        self._tasks = 0

    def tree(self, source: int, destinations: Sequence[int]) -> int:
        """Return the number of the tree from a node to others."""
        key = source, tuple(destinations)
        if key not in self._trees:
            self._trees[key] = len(self._shapes)
            self._shapes.append(self.mesh.tree(source, destinations))
        return self._trees[key]

    def links(self, tree: int) -> tuple[int, ...]:
        """Return the links of a tree."""
        return self._shapes[tree].links

    def add(self, tree: Ints, flits: Ints, memory: int, address: Ints | None = None) -> Ints:
        """Add transfers and return their numbers, in the same shape.

        Args:
            tree: Trees that they go along.
            flits: Flits of each, at least 1.
            memory: What they ask of the off-chip memory.
            address: First byte of each there; 0 if ``None``.
        """
        byte = np.zeros(1, np.int64) if address is None else address
        tree, flits, byte = np.broadcast_arrays(tree, flits, byte)
        kind = np.full(tree.size, memory)
        rows = np.stack([tree.ravel(), flits.ravel(), kind, byte.ravel()])
        return self._append(rows).reshape(tree.shape)

    def delays(self, cycles: Ints) -> Ints:
        """Add delays of at least one cycle and return their numbers, in the same shape."""
        none = np.zeros(cycles.size, np.int64)
        rows = np.stack([none - 1, cycles.ravel(), none, none])
        return self._append(rows).reshape(cycles.shape)

    def _append(self, rows: Ints) -> Ints:
        self._rows.append(rows)
        first, self._tasks = self._tasks, self._tasks + rows.shape[1]
        return np.arange(first, self._tasks, dtype=np.int64)

    def order(self, before: Ints, after: Ints) -> None:
        """Let tasks wait for others, pair by pair; shapes are broadcast."""
        before, after = np.broadcast_arrays(before, after)
        self._edges.append(np.stack([before.ravel(), after.ravel()]))

    def run(
        self, memory_bandwidth: float | None, dram: Dram | None = None, clock_hz: float = 1e9
    ) -> Arrivals:
        """Run all.

        Args:
            memory_bandwidth: Of the off-chip memory [byte/cycle]; ``None`` is unbounded.
            dram: Its timing, which counts instead where it is given.
            clock_hz: Cycles per second.

        Raises:
            SimulationError: Tasks wait for each other in a circle.
        """
        net = self._net(memory_bandwidth)
        if dram is not None:
            figures, banks = dram_figures(dram, clock_hz)
            net = net._replace(dram=figures, banks=banks)
            net.figures[AHEAD] = dram.ahead
        run_events(net)
        done = net.tasks[:, DONE]
        if done.size and done.min() < 0:
            circle = int(np.argmin(done))
            raise SimulationError(f"transfers wait for each other in a circle, one is {circle}")
        return Arrivals(done, net.links[:-1, CROSSED], int(net.figures[PACKETS]))

    def _net(self, memory_bandwidth: float | None) -> Net:
        """Return what the events start from."""
        trees, steps, children = self._wires()
        tasks, waiting = self._work(trees)
        slots = self.mesh.links * (self.mesh.network.buffers + 1)
        longest = max(len(tree.links) for tree in self._shapes) if self._shapes else 1
        figures = self._figures(memory_bandwidth)
        figures[LONGEST], figures[STEPS], figures[FREE] = longest, slots * longest, slots
        return Net(
            tasks=tasks,
            next=waiting,
            trees=trees,
            steps=steps,
            children=children,
            links=self._links(),
            packets=np.zeros((slots, 4), np.int64),
            places=np.zeros((slots * longest + 2 * self._tasks, 5), np.int64),
            figures=figures,
            dram=np.zeros(0, np.int64),
            banks=np.zeros((0, 3), np.int64),
            heap=np.zeros(2 * slots * longest + self._tasks + 2, np.int64),
            free=np.arange(slots),
            touched=np.zeros(self.mesh.links + 1, np.int64),
        )

    def _figures(self, memory_bandwidth: float | None) -> Ints:
        """Return the figures of the machine; the others are zero."""
        network = self.mesh.network
        figures = np.zeros(12, np.int64)
        figures[FLIT_BYTES], figures[AHEAD] = max(network.flit_bits // 8, 1), 1
        figures[ROUTER_CYCLES], figures[BUFFER_FLITS] = network.router_cycles, network.buffer_flits
        if memory_bandwidth is not None:
            figures[MEMORY_PARTS] = max(round(PARTS * network.flit_bits / 8 / memory_bandwidth), 1)
        return figures

    def _links(self) -> Ints:
        links = np.zeros((self.mesh.links + 1, 7), np.int64)
        links[:-1, IS_OUT] = [self.mesh.is_out(link) for link in range(self.mesh.links)]
        links[:, SPARE] = self.mesh.network.buffers
        links[:, [FRONT, BACK]] = -1
        return links

    def _work(self, trees: Ints) -> tuple[Ints, Ints]:
        """Return tasks, and those that wait, by what they wait for."""
        rows = np.concatenate([np.zeros((4, 0), np.int64), *self._rows], axis=1)
        before, after = np.concatenate([np.zeros((2, 0), np.int64), *self._edges], axis=1)
        tasks = np.zeros((self._tasks, 14), np.int64)
        tasks[:, [TREE, FLITS, MEMORY, ADDRESS]] = rows.T
        tasks[:, LEFT] = tasks[:, FLITS]
        tasks[:, WAITS] = np.bincount(after, minlength=self._tasks)
        tasks[:, NEXT_END] = np.cumsum(np.bincount(before, minlength=self._tasks))
        tasks[1:, NEXT] = tasks[:-1, NEXT_END]
        tasks[:, DONE] = -1
        moved = tasks[:, TREE] >= 0
        own = trees[tasks[moved, TREE], PACKET_FLITS]
        tasks[moved, UNDELIVERED] = -(-tasks[moved, FLITS] // own)
        return tasks, after[np.argsort(before, kind="stable")]

    def _wires(self) -> tuple[Ints, Ints, Ints]:
        """Return trees, their steps, and the steps behind each step."""
        network, shapes = self.mesh.network, self._shapes
        forked = min(network.packet_flits, network.buffer_flits)
        children = [own for tree in shapes for own in _children(tree)]
        ends = np.cumsum([len(own) for own in children])
        steps = np.zeros((len(children), 4), np.int64)
        steps[:, LINK] = [link for tree in shapes for link in tree.links]
        steps[:, PARENT] = [place for tree in shapes for place in tree.parents]
        steps[:, CHILD_END] = ends
        steps[1:, CHILD] = ends[:-1]
        trees = np.zeros((len(shapes), 3), np.int64)
        trees[1:, FIRST] = np.cumsum([len(tree.links) for tree in shapes])[:-1]
        for row, tree in zip(trees, shapes, strict=True):
            row[REACHED] = sum(map(self.mesh.is_out, tree.links))
            forks = len(set(tree.parents)) < len(tree.parents)
            row[PACKET_FLITS] = forked if forks else network.packet_flits
        return trees, steps, np.array([child for own in children for child in own], np.int64)


def _children(tree: Tree) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in tree.links]
    for place, parent in enumerate(tree.parents):
        if parent >= 0:
            found[parent].append(place)
    return found
