"""Divide a problem at break nodes, without loss, and join the plans of the pieces.

An operator is a *break node* when every other operator is its ancestor or its descendant, and
after it has run just one tensor is live: its own result, which is no output of the network.
Every order then passes through that very state. The tensor resides in it: its producer has just
run, and evicting it at once is never cheaper than evicting it when room is needed. So the pieces
on both sides share nothing else, and the sum of their optima is the optimum of the whole.

Deviation: the paper chooses break nodes by hand and accepts a loss. Here they are found, and
there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..problem import ALL_RESIDENT, Operation, PlanProblem, Tensor
from .bounds import closures
from .moves import bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a problem between two break nodes.

    Attributes:
        problem: The part as a problem of its own. Where it begins at a break node, its first
            operator stands for that node: it reads nothing and writes the live tensor.
        operations: Index in the whole of each of its operators, ``None`` for the stand-in.
        tensors: Index in the whole of each of its tensors.
    """

    problem: PlanProblem
    operations: tuple[int | None, ...]
    tensors: tuple[int, ...]


def divide(problem: PlanProblem) -> tuple[Piece, ...]:
    """Return the pieces of a problem, in order; one piece where it cannot be divided."""
    breaks = break_nodes(problem)
    if not breaks:
        everything = tuple(range(len(problem.operations)))
        tensors = tuple(range(len(problem.tensors)))
        return (Piece(problem=problem, operations=everything, tensors=tensors),)
    order = _rank(problem)
    pieces: list[Piece] = []
    start, carried = 0, None
    for node in (*breaks, None):
        end = len(order) if node is None else order.index(node) + 1
        pieces.append(_piece(problem, order[start:end], carried))
        start, carried = end, node
    return tuple(pieces)


def break_nodes(problem: PlanProblem) -> tuple[int, ...]:
    """Return the operators at which the problem divides without loss, in order.

    Problems with menus are not divided: a tensor that may be streamed out need not reside. Those
    with results in the place of operands have menus.
    """
    if any(op.menu != ALL_RESIDENT or op.replaces for op in problem.operations):
        return ()
    order = _rank(problem)
    ancestors, descendants = closures(_before(problem))
    everything = (1 << len(order)) - 1
    found: list[int] = []
    for op in order[:-1]:
        executed = ancestors[op] | 1 << op
        if executed | descendants[op] != everything:
            continue
        live = [
            tensor
            for tensor in range(len(problem.tensors))
            if not problem.is_private(tensor) and _crosses(problem, tensor, executed)
        ]
        alone = len(live) == 1 and live[0] in problem.operations[op].writes
        if alone and not problem.tensors[live[0]].is_output:
            found.append(op)
    return tuple(found)


def join(
    pieces: Sequence[Piece], steps: Sequence[Sequence[tuple[int, int, int]]]
) -> list[tuple[int, int, int]]:
    """Return the steps of the whole from those of its pieces.

    Args:
        pieces: The pieces, in order.
        steps: Per piece: (operator, option, evicted tensors as a mask) of each step.
    """
    joined: list[tuple[int, int, int]] = []
    for piece, own in zip(pieces, steps, strict=True):
        pending = 0
        for op, option, evicted in own:
            mask = pending | sum(1 << piece.tensors[tensor] for tensor in bits(evicted))
            whole = piece.operations[op]
            if whole is None:
                pending = mask
                continue
            joined.append((whole, option, mask))
            pending = 0
    return joined


def _crosses(problem: PlanProblem, tensor: int, executed: int) -> bool:
    """Whether a tensor has been made or loaded by some operators and is read by others."""
    users = problem.consumers[tensor]
    producer = problem.producer[tensor]
    inside = (
        any(executed >> op & 1 for op in users) if producer is None else executed >> producer & 1
    )
    return bool(inside) and any(not executed >> op & 1 for op in users)


def _rank(problem: PlanProblem) -> list[int]:
    """Return the operators by number of ancestors: break nodes stand where they must run."""
    ancestors, _ = closures(_before(problem))
    return sorted(range(len(ancestors)), key=lambda op: (ancestors[op].bit_count(), op))


def _before(problem: PlanProblem) -> list[int]:
    return [sum(1 << op for op in items) for items in problem.predecessors]


def _piece(problem: PlanProblem, members: Sequence[int], carried: int | None) -> Piece:
    chosen = set(members)
    operations: list[int | None] = list(members)
    tensors = sorted({tensor for op in members for tensor in problem.operations[op].touches})
    if carried is not None:
        operations.insert(0, None)
    number = {tensor: index for index, tensor in enumerate(tensors)}
    made = [
        _renumbered(problem.operations[op], number)
        if op is not None
        else _stand_in(problem, carried, number)
        for op in operations
    ]
    return Piece(
        problem=PlanProblem(
            name=problem.name,
            tensors=tuple(_local(problem, tensor, chosen) for tensor in tensors),
            operations=tuple(made),
            budget=problem.budget,
            is_ordered=problem.is_ordered,
        ),
        operations=tuple(operations),
        tensors=tuple(tensors),
    )


def _local(problem: PlanProblem, tensor: int, members: set[int]) -> Tensor:
    """Return a tensor as a piece sees it: its store belongs to the piece that makes it."""
    producer = problem.producer[tensor]
    if producer is None or producer in members:
        return problem.tensors[tensor]
    return replace(problem.tensors[tensor], is_output=False)


def _stand_in(problem: PlanProblem, carried: int | None, number: dict[int, int]) -> Operation:
    if carried is None:
        raise AssertionError("only a break node has a stand-in")
    operation = problem.operations[carried]
    writes = tuple(number[tensor] for tensor in operation.writes if tensor in number)
    return Operation(name=operation.name, reads=(), writes=writes)


def _renumbered(operation: Operation, number: dict[int, int]) -> Operation:
    return Operation(
        name=operation.name,
        reads=tuple(number[tensor] for tensor in operation.reads),
        writes=tuple(number[tensor] for tensor in operation.writes),
    )
