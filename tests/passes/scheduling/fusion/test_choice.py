"""Plans with groups never move more; which operators follow which."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import GraphSchedule, Group, Residence
from accnn.passes.mapping.problem import Objective
from accnn.passes.scheduling.cosma.refine import CorrectedTraffic, Measured
from accnn.passes.scheduling.cosma.traffic.delay import Delay
from accnn.passes.scheduling.fusion import Fuse, choice
from accnn.passes.scheduling.fusion.choice import PlanComparison, fused_plan, that_can_be_planned
from accnn.passes.scheduling.fusion.epilogues import epilogues
from accnn.passes.scheduling.fusion.offers import Offers
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import bottleneck, fire, inverted
from tests.thinned import thinned

from .planning import pass_plan

plan_once = cache(pass_plan)


@pytest.mark.parametrize(
    ("make", "arch", "budget"),
    [*thinned([bottleneck, inverted], ["simba", "edge-1m"], [9000, 20_000], one_in=3)],
)
def test_fusing_never_moves_more(make, arch: str, budget: int):
    off, epilogue, groups = (plan_once(make, arch, budget, fuse) for fuse in Fuse)

    assert off.objective >= epilogue.objective >= groups.objective
    assert not off.groups
    assert all(group.rows == 0 for group in epilogue.groups)


def test_groups_are_chosen_where_tensors_do_not_fit():
    off, groups = (plan_once(inverted, "edge-1m", 20_000, fuse) for fuse in (Fuse.OFF, Fuse.GROUPS))

    assert groups.groups
    assert groups.objective <= off.objective


def test_concatenations_are_members_of_groups_that_are_chosen():
    off, groups = (
        pass_plan(fire, "simba", 20_000, fuse, size=20) for fuse in (Fuse.OFF, Fuse.GROUPS)
    )

    assert any("joined" in group.members for group in groups.groups)
    assert groups.objective <= off.objective


def test_an_addition_follows_one_of_the_convolutions_that_it_adds():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    a, b = net.conv(x, "a", 8, 3), net.conv(x, "b", 8, 1)
    graph = net.build(net.op("add", (a, b), "y", quant=per_tensor(0.1)))

    (group,) = epilogues(graph, load_architecture("simba"))

    assert group.members == ("a", "y")


@pytest.mark.parametrize(("kernel", "stride", "is_joined"), [(2, 2, True), (3, 1, False)])
def test_a_pool_whose_windows_do_not_overlap_is_an_epilogue(kernel, stride, is_joined):
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 6, 6)), "a", 8, 3)
    attrs = {"kernel": (kernel, kernel), "stride": (stride, stride)}
    graph = net.build(net.op("max_pool", (a,), "y", attrs))

    found = [group.members for group in epilogues(graph, load_architecture("simba"))]

    assert found == ([("a", "y")] if is_joined else [])


def test_what_is_read_twice_has_no_epilogue():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    a = net.conv(x, "a", 8, 3)
    b = net.conv(a, "b", 8, 1)
    graph = net.build(net.op("add", (a, b), "y", quant=per_tensor(0.1)))

    assert [group.members for group in epilogues(graph, load_architecture("simba"))] == [("b", "y")]


@pytest.mark.parametrize("most", [0, 1, 4, 5, 7, 8])
def test_where_all_groups_leave_no_plan_the_first_ones_do(most: int):
    """A planner that finds no plan for more than some groups, and says so in either way."""
    groups = tuple(Group(members=(f"a{number}", f"b{number}")) for number in range(8))
    asked: list[int] = []

    def planned(some: tuple[Group, ...]) -> Measured | None:
        asked.append(len(some))
        if len(some) > most:
            if len(some) % 2:
                return None
            raise InfeasibleError("no plan fits")
        return measured(some)

    found, kept = that_can_be_planned(planned, groups)

    assert kept == groups[:most]
    assert (found is None) == (most == 0)
    assert found is None or found.plan.groups == kept
    assert len(asked) <= 16


@pytest.mark.parametrize("refused", [{0}, {5}, {7}, {2, 6}, set(range(8))])
def test_groups_that_cannot_be_planned_are_left_out_and_no_others(refused: set[int]):
    groups = tuple(Group(members=(f"a{number}", f"b{number}")) for number in range(8))
    bad = {groups[number] for number in refused}

    found, kept = that_can_be_planned(
        lambda some: None if bad.intersection(some) else measured(some), groups
    )

    assert kept == tuple(group for group in groups if group not in bad)
    assert (found is None) == (not kept)


def test_no_groups_are_not_planned():
    def planned(_: tuple[Group, ...]) -> Measured | None:
        raise AssertionError("nothing to plan")

    assert that_can_be_planned(planned, ()) == (None, ())


def measured(groups: tuple[Group, ...], cost: int = 0, cycles: float = 0.0) -> Measured:
    order = tuple(group.name for group in groups) or ("a", "b")
    plan = GraphSchedule(budget=1, order=order, groups=groups)
    times = tuple(cycles / len(order) for _ in order)
    return Measured(plan=plan, cost=cost, times=times, prospects=times)


@pytest.mark.parametrize(
    ("cost", "cycles", "is_better"),
    [
        (700, 610, True),  # an eighth of the bytes for a sixtieth of the cycles
        (810, 500, True),
        (790, 610, False),
        (700, 690, False),
        (800, 600, False),
        (100, 1001, False),  # longer than without groups
        (1000, 100, False),  # no fewer bytes
    ],
)
def test_bytes_are_worth_cycles_as_parts_of_the_plan(cost: int, cycles: int, is_better: bool):
    both = (Group(members=("a", "b")),)
    plain, best = measured((), 1000, 1000), measured(both, 800, 600)

    other = measured(both, cost, cycles)

    assert (PlanComparison(plain).better_of(best, other) is other) == is_better
    assert PlanComparison(plain).better_of(best, None) is best


@pytest.mark.parametrize(
    ("cost", "cycles", "by_energy", "by_both"),
    [
        (100, 1001, True, False),
        (790, 700, True, False),
        (700, 640, True, True),
        (790, 5000, False, False),  # eight times the cycles
        (700, 5000, True, False),
        (800, 590, True, True),
        (810, 500, False, True),
        (1000, 100, False, False),
    ],
)
def test_groups_may_take_longer_where_energy_counts(
    cost: int, cycles: int, by_energy: bool, by_both: bool
):
    both = (Group(members=("a", "b")),)
    plain, best = measured((), 1000, 1000), measured(both, 800, 600)

    other = measured(both, cost, cycles)

    for objective, is_better in ((Objective.ENERGY, by_energy), (Objective.EDP, by_both)):
        compared = PlanComparison(plain, Delay(objective=objective))
        assert (compared.better_of(best, other) is other) == is_better


IN_PLACE = tuple(
    Residence(tensor=name, first_step=step, last_step=step, address=0, bytes=8)
    for name, step in (("x", 0), ("a", 0))
)


@pytest.mark.parametrize(
    ("residences", "cost", "asked", "beside"),
    [
        ((), 1005, [], 1),
        (IN_PLACE, 1002, [(None, False)], 1),  # nearly the same without results in place
        (IN_PLACE, 1005, [(None, False)], 2),
        (IN_PLACE, 1007, [(None, False)], 1),
        (IN_PLACE, None, [(None, False)], 1),
    ],
)
def test_groups_are_chosen_beside_plans_with_results_in_place_and_without(
    residences: tuple[Residence, ...],
    cost: int | None,
    asked: list[tuple[tuple[str, ...] | None, bool]],
    beside: int,
    monkeypatch: pytest.MonkeyPatch,
):
    graph, _ = bottleneck(28)
    order = tuple(op.name for op in graph.ops)
    plain = measured((), 1000, 1000)
    plain = replace(plain, plan=replace(plain.plan, order=order, residences=residences))
    apart = None if cost is None else replace(plain, cost=cost)
    questions: list[tuple[tuple[str, ...] | None, bool]] = []
    bases: list[Measured] = []

    def alone(order: tuple[str, ...] | None, in_place: bool) -> Measured | None:
        questions.append((order, in_place))
        if apart is None:
            raise InfeasibleError("nothing fits without results in place")
        return apart

    def intervals(offers: Offers, *_: object) -> object:
        bases.append(offers.base)
        return SimpleNamespace(groups=lambda *, may_take_longer: ())

    monkeypatch.setattr(choice, "Intervals", intervals)
    arch, traffic = load_architecture("simba"), CorrectedTraffic(unasked, unasked)

    fused_plan(
        graph, arch, plain, lambda _: None, alone, traffic, Delay(bandwidth=1.0), Fuse.GROUPS
    )

    assert questions == asked
    assert bases == [plain, apart][:beside]


def unasked(*_: object) -> None:
    raise AssertionError


@pytest.mark.parametrize(("slower", "kept"), [((), ("c", "f")), (("c",), ("f",)), (("c", "f"), ())])
def test_what_groups_leave_is_joined_where_it_is_not_slower(
    slower: tuple[str, ...], kept: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    """Groups are chosen for the first two operators; two more chains could be joined."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    shape = per_tensor(0.1)
    a = net.op("add", (net.conv(x, "a", 8, 3), x), "b", quant=shape)
    c = net.op("add", (net.conv(a, "c", 8, 3), x), "d", quant=shape)
    graph = net.build(net.op("add", (net.conv(c, "f", 8, 3), x), "g", quant=shape))
    order = tuple(op.name for op in graph.ops)
    chosen = Group(members=("a", "b"), rows=2)
    plain = measured((), 1000, 600)
    times = tuple(100.0 for _ in order)
    plain = replace(plain, plan=replace(plain.plan, order=order), times=times, prospects=times)

    def planned(groups: tuple[Group, ...]) -> Measured:
        took = [500.0 if group.members[0] in slower else 100.0 for group in groups]
        times = (*took, 100.0 * (len(order) - 2 * len(groups)))
        found = measured(groups, 1000 - 100 * len(groups))
        steps = (*found.plan.order, "others")
        return replace(found, plan=replace(found.plan, order=steps), times=times, prospects=times)

    monkeypatch.setattr(
        choice, "Intervals", lambda *_: SimpleNamespace(groups=lambda **_: (chosen,))
    )
    monkeypatch.setattr(
        choice, "Variants", lambda _, best, *__: SimpleNamespace(better=lambda: best.plan.groups)
    )
    arch, traffic = load_architecture("simba"), CorrectedTraffic(unasked, unasked)

    found = fused_plan(
        graph, arch, plain, planned, unasked, traffic, Delay(bandwidth=1.0), Fuse.GROUPS
    )

    assert tuple(group.members[0] for group in found.plan.groups) == ("a", *kept)
