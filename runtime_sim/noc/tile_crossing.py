"""How a tile crosses the mesh that one copy moves, by itself.

A tile between the off-chip memory and the scratchpad is split evenly over the ports of the
scratchpad, as in :mod:`.nest_traffic`; so is what goes to the memory of parameters, which stands
beside the scratchpad with the vector units. A tile of weights goes to the children that its layout
names, those with equal parts together; sums are added on their way out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from ...ir.mesh import Mesh, mesh_of
from ...ir.workload import Operand
from ..array.nest import ArrayNest
from .destinations import groups_of, next_hops, port_for
from .kernel import NO_MEMORY
from .transfers import Transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What a tile takes of an empty mesh.

    Attributes:
        cycles: Until its last flit has arrived [cycle].
        latency: The same of one packet of it [cycle].
        carried: Flits over each link that carries some.
    """

    cycles: int
    latency: int
    carried: Mapping[int, int]


NOTHING = Crossing(cycles=0, latency=0, carried={})
"""Of what does not cross the mesh."""


class TileCrossings:
    """Crossings on one machine, each found once."""

    def __init__(self, arch: Architecture) -> None:
        """Take the machine of one NPU.

        Raises:
            ArchitectureError: It has no mesh, or one that is too small.
        """
        self.arch, self.mesh = arch, mesh_of(arch)
        self.between = lru_cache(maxsize=None)(self._between)
        self.of_layout = lru_cache(maxsize=None)(self._of_layout)

    def _between(self, size: int, *, inwards: bool) -> Crossing:
        """Return how bytes cross between the off-chip memory and the scratchpad.

        Args:
            size: How many there are [byte].
            inwards: Whether they go to the scratchpad.
        """
        mesh = self.mesh
        outer, flits = mesh.off_chip_nodes, self._flits(size)
        pads = mesh.scratchpad_nodes[: max(flits, 1)]
        pairs = [(outer[place % len(outer)], pad) for place, pad in enumerate(pads)]
        ways = [pair if inwards else pair[::-1] for pair in pairs]
        return self._crossing([(source, (to,)) for source, to in ways], -(-flits // len(pads)))

    def _of_layout(
        self, layout: LoopNest, size: int, *, is_off_chip: bool, inwards: bool
    ) -> Crossing:
        """Return how a tile crosses between a memory outside of the mesh and the children.

        Args:
            layout: How it lies in the array.
            size: What one child gets or sends [byte].
            is_off_chip: Whether the memory outside is the off-chip memory, else the scratchpad.
            inwards: Whether it goes to the children.
        """
        mesh, operand = self.mesh, layout.allocations[0].operand
        ports = mesh.off_chip_nodes if is_off_chip else mesh.scratchpad_nodes
        groups, load = groups_of(ArrayNest(layout, self.arch), mesh, operand), Counter[int]()
        moves: list[tuple[int, tuple[int, ...]]] = []
        for members in groups.members:
            port = port_for(mesh, ports, members, [load[node] for node in range(ports[-1] + 1)])
            load[port] += 1
            moves += _moves(mesh, operand, members, port, inwards=inwards)
        return self._crossing(moves, self._flits(size))

    def _flits(self, size: int) -> int:
        return -(-8 * size // self.mesh.network.flit_bits)

    def _crossing(self, moves: Sequence[tuple[int, tuple[int, ...]]], flits: int) -> Crossing:
        if not moves or not flits:
            return NOTHING
        packet = min(flits, self.mesh.network.packet_flits)
        cycles, carried = self._run(moves, flits)
        latency = cycles if packet == flits else self._run(moves[:1], packet)[0]
        return Crossing(cycles=cycles, latency=latency, carried=carried)

    def _run(
        self, moves: Sequence[tuple[int, tuple[int, ...]]], flits: int
    ) -> tuple[int, Mapping[int, int]]:
        transfers = Transfers(self.mesh)
        trees = [transfers.tree(source, to) for source, to in moves]
        tasks = transfers.add(np.array(trees), np.array(flits), NO_MEMORY)
        by_source = {source: task for (source, _), task in zip(moves, tasks, strict=True)}
        for (_, (first, *_)), task in zip(moves, tasks, strict=True):
            if first in by_source:  # who adds its own sums sends on when it has the others'
                transfers.order(task, by_source[first])
        arrivals = transfers.run(None)
        carried = {
            int(link): int(arrivals.crossed[link]) for link in np.flatnonzero(arrivals.crossed)
        }
        return int(arrivals.done.max()) + 1, carried


def _moves(
    mesh: Mesh, operand: Operand, members: tuple[int, ...], port: int, *, inwards: bool
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the transfers of one group: each one's source and destinations."""
    if operand is not Operand.O:
        return [(port, members)] if inwards else [(members[0], (port,))]
    hops = next_hops(mesh, members, port)
    nearest = next(child for child, receiver in hops.items() if receiver == port)
    if inwards:  # old sums go to one of those that add
        return [(port, (nearest,))]
    return [(child, (receiver,)) for child, receiver in hops.items()]
