"""Put other tensors in the place of results."""

from collections.abc import Callable
from dataclasses import replace

from ...ir.graph import Graph, Op, eliminate_dead
from ...ir.module import Module
from ...ir.resources import Constants


def substitute(graph: Graph, stand_in: Callable[[Op], str | None]) -> Graph:
    """Replace results by tensors that hold the same, and drop what is dead then.

    Outputs of the network keep their names, so an operator that makes one is kept, whatever
    ``stand_in`` says.

    Args:
        graph: The network; every operator has one result.
        stand_in: Gets each operator in order, its operands replaced already; returns the tensor
            to read instead of its result, or ``None``.

    Returns:
        The new graph, or this very object where nothing is replaced.
    """
    outputs = frozenset(graph.outputs)
    names: dict[str, str] = {}
    ops: list[Op] = []
    for op in graph.ops:
        new = _with_operands(op, tuple(names.get(name, name) for name in op.operands))
        other = stand_in(new)
        if other is None or op.name in outputs:
            ops.append(new)
        else:
            names[op.name] = other
    if not names:
        return graph
    return eliminate_dead(replace(graph, ops=tuple(ops)))


def as_constants(graph: Graph, names: frozenset[str]) -> Graph:
    """Return the graph with some results as constants, and without the operators that made them."""
    made = [op for op in graph.ops if op.name in names]
    return replace(
        graph,
        constants=(*graph.constants, *(op.result for op in made)),
        ops=tuple(op for op in graph.ops if op.name not in names),
    )


def rewritten(module: Module, graph: Graph, constants: Constants | None = None) -> Module:
    """Return a module with another graph, without what is dead in it and without data of that.

    Args:
        module: Before.
        graph: The rewritten graph.
        constants: Data of its constants; the module's own if not given.
    """
    alive = eliminate_dead(graph)
    data = module.constants if constants is None else constants
    return replace(module, graph=alive, constants=data.only(alive.constant_names))


def _with_operands(op: Op, operands: tuple[str, ...]) -> Op:
    return op if operands == op.operands else replace(op, operands=operands)
