"""Which operators can be members, and what groups are compared with: their members, one by one."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule, Group, Residence, Stream
from accnn.ir.groups import group_of
from accnn.passes.scheduling.cosma.refine import Measured
from accnn.passes.scheduling.cosma.traffic.delay import Delay
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic
from accnn.passes.scheduling.fusion import intervals as intervals_module
from accnn.passes.scheduling.fusion.expected import ExpectedCycles
from accnn.passes.scheduling.fusion.intervals import Intervals
from accnn.passes.scheduling.fusion.offers import Offers
from tests.networks import NetworkBuilder


class Asked:
    """A traffic model that tells what it was asked about groups: resident tensors, and space.

    Args:
        slow: What groups take where something is resident [cycle].
        each: Operations of the tiles of a group, which are scheduled for an answer.
        moved: What groups move [byte].
        alone: Operations of the tiles of each operator.
    """

    def __init__(self, *, slow: int = 1, each: int = 10, moved: int = 10, alone: int = 10) -> None:
        self.slow, self.each, self.moved, self.operations = slow, each, moved, 0
        self.alone = alone
        self.asked: list[tuple[frozenset[str], int]] = []
        self.groups: list[str] = []
        self.measured: list[tuple[Group, frozenset[str], int]] = []
        self.announced: list[tuple[Group, frozenset[str], int]] = []

    def __call__(self, op, resident, workspace) -> StreamedTraffic:
        return StreamedTraffic(activations=(), constants=10, workspace=workspace, cycles=1)

    def ahead(self, asked) -> None:
        self.announced += [(group_of(op), resident, given) for op, resident, given in asked]

    def measure(self, op, resident, planned, given) -> StreamedTraffic:
        moved = 10
        if (group := group_of(op)) is not None:
            self.measured.append((group, resident, given))
            self.groups.append(op.name)
            self.operations, moved = self.operations + self.each, self.moved
            if op.name == "c":
                self.asked.append((resident, given))
        return StreamedTraffic(
            activations=(),
            constants=moved,
            workspace=planned,
            cycles=self.slow if resident else 1,
            operations=self.alone,
        )


def chosen_beside(kept: str, traffic: Asked):
    """Return the groups of three convolutions, one of whose tensors is resident."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, 28, 28))
    for name in "abc":
        x = net.conv(x, name, 16, 3)
    graph, size = net.build(x), 16 * 28 * 28
    plan = GraphSchedule(
        budget=1 << 16,
        order=("a", "b", "c"),
        residences=(Residence(tensor=kept, first_step=1, last_step=2, address=0, bytes=size),),
        streams=tuple(Stream(tensor=name, step=at, bytes=10**6) for at, name in enumerate("xab")),
    )
    times = (5e5, 5e5, 5e5)
    base = Measured(plan=plan, cost=0, times=times, prospects=times)
    return _intervals(graph, base, traffic).groups()


@pytest.mark.parametrize(("slow", "is_tried"), [(1, False), (2000, False), (10**6, True)])
def test_a_group_has_the_space_that_its_resident_tensors_leave(
    slow: int, is_tried: bool, monkeypatch: pytest.MonkeyPatch
):
    """It is tried with all of the space only where cycles can pay for the bytes."""
    monkeypatch.setattr(ExpectedCycles, "of", lambda *_: 1000.0)
    monkeypatch.setattr(intervals_module, "_MOST_WITH_HEIGHTS", 0)

    (group,) = chosen_beside("c", traffic := Asked(slow=slow))

    assert group.members == ("a", "b", "c")
    beside, alone = (frozenset({"c"}), (1 << 16) - 16 * 28 * 28), (frozenset[str](), 1 << 16)
    at_last = [alone]  # whether it fits at all
    assert traffic.asked == [beside, *([alone] if is_tried else []), *at_last]
    announced = {(resident, space) for group, resident, space in traffic.announced}
    assert {beside, alone} == announced


def test_what_else_is_kept_on_chip_takes_space_as_well():
    chosen_beside("other", traffic := Asked())

    assert traffic.asked[0] == (frozenset(), (1 << 16) - 16 * 28 * 28)


@pytest.mark.parametrize(("each", "measured"), [(10, {"b", "c"}), (1_000_000, {"c"})])
def test_no_more_groups_are_measured_where_their_tiles_are_very_many(each: int, measured: set[str]):
    chosen = chosen_beside("other", traffic := Asked(each=each, moved=10**8))

    assert chosen == ()
    assert set(traffic.groups) == measured


@pytest.mark.parametrize("each", [10, 1_000_000])
def test_what_is_measured_is_announced_before(each: int):
    """So that other processes can find it; where no more is measured, nothing more is announced."""
    chosen_beside("other", traffic := Asked(each=each, moved=10**8))

    assert set(traffic.announced) == set(traffic.measured)


@pytest.mark.parametrize(("alone", "count"), [(9_000, 1), (11_000, 0)])
def test_operators_that_are_cut_into_very_many_tiles_are_no_group(alone: int, count: int):
    chosen = chosen_beside("other", traffic := Asked(alone=alone))

    assert len(chosen) == count
    assert bool(traffic.groups) == bool(count)


