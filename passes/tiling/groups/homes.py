"""Where the results of a group's members lie: in lines of their own, or in place in others'.

    a -> \
    b ->  concat y (channels of a, then of b)   ->   a: y from channel 0
    x ->                                             b: y from channel 64; x is copied

What is made for a concatenation is written where its result lies, and the concatenation itself has
nothing left to do for it. That takes rows that are made just when those of the result are: whoever
else reads the operand must come after the concatenation, and then reads its part of the result.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ....ir.graph import Graph, Op
from ....ir.operators.families.moves import concat_starts, joins_channels
from ....ir.ops import operand_types


class Home(NamedTuple):
    """Where a tensor lies.

    Attributes:
        tensor: Itself, or the concatenation that it is part of.
        channel: Which channel of that its first one is.
    """

    tensor: str
    channel: int = 0


Homes = Mapping[str, Home]
"""By tensor; those that are not named lie in lines of their own."""


def home_of(homes: Homes, name: str) -> Home:
    """Return where a tensor lies.

    Args:
        homes: Of those in place.
        name: Of the tensor.
    """
    return homes.get(name) or Home(name)


def homes_of(graph: Graph, members: Sequence[str]) -> Homes:
    """Return where the results lie that are made in place.

    Args:
        graph: The network.
        members: Names of a group's operators, in execution order.
    """
    place = {name: number for number, name in enumerate(members)}
    homes: dict[str, Home] = {}
    for op in map(graph.producer.__getitem__, members):
        if not joins_channels(op):
            continue
        starts = concat_starts(op, operand_types(op, graph.types))
        for operand, start in zip(op.operands, starts, strict=True):
            inside = {name: home.channel for name, home in homes.items() if home.tensor == operand}
            inside[operand] = 0
            if operand in place and operand not in homes and _is_free(graph, op, inside, place):
                homes.update((name, Home(op.name, start + at)) for name, at in inside.items())
    return homes


def _is_free(graph: Graph, op: Op, inside: Collection[str], place: Mapping[str, int]) -> bool:
    """Whether an operand can lie in a concatenation: nobody else needs its rows before, or later.

    Args:
        graph: The network.
        op: The concatenation.
        inside: The operand, and what lies in place in that.
        place: Position of each member.
    """
    if sum(name in inside for name in op.operands) > 1:
        return False
    if any(name in graph.outputs for name in inside):
        return False
    readers = {reader.name for name in inside for reader in graph.consumers[name]}
    others = readers - {op.name, *inside}
    return all(place.get(name, -1) > place[op.name] for name in others)
