"""Make a plan packable by letting a tensor leave while nobody touches it.

Where stays take no more than the budget at any step and still find no addresses, one of them is
cut in two between two of its uses. That costs a spill (unless there is a host copy) and a
retrieve. The cheapest cuts are tried first, alone and then in pairs.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise

from ..engine.blocks import connected_groups
from .packing.search import pack
from .plan import Plan, replay
from .problem import PlanProblem

_SINGLES = 40
_PAIRED = 8
_ROUNDS = 8

_NODES, _TRIES = 5000, 800
"""Nodes of a search for addresses, and of one with cuts that are tried."""

Cut = tuple[int, int, int]
"""Cost [byte], tensor, and the step at whose start the tensor leaves."""


def repair(plan: Plan) -> tuple[Plan, tuple[int, ...]] | None:
    """Return a plan with addresses that costs little more, or ``None`` where no cut helps."""
    for _ in range(_ROUNDS):
        group = next(unpacked(plan), None)
        if group is None:
            addresses, _ = pack(plan.blocks, plan.problem.budget, nodes=_NODES)
            return None if addresses is None else (plan, addresses)
        better = _cut(plan, group)
        if better is None:
            return None
        plan = better
    return None


def unpacked(plan: Plan) -> Iterator[range]:
    """Yield the steps of each group of blocks that cannot be packed."""
    for group in connected_groups(plan.blocks):
        members = [plan.blocks[index] for index in group]
        if pack(members, plan.problem.budget, nodes=_NODES)[0] is None:
            yield range(
                min(block.first for block in members), max(block.last for block in members) + 1
            )


def _cut(plan: Plan, steps: range) -> Plan | None:
    """Return the plan with the cheapest cuts that make these steps packable."""
    cuts = sorted(_cuts(plan, steps))
    chosen = [(cut,) for cut in cuts[:_SINGLES]]
    pairs = combinations(cuts[:_PAIRED], 2)
    for some in (*chosen, *sorted(pairs, key=lambda pair: pair[0][0] + pair[1][0])):
        changed = _with(plan, some)
        blocks = [block for block in changed.blocks if block.first in steps and block.last in steps]
        if pack(blocks, plan.problem.budget, nodes=_TRIES)[0] is not None:
            return changed
    return None


def _cuts(plan: Plan, steps: range) -> Iterator[Cut]:
    """Yield where a stay may be cut: after a use that the next step does not follow up."""
    problem = plan.problem
    uses = _uses(problem, plan)
    copied_from = _copied_from(problem, plan)
    for stay in plan.stays:
        touched = [step for step in uses[stay.tensor] if stay.first <= step <= stay.last]
        for step, following in pairwise(touched):
            if following > step + 1 and step in steps:
                copied = copied_from.get(stay.tensor, following) <= step
                size = problem.tensors[stay.tensor].bytes
                yield (size if copied else 2 * size), stay.tensor, step + 1


def _with(plan: Plan, cuts: tuple[Cut, ...]) -> Plan:
    evicted = {step: 0 for _, _, step in cuts}
    for _, tensor, step in cuts:
        evicted[step] |= 1 << tensor
    steps = [
        (op, option, mask | evicted.get(step, 0))
        for step, (op, option, mask) in enumerate(plan.steps)
    ]
    return replay(plan.problem, steps)


def _uses(problem: PlanProblem, plan: Plan) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in problem.tensors]
    for step, (op, _, _) in enumerate(plan.steps):
        for tensor in dict.fromkeys(problem.operations[op].touches):
            found[tensor].append(step)
    return found


def _copied_from(problem: PlanProblem, plan: Plan) -> dict[int, int]:
    """Return the step from which on each tensor has a host copy."""
    found = {index: -1 for index, tensor in enumerate(problem.tensors) if tensor.on_host}
    for step, (op, _, _) in enumerate(plan.steps):
        for tensor in problem.operations[op].writes:
            if problem.tensors[tensor].is_output:
                found[tensor] = step
    found.update(plan.spills)
    return found