def chain_of(count: int, traffic) -> Intervals:
    """Return the intervals of filters one behind the other, whose tensors are all streamed."""
    net = NetworkBuilder()
    x, names = net.input("x", (1, 8, 16, 16)), [f"f{number}" for number in range(count)]
    for name in names:
        x = net.conv(x, name, 8, 3)
    streams = [
        Stream(tensor=name, step=at + step, bytes=10**6)
        for at, name in enumerate(["x", *names])
        for step in (-1, 0)
        if 0 <= at + step < count
    ]
    plan = GraphSchedule(budget=1 << 16, order=tuple(names), streams=tuple(streams))
    base = Measured(plan=plan, cost=0, times=(5e5,) * count, prospects=(5e5,) * count)
    return _intervals(net.build(x), base, traffic)


def _intervals(graph: Graph, base: Measured, traffic) -> Intervals:
    arch = load_architecture("simba")
    expects = ExpectedCycles(graph, arch, base.plan.budget)
    return Intervals(Offers(graph, arch, base, traffic, Delay(bandwidth=20.0)), expects)


@pytest.mark.parametrize(("cycles", "is_enough"), [(1_762_000, True), (1_900_000, False)])
def test_what_is_nearly_as_good_as_what_is_hoped_for_is_enough(
    cycles: int, is_enough: bool, monkeypatch: pytest.MonkeyPatch
):
    """A group of all filters is measured first, and others only if it takes longer than hoped."""

    class Timed(Asked):
        def measure(self, op, resident, planned, given) -> StreamedTraffic:
            return replace(super().measure(op, resident, planned, given), cycles=cycles)

    monkeypatch.setattr(ExpectedCycles, "of", lambda *_: 1.0)
    monkeypatch.setattr(intervals_module, "_MOST_WITH_HEIGHTS", 0)
    intervals = chain_of(4, Timed())

    (group,) = intervals.groups()

    assert len(group.members) == 4
    assert (len(intervals._known) == 1) is is_enough
    assert intervals._experience._ratios[0] == cycles
    assert len(intervals._experience._ratios) == len(intervals._known)


def foreseen(
    expected: dict[int, int], truth: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> tuple[Intervals, Asked]:
    """Return intervals of four filters whose groups take so many cycles, and whom they ask.

    Args:
        expected: What groups of all four are expected to take, by the height of their stripes.
        truth: What they take.
        monkeypatch: Replaces what estimates this.
    """

    class Timed(Asked):
        def measure(self, op, resident, planned, given) -> StreamedTraffic:
            found, group = super().measure(op, resident, planned, given), group_of(op)
            return found if group is None else replace(found, cycles=truth[group.rows])

    monkeypatch.setattr(
        ExpectedCycles, "of", lambda _, group: expected[group.rows] * len(group.members) / 4
    )
    monkeypatch.setattr(intervals_module, "_HARDLY", 0.0)
    intervals = chain_of(4, traffic := Timed())
    for number in range(10, 30):
        intervals._experience.note((number, number + 1), 100.0, 100.0)
    return intervals, traffic


EXPECTED = {0: 2_400_000, 8: 1_500_000, 4: 1_600_000, 2: 1_700_000}
"""Cycles that groups of four filters are expected to take, by the height of their stripes."""


@pytest.mark.parametrize(
    ("truth", "rows", "tried"),
    [
        ({8: 1_500_000, 4: 1_400_000, 2: 1_000_000}, 4, {8, 4}),
        ({8: 1_500_000, 4: 1_550_000, 2: 1_000_000}, 8, {8, 4}),
        ({8: 1_500_000, 4: 1_480_000, 2: 1_000_000}, 8, {8, 4}),
        ({8: 1_600_000, 4: 1_610_000, 2: 1_200_000}, 2, {8, 4, 2}),
    ],
)
def test_other_heights_of_what_is_chosen_are_taken_where_they_are_clearly_better(
    truth: dict[int, int], rows: int, tried: set[int], monkeypatch: pytest.MonkeyPatch
):
    """Expectations were right so far, so that other groups are measured only for that."""
    intervals, traffic = foreseen(EXPECTED, truth, monkeypatch)

    (group,) = intervals.groups()

    assert (len(group.members), group.rows) == (4, rows)
    assert {item.rows for item in intervals._known if len(item.members) == 4} == tried
    assert set(traffic.announced) == set(traffic.measured)
    assert intervals.groups() == (group,)


def test_what_makes_all_rows_at_once_is_not_tried_in_stripes(monkeypatch: pytest.MonkeyPatch):
    """Estimates promise as much there as for other heights of stripes; they never kept it."""
    expected = {0: 1_500_000, 8: 1_520_000, 4: 1_600_000, 2: 1_700_000}
    intervals, _ = foreseen(expected, {0: 1_500_000}, monkeypatch)

    (group,) = intervals.groups()

    assert (len(group.members), group.rows) == (4, 0)


def test_prices_that_are_kept_are_those_of_what_is_known_by_then(monkeypatch: pytest.MonkeyPatch):
    truth = {8: 1_600_000, 4: 1_610_000, 2: 1_200_000}
    intervals, _ = foreseen(EXPECTED, truth, monkeypatch)
    best, found = Intervals._best, list[tuple[float, object]]()

    def checked(self: Intervals, terms):
        found.append(best(self, terms))
        self._cheapest.clear()
        assert best(self, terms) == found[-1]
        return found[-1]

    monkeypatch.setattr(Intervals, "_best", checked)

    intervals.groups()

    assert len({price for price, _ in found}) > 2
