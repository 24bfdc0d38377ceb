"""An order in which weights that are moved results stand where these results are made.

    v, q, k, scores, softmax, turned v, values   ->   v, turned v, q, k, scores, softmax, values

Groups are stretches of an order. Nothing then stands between operators that hand rows to each
other, of which weights come from outside.
"""

from collections.abc import Iterator, Sequence

from ....ir.graph import Graph, Op
from ....ir.ops import is_move, weights_of


def weights_first(graph: Graph, order: Sequence[str]) -> tuple[str, ...]:
    """Return an order of operators in which some come as soon as what they read is there.

    Args:
        graph: The network.
        order: All operators.
    """
    moved = _moved(graph)
    missing = {name: _computed(graph, graph.producer[name]) for name in moved}

    def with_moves(name: str) -> Iterator[str]:
        yield name
        for reader in graph.consumers[name]:
            if reader.name in moved:
                missing[reader.name] -= {name}
                if not missing[reader.name]:
                    yield from with_moves(reader.name)

    return tuple(name for first in order if first not in moved for name in with_moves(first))


def _moved(graph: Graph) -> frozenset[str]:
    """Return the results of moves that are weights, or that nothing is made of but weights."""
    found: set[str] = set()
    for op in reversed(graph.ops):
        readers = graph.consumers[op.name]
        becomes_weights = all(
            reader.name in found or op.name in weights_of(reader) for reader in readers
        )
        if (
            becomes_weights
            and is_move(op)
            and op.name not in graph.outputs
            and _computed(graph, op)
        ):
            found.add(op.name)
    return frozenset(found)


def _computed(graph: Graph, op: Op) -> frozenset[str]:
    return frozenset(name for name in op.inputs if name in graph.producer)
