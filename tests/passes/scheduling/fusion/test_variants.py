"""Groups of a plan get other stripes and orders where these cost less at their place."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from accnn.ir.graph import Graph, Op
from accnn.ir.graph_schedule import GraphSchedule, Group, Residence, Workspace
from accnn.passes.deadline import Deadline
from accnn.passes.scheduling.cosma.refine import CorrectedTraffic, Measured
from accnn.passes.scheduling.cosma.traffic.delay import Delay
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic
from accnn.passes.scheduling.fusion.intervals import Intervals
from accnn.passes.scheduling.fusion.variants import Variants, orders
from tests.inputs import Array
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.fused import dense_block, fire, inverted

from .planning import pass_plan

GRAPH, _ = inverted(28)
MEMBERS = tuple(op.name for op in GRAPH.ops)
OUT = GRAPH.types[MEMBERS[-1]].bytes
BUDGET = 200_000


class Told:
    """A traffic model that tells what it is given for each height of stripes.

    Args:
        again: What moves beside each tensor once [byte], and cycles, by rows; ``None`` for tiles
            that do not fit.
    """

    def __init__(self, again: dict[int, tuple[int, int] | None]) -> None:
        self.again = again
        self.asked: list[tuple[int, frozenset[str], int]] = []

    def __call__(self, op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        rows = op.attr("rows")
        assert isinstance(rows, int)
        self.asked.append((rows, resident, workspace))
        found = self.again[rows]
        if found is None:
            return None
        passing = {*op.inputs, op.name} - resident
        least = sum(GRAPH.types[name].bytes for name in passing)
        return StreamedTraffic(
            activations=(), constants=least + found[0], workspace=workspace, cycles=found[1]
        )


def base(rows: int, kept: tuple[str, ...] = ()) -> Measured:
    """A plan of the whole network as one group, beside what it keeps on chip."""
    group = Group(members=MEMBERS, rows=rows)
    residences = tuple(
        Residence(tensor=name, first_step=0, last_step=0, address=BUDGET - OUT, bytes=OUT)
        for name in kept
    )
    space = BUDGET - OUT * len(kept)
    found = GraphSchedule(
        budget=BUDGET,
        order=(group.name,),
        residences=residences,
        workspaces=(Workspace(step=0, address=0, bytes=space),),
        groups=(group,),
    )
    return Measured(plan=found, cost=100_000, times=(50_000.0,), prospects=(50_000.0,))


def better(exact: Told, plan: Measured) -> int:
    """Return the height that the group of a plan gets."""
    traffic = CorrectedTraffic(lambda *_: None, exact)
    (found,) = Variants(GRAPH, plan, traffic, Delay(bandwidth=10.0)).better()
    assert found.members == MEMBERS
    return found.rows


@pytest.mark.parametrize(
    ("again", "rows"),
    [
        ({7: (5_000, 1_000), 0: (0, 1_000), 14: (9_000, 1_000), 4: (6_000, 1_000)}, 0),
        ({7: (5_000, 1_000), 0: (5_000, 1_000), 14: (5_000, 1_000), 4: (5_000, 1_000)}, 7),
        ({7: (5_000, 1_000), 0: None, 14: (4_000, 1_000), 4: (3_000, 1_000)}, 4),
        ({7: (5_000, 1_000), 0: (0, 9_000), 14: (6_000, 1_000), 4: (6_000, 1_000)}, 7),
    ],
    ids=["fewer bytes", "equal", "one does not fit", "longer than it saves"],
)
def test_the_best_height_is_taken(again: dict[int, tuple[int, int] | None], rows: int):
    assert better(Told(again), base(7)) == rows


def test_what_hardly_moves_anything_in_vain_is_left():
    """Half of a per cent of the plan's bytes: only then others are asked for."""
    few, enough = Told({7: (499, 1)}), Told({7: (500, 1), 0: None, 14: None, 4: None})

    assert better(few, base(7)) == better(enough, base(7)) == 7

    assert [rows for rows, *_ in few.asked] == [7]
    assert {rows for rows, *_ in enough.asked} == {7, 0, 14, 4}


def test_nothing_is_measured_once_the_deadline_is_over():
    exact = Told({7: (5_000, 1_000)})
    traffic = CorrectedTraffic(lambda *_: None, exact)
    over = Deadline.after(0.0)

    found = Variants(GRAPH, base(7), traffic, Delay(bandwidth=10.0), over).better()

    assert found == base(7).plan.groups
    assert exact.asked == []


def test_others_are_asked_for_at_their_place():
    """Beside what the plan keeps on chip there, in the space that it leaves."""
    exact = Told({7: (5_000, 1_000), 0: (0, 1_000), 14: None, 4: None})

    assert better(exact, base(7, kept=(MEMBERS[-1],))) == 0

    assert {item[1:] for item in exact.asked} == {(frozenset({MEMBERS[-1]}), BUDGET - OUT)}


def products(size: int) -> tuple[Graph, Mapping[str, Array]]:
    """Twice as many channels and back; not all weights remain beside stripes."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 32, size, size)), "a", 64, 1)
    return net.build(net.conv(a, "b", 32, 1)), net.data


def test_a_plan_gets_better_heights(monkeypatch: pytest.MonkeyPatch):
    low = Group(members=("a", "b"), rows=1)
    monkeypatch.setattr(Intervals, "groups", lambda self, **_: (low,))
    found = pass_plan(products, "flexer-arch5", 10_000)
    monkeypatch.setattr(Variants, "better", lambda self: self.base.plan.groups)
    left = pass_plan(products, "flexer-arch5", 10_000)

    assert left.groups == (low,)
    assert [replace(group, rows=1) for group in found.groups] == [low]
    assert found.groups[0].rows > 1
    assert found.objective < left.objective


FIRE, _ = fire()
SMALL_FIRST = ("a", "narrow", "wide", "looked", "joined", "y")
LARGE_FIRST = ("a", "wide", "looked", "narrow", "joined", "y")


@pytest.mark.parametrize("members", [SMALL_FIRST, LARGE_FIRST])
def test_of_branches_the_one_of_most_work_comes_first_or_last(members: tuple[str, ...]):
    """What finishes tiles stays behind the one whose tiles they are."""
    assert orders(FIRE, members) == (LARGE_FIRST, SMALL_FIRST)


def test_a_chain_has_one_order():
    assert orders(GRAPH, MEMBERS) == (MEMBERS,)


def test_orders_have_what_members_read_before_them():
    graph, _ = dense_block()
    members = tuple(op.name for op in graph.ops)

    for order in orders(graph, members):
        assert sorted(order) == sorted(members)
        assert order[-1] == members[-1]
        for place, name in enumerate(order):
            made = {other for other in graph.producer[name].inputs if other in members}
            assert made <= set(order[:place])


@pytest.mark.parametrize(
    ("cycles", "is_better"), [(960, True), (980, False), (1000, False), (1100, False)]
)
def test_a_better_order_is_taken(cycles: int, is_better: bool):
    took = {LARGE_FIRST: cycles, SMALL_FIRST: 1000}

    def exact(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic:
        return StreamedTraffic(
            activations=(), constants=0, workspace=workspace, cycles=took[op.attr("members")]
        )

    group = Group(members=SMALL_FIRST, rows=3)
    found = replace(base(7), plan=replace(base(7).plan, order=(group.name,), groups=(group,)))
    traffic = CorrectedTraffic(lambda *_: None, exact)

    (better,) = Variants(FIRE, found, traffic, Delay(bandwidth=10.0)).better()

    assert better == (replace(group, members=LARGE_FIRST) if is_better else group)
