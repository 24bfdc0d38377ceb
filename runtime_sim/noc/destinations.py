"""Which children of the mesh get which part of an operand, and whose sums are added.

Where a spatial loop is not relevant to an operand, its children get the same tile: one packet goes
to all of them (multicast). Where it is, each gets its own (unicast). Sums of children along loops
that are not relevant to the outputs are added on their way back (reduction): within each row
towards the port's column, then along that column, each by the child that its neighbour's sums come
to, the nearest one sends them to the port.

References:
    CoSA, Fig. 5; Shao et al.: Simba. MICRO 2019: processing elements add what others send.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.mesh import Mesh
from ...ir.workload import RELEVANT, Operand
from ..array.nest import ArrayNest
from .kernel import Ints


@dataclass(frozen=True, slots=True)
class Groups:
    """Children with the same part of an operand.

    Attributes:
        of: Group of each child.
        members: Children of each group.
    """

    of: Ints
    members: tuple[tuple[int, ...], ...]


def groups_of(nest: ArrayNest, mesh: Mesh, operand: Operand) -> Groups:
    """Return the children that take part, in groups.

    Without multicast every child is a group of its own; sums are always added.

    Args:
        nest: The loops on the machine.
        mesh: Where the children are.
        operand: Whose parts.
    """
    loops = [loop for loop in nest.nest.spatial if loop.fanout == mesh.network.fanout]
    key = np.zeros(math.prod(loop.extent for loop in loops), np.int64)
    digits = np.indices([loop.extent for loop in loops]).reshape(len(loops), len(key))
    for loop, digit in zip(loops, digits, strict=True):
        if loop.dim in RELEVANT[operand]:
            key = key * loop.extent + digit
    fanout = nest.arch.fanout(mesh.network.fanout)
    if operand is not Operand.O and operand not in fanout.multicast:
        key = np.arange(len(key))
    members = tuple(
        tuple(int(child) for child in np.flatnonzero(key == group))
        for group in range(int(key.max()) + 1)
    )
    return Groups(key, members)


def next_hops(mesh: Mesh, members: tuple[int, ...], port: int) -> dict[int, int]:
    """Return to whom each member of a group sends its sums; the nearest one to the port.

    Args:
        mesh: Where they are.
        members: Children whose sums are added.
        port: Node that gets them.
    """
    column, row = mesh.positions[port]
    rows: dict[int, list[int]] = {}
    for child in members:
        rows.setdefault(mesh.positions[child][1], []).append(child)
    found: dict[int, int] = {}
    leaders: list[int] = []
    for own in rows.values():
        own.sort(key=lambda child: (-abs(mesh.positions[child][0] - column), child))
        found.update(itertools.pairwise(own))
        leaders.append(own[-1])
    leaders.sort(key=lambda child: (-abs(mesh.positions[child][1] - row), child))
    found.update(itertools.pairwise(leaders))
    found[leaders[-1]] = port
    return found


def port_for(mesh: Mesh, nodes: Sequence[int], members: Sequence[int], load: Sequence[int]) -> int:
    """Return the port of a group: the one with the least to carry, then the nearest.

    Args:
        mesh: Where they are.
        nodes: Ports to choose from.
        members: Children of the group.
        load: What each node carries already.
    """
    return min(
        nodes,
        key=lambda node: (load[node], sum(mesh.hops(node, child) for child in members), node),
    )
