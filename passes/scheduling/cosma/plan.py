"""A residency plan: order, stays, transfers and options, still without addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..engine.blocks import Block
from .problem import Option, PlanProblem
from .search.moves import Move, bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A tensor that stays in the scratchpad over steps ``first`` to ``last``, both included."""

    tensor: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What happens when, for a problem.

    Attributes:
        problem: The problem.
        steps: (operator, option, tensors that leave before it as a mask) of each step.
        stays: Stays from the step of arrival to the last step that touches the tensor.
        fetches: (tensor, step) of whole tensors that come in.
        spills: (tensor, step) of tensors that leave without a host copy.
    """

    problem: PlanProblem
    steps: tuple[tuple[int, int, int], ...]
    stays: tuple[Stay, ...]
    fetches: tuple[tuple[int, int], ...]
    spills: tuple[tuple[int, int], ...]

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """What needs addresses: stays, then the workspace of each step that has one."""
        found: dict[int, Block] = {}
        for place, stay in zip(self.places, self.stays, strict=True):
            first = found[place].first if place in found else stay.first
            size = self.problem.tensors[stay.tensor].bytes
            found[place] = Block(first=first, last=stay.last, bytes=size)
        workspaces = (Block(first=t, last=t, bytes=size) for t, size in self.workspaces)
        return (*found.values(), *workspaces)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The block of each stay: its own, or that of the operand that a result replaces."""
        found: list[int] = []
        ending: dict[tuple[int | None, int], int] = {}
        for stay in self.stays:
            new = max(found, default=-1) + 1
            found.append(ending.get((self._replaced_by(stay), stay.first), new))
            ending[stay.tensor, stay.last] = found[-1]
        return tuple(found)

    def _replaced_by(self, stay: Stay) -> int | None:
        """Return the tensor in whose place a stay begins, if there is one."""
        number, option, _ = self.steps[stay.first]
        operation = self.problem.operations[number]
        is_made = stay.tensor in operation.writes
        return operation.replaced(operation.menu[option]) if is_made else None

    @cached_property
    def workspaces(self) -> tuple[tuple[int, int], ...]:
        """(step, bytes) of the steps that need a workspace."""
        return tuple(
            (step, option.workspace) for step, option in enumerate(self.chosen) if option.workspace
        )

    @cached_property
    def chosen(self) -> tuple[Option, ...]:
        """The option of each step."""
        operations = self.problem.operations
        return tuple(operations[op].menu[option] for op, option, _ in self.steps)

    @cached_property
    def cost(self) -> int:
        """Off-chip bytes, compulsory ones included [byte]."""
        tensors = self.problem.tensors
        moved = sum(tensors[tensor].bytes for tensor, _ in self.spills)
        for tensor, _ in self.fetches:
            moved += 0 if self.problem.is_private(tensor) else tensors[tensor].bytes
        steps = zip(self.order, self.chosen, strict=True)
        return moved + sum(self.problem.step_cost(op, option) for op, option in steps)

    @property
    def order(self) -> tuple[int, ...]:
        """Operators in execution order."""
        return tuple(op for op, _, _ in self.steps)


def plan_of(problem: PlanProblem, moves: Sequence[Move]) -> Plan:
    """Return the plan of a sequence of moves.

    Every stay is cut down to the steps from its arrival to its last use before the tensor
    leaves: what leaves, leaves as early as it can, which costs the same and packs better.
    """
    steps = [(move.operation, move.option, move.evicted) for move in moves]
    return replay(problem, steps)


def replay(problem: PlanProblem, steps: Sequence[tuple[int, int, int]]) -> Plan:
    """Return the plan of (operator, option, evicted tensors as a mask) per step."""
    open_stays: dict[int, tuple[int, int]] = {}
    on_host = {index for index, tensor in enumerate(problem.tensors) if tensor.on_host}
    stays: list[Stay] = []
    fetches: list[tuple[int, int]] = []
    spills: list[tuple[int, int]] = []
    left = [len(users) for users in problem.consumers]

    def close(tensor: int) -> None:
        first, last = open_stays.pop(tensor)
        stays.append(Stay(tensor=tensor, first=first, last=last))

    for step, (op, option, evicted) in enumerate(steps):
        operation = problem.operations[op]
        streamed = {tensor for tensor, _ in operation.menu[option].streamed}
        for tensor in bits(evicted):
            if tensor not in on_host:
                spills.append((tensor, open_stays[tensor][1] + 1))
                on_host.add(tensor)
            close(tensor)
        for tensor in dict.fromkeys(operation.touches):
            if tensor in streamed:
                continue
            if tensor in operation.reads and tensor not in open_stays:
                fetches.append((tensor, step))
            open_stays[tensor] = (open_stays.get(tensor, (step, step))[0], step)
        on_host |= {
            tensor
            for tensor in operation.writes
            if tensor in streamed or problem.tensors[tensor].is_output
        }
        for tensor in operation.reads:
            left[tensor] -= 1
        for tensor in dict.fromkeys(operation.touches):
            if left[tensor] == 0 and tensor in open_stays:
                close(tensor)
    return Plan(
        problem=problem,
        steps=tuple(steps),
        stays=tuple(sorted(stays, key=lambda stay: (stay.first, stay.tensor))),
        fetches=tuple(fetches),
        spills=tuple(spills),
    )
