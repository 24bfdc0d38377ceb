"""Choose fused groups by planning with them, and keep them where nothing becomes worse.

A plan without groups tells what its operators move. Groups are proposed where that is saved; the
plan with them is measured like any other, and taken only if it moves less and takes no longer. So
fusing never costs bytes or cycles.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.graph import Graph
from ....ir.graph_schedule import Group
from ....ir.groups import group_op
from ..cosma.refine import CorrectedTraffic, Measured
from . import Fuse
from .epilogues import epilogues
from .intervals import Intervals

_ROUNDS = 2
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
        if found is None:
            refused.update(_untiled(graph, proposed, best.plan.budget, traffic))
            continue
        slower = frozenset(_slower(best, found))
        refused |= slower
        if slower:
            found = _plan(planned, _without(found.plan.groups, slower, best.plan.groups))
        best = _better(best, found)
    return best


def _without(
    groups: Iterable[Group], slower: Collection[Group], before: Iterable[Group]
) -> Iterator[Group]:
    """Yield the groups that are not slower, and those before that have no member in these."""
    kept = [group for group in groups if group not in slower]
    taken = {name for group in kept for name in group.members}
    yield from kept
    yield from (group for group in before if not taken & set(group.members))


def _untiled(
    graph: Graph, groups: Iterable[Group], budget: int, traffic: CorrectedTraffic
) -> Iterator[Group]:
    """Yield the groups whose tiles do not even fit a scratchpad of their own."""
    for group in groups:
        if traffic.measure(group_op(graph, group), frozenset(), budget, budget) is None:
            yield group


def _slower(before: Measured, after: Measured) -> Iterator[Group]:
    """Yield the groups that take longer than what they replaced."""
    yield from (group for group, lost in _losses(before, after) if lost > 0)


def _losses(before: Measured, after: Measured) -> Iterator[tuple[Group, float]]:
    """Yield new groups with the cycles that they take longer than what they replaced.

    Stripes leave a mapper less to choose from than whole operators, so they are compared with the
    mean of what these take here and what good nests can make of them.
    """
    measured = dict(zip(before.plan.order, before.times, strict=True))
    prospects = dict(zip(before.plan.order, before.prospects, strict=True))
    for name, cycles in zip(after.plan.order, after.times, strict=True):
        group = after.plan.group(name)
        if group is not None and group not in before.plan.groups:
            replaced = sum(measured.get(member, 0.0) for member in group.members)
            if group.rows:
                replaced = (replaced + sum(prospects.get(name, 0.0) for name in group.members)) / 2
            yield group, cycles - replaced


def _plan(
    planned: Callable[[tuple[Group, ...]], Measured | None], groups: Iterable[Group]
) -> Measured | None:
    try:
        return planned(tuple(groups))
    except InfeasibleError:
        return None


def _better(best: Measured, other: Measured | None) -> Measured:
    """Return another plan if it costs less, and neither it nor all of its groups take longer."""
    if other is None or other.cost >= best.cost or other.cycles > best.cycles:
        return best
    return other if sum(lost for _, lost in _losses(best, other)) <= 0 else best
