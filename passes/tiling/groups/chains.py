"""The members of a group as chains: an operator, and those that finish its tiles."""

from collections.abc import Sequence

from ....ir.graph import Graph, Op
from ....ir.operators.families.elementwise import ONE_ELEMENT
from ....ir.operators.families.moves import joins_channels
from ....ir.operators.spec import Family
from ....ir.ops import spec_of
from .windows import windows_of

Chain = tuple[Op, ...]
"""An operator, and those that follow it: of one element, or pools whose windows do not overlap."""


def chains(graph: Graph, members: Sequence[str]) -> tuple[Chain, ...]:
    """Return the members of a group as chains.

    Args:
        graph: The network.
        members: Names of its operators, in execution order.
    """
    found: list[list[Op]] = []
    for op in map(graph.producer.__getitem__, members):
        if found and follows(graph, found[-1], op):
            found[-1].append(op)
        else:
            found.append([op])
    return tuple(map(tuple, found))


def follows(graph: Graph, chain: Sequence[Op], op: Op) -> bool:
    """Whether an operator can work on the tiles of those before it.

    Pools do on those of convolutions only, whose loops tell which parts are whole windows: columns
    of a matrix are channels there.

    Args:
        graph: The network.
        chain: Those before.
        op: The operator.
    """
    before = chain[-1]
    is_alike = (
        spec_of(op).family in ONE_ELEMENT and before.result.type.shape == op.result.type.shape
    )
    return (
        (is_alike or (chain[0].kind == "conv2d" and windows_of(graph, op) is not None))
        and not joins_channels(before)
        and [reader.name for reader in graph.consumers[before.name]] == [op.name]
        and before.name not in graph.outputs
        and before.name in tiled_operands(op)
    )


def passes_on(graph: Graph, chain: Chain) -> Op | None:
    """Return the second member of a chain if what the array makes goes on to it unwritten.

    One vector instruction finishes quantised sums and looks them up in a table, or adds or
    multiplies another tensor.

    Args:
        graph: The network.
        chain: The chain; its first member runs on the array.
    """
    head, *others = chain
    if not others or head.result.type.quant is None:
        return None
    family = spec_of(others[0]).family
    if family is Family.LOOKUP or (family is Family.PAIR and _is_paired(graph, head, others[0])):
        return others[0]
    return None


def _is_paired(graph: Graph, head: Op, pair: Op) -> bool:
    """Whether quantised sums can be one operand of an operator of two, tile by tile."""
    types = [graph.types[name] for name in (*pair.operands, pair.name)]
    is_aligned = head.kind != "dense" or len({type.shape for type in types}) == 1
    is_quantised = all(type.quant is not None for type in types)
    return is_quantised and is_aligned and pair.operands.count(head.name) == 1


def tiled_operands(op: Op) -> tuple[str, ...]:
    """Return the operands that an operator of the vector unit reads in tiles.

    Args:
        op: The operator.
    """
    return op.operands[: spec_of(op).parameters]


def passing_bits(chain: Chain, tensors: int) -> int:
    """Return what passes for each element that a chain's first member makes [bit].

    Args:
        chain: The chain.
        tensors: How many of its last result's size pass: that one, and what is fetched beside it.
    """
    first, last = chain[0].result.type, chain[-1].result.type
    return -(-8 * last.bytes * tensors // first.elements)


def inputs_of(chain: Chain) -> frozenset[str]:
    """Return all that the members of a chain read.

    Args:
        chain: The chain.
    """
    return frozenset(name for op in chain for name in op.inputs)


def working(parts: Sequence[Chain]) -> int:
    """Return how many chains compute: all but concatenations (of which a first one counts).

    Args:
        parts: The chains of a group.
    """
    return sum(not (number and joins_channels(chain[0])) for number, chain in enumerate(parts))
