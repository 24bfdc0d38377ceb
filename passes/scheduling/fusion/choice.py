"""Choose fused groups by planning with them, and keep them where nothing becomes worse.

A plan without groups tells what its operators move. Groups are proposed where that is saved; the
plan with them is measured like any other, and taken only if it moves less and takes no longer. So
fusing never costs bytes or cycles.
"""

from collections.abc import Callable, Iterable, Iterator

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.graph import Graph
from ....ir.graph_schedule import Group
from ....ir.groups import group_op
from ..cosma.refine import CorrectedTraffic, Measured
from . import Fuse
from .epilogues import epilogues
from .intervals import Intervals

_ROUNDS = 8
"""How often groups are proposed anew, for what then still moves."""


def fused_plan(
    graph: Graph,
    arch: Architecture,
    plain: Measured,
    planned: Callable[[tuple[Group, ...]], Measured | None],
    traffic: CorrectedTraffic,
    fuse: Fuse,
) -> Measured:
    """Return the best plan, with groups or without.

    Args:
        graph: The network.
        arch: The machine.
        plain: The plan without groups.
        planned: Plans with groups; ``None`` where one of them cannot be tiled.
        traffic: Tells what operators and groups move.
        fuse: What may be fused.
    """
    best = _better(plain, _plan(planned, epilogues(graph, arch)))
    if fuse is Fuse.EPILOGUES:
        return best
    refused: set[Group] = set()
    for _ in range(_ROUNDS):
        proposed = Intervals(graph, arch, best.plan, traffic, frozenset(refused)).groups()
        if proposed == best.plan.groups:
            break
        found = _plan(planned, proposed)
        known = len(refused)
        if found is None:
            refused.update(_untiled(graph, proposed, best.plan.budget, traffic))
        else:
            refused.update(_slower(best, found))
        better = _better(best, found)
        if better is best and len(refused) == known:
            break
        best = better
    return best


def _untiled(
    graph: Graph, groups: Iterable[Group], budget: int, traffic: CorrectedTraffic
) -> Iterator[Group]:
    """Yield the groups whose tiles do not even fit a scratchpad of their own."""
    for group in groups:
        if traffic.measure(group_op(graph, group), frozenset(), budget, budget) is None:
            yield group


def _slower(before: Measured, after: Measured) -> Iterator[Group]:
    """Yield the groups that take longer than what they replaced."""
    taken = dict(zip(before.plan.order, before.times, strict=True))
    for name, cycles in zip(after.plan.order, after.times, strict=True):
        group = after.plan.group(name)
        if group is None or group in before.plan.groups:
            continue
        replaced = sum(taken.get(member, 0.0) for member in group.members)
        if cycles > replaced:
            yield group


def _plan(
    planned: Callable[[tuple[Group, ...]], Measured | None], groups: Iterable[Group]
) -> Measured | None:
    try:
        return planned(tuple(groups))
    except InfeasibleError:
        return None


def _better(best: Measured, other: Measured | None) -> Measured:
    """Return another plan if it costs less and takes no longer."""
    is_better = other is not None and other.cost < best.cost and other.cycles <= best.cycles
    return other if other is not None and is_better else best
