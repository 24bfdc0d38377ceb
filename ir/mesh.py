"""The geometry of the mesh: who stands where, and which links a packet crosses.

*Nodes* are the children of the network's fan-out, row by row, then the ports of the scratchpad,
then those of the off-chip memory. Every node has a link into its router and one out of it; routers
that are neighbours have a link in each direction. A packet goes along its row first, then along
the column (X-Y routing). One to several nodes goes along the union of these ways, which is a tree,
and is copied where the tree forks.

References:
    Huang et al.: CoSA. ISCA 2021, Table V: X-Y routing, multicast.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .arch import Architecture, MeshNetwork
from .errors import ArchitectureError

_EAST, _WEST, _SOUTH, _NORTH = range(4)
_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass(frozen=True, slots=True)
class Tree:
    """The links that a packet crosses.

    Attributes:
        links: Numbers of the links, the one out of the source first, every link behind its parent.
        parents: Position of the link before each; -1 for the first.
    """

    links: tuple[int, ...]
    parents: tuple[int, ...]


def mesh_of(arch: Architecture) -> "Mesh":
    """Return the mesh of a machine.

    That there is a router for each child is asked only here, so that a file whose array is made
    larger (by a study, say) still describes a machine, which can be used without its network.

    Args:
        arch: The machine.

    Raises:
        ArchitectureError: It has no mesh, or fewer routers than the mesh connects children.
    """
    network = arch.network
    if network is None:
        hint = "describe one in a table [network] of its file"
        raise ArchitectureError(f"{arch.name} has no network", hint=hint)
    fanout, routers = arch.fanout(network.fanout), f"{network.columns} x {network.rows} routers"
    if fanout.size > network.columns * network.rows:
        raise ArchitectureError(
            f"{arch.name}: network has {routers} for {fanout.size} {fanout.name}",
            hint="give it more columns or rows",
        )
    return Mesh(network)


@dataclass(frozen=True)
class Mesh:
    """Nodes and links of a network.

    Attributes:
        network: Its sizes.
    """

    network: MeshNetwork

    @cached_property
    def positions(self) -> tuple[tuple[int, int], ...]:
        """Column and row of the router of every node."""
        rows, columns = range(self.network.rows), range(self.network.columns)
        children = [(column, row) for row, column in itertools.product(rows, columns)]
        return (*children, *self.network.scratchpad_ports, *self.network.off_chip_ports)

    @cached_property
    def scratchpad_nodes(self) -> tuple[int, ...]:
        """Nodes that are ports of the scratchpad."""
        first = self.network.columns * self.network.rows
        return tuple(range(first, first + len(self.network.scratchpad_ports)))

    @cached_property
    def off_chip_nodes(self) -> tuple[int, ...]:
        """Nodes that are ports of the off-chip memory."""
        first = self.scratchpad_nodes[-1] + 1
        return tuple(range(first, first + len(self.network.off_chip_ports)))

    @property
    def links(self) -> int:
        """Numbers of links in use, with those over the edge, which nothing crosses."""
        return 2 * len(self.positions) + 4 * self.network.columns * self.network.rows

    def link_in(self, node: int) -> int:
        """Return the link from a node into its router."""
        return node

    def link_out(self, node: int) -> int:
        """Return the link from its router to a node."""
        return len(self.positions) + node

    def is_out(self, link: int) -> bool:
        """Whether a link leads from a router to a node."""
        return len(self.positions) <= link < 2 * len(self.positions)

    def link_name(self, link: int) -> str:
        """Return a link as reports name it: ``from 1,0 to 2,0``, columns first."""
        nodes = len(self.positions)
        if link < 2 * nodes:
            way = "to" if self.is_out(link) else "from"
            return f"{way} {self._node_name(link % nodes)}"
        (column, row), (to, below) = self.ends(link)
        return f"from {column},{row} to {to},{below}"

    def is_between(self, link: int) -> bool:
        """Whether a link leads from one router to another."""
        return link >= 2 * len(self.positions)

    def ends(self, link: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return column and row of the routers at both ends of a link between routers."""
        router, direction = divmod(link - 2 * len(self.positions), 4)
        row, column = divmod(router, self.network.columns)
        x, y = _STEPS[direction]
        return (column, row), (column + x, row + y)

    def _node_name(self, node: int) -> str:
        kinds = (("scratchpad", self.scratchpad_nodes), ("off-chip", self.off_chip_nodes))
        for kind, nodes in kinds:
            if node in nodes:
                return f"{kind} port {nodes.index(node)}"
        return f"{self.network.fanout} {node}"

    def hops(self, source: int, destination: int) -> int:
        """Return how many links between routers lie between two nodes."""
        (x, y), (column, row) = self.positions[source], self.positions[destination]
        return abs(x - column) + abs(y - row)

    def tree(self, source: int, destinations: Sequence[int]) -> Tree:
        """Return the links from a node to others."""
        places = {self.link_in(source): 0}
        parents = [-1]
        for destination in destinations:
            before = self.link_in(source)
            for link in self._way(source, destination):
                if link not in places:
                    places[link] = len(parents)
                    parents.append(places[before])
                before = link
        return Tree(tuple(places), tuple(parents))

    def _way(self, source: int, destination: int) -> Iterator[int]:
        """Yield the links behind the source's own, along the row, then along the column."""
        (x, y), (column, row) = self.positions[source], self.positions[destination]
        while x != column:
            yield self._between(x, y, _EAST if column > x else _WEST)
            x += 1 if column > x else -1
        while y != row:
            yield self._between(x, y, _SOUTH if row > y else _NORTH)
            y += 1 if row > y else -1
        yield self.link_out(destination)

    def _between(self, column: int, row: int, direction: int) -> int:
        router = row * self.network.columns + column
        return 2 * len(self.positions) + 4 * router + direction
