"""What groups of many stripes move and take: told by the first ones, near what all of them do.

And what other processes find of it.
"""

import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph_schedule import GraphSchedule, Group, Workspace
from accnn.ir.groups import group_op
from accnn.ir.module import Module
from accnn.passes.base import Context
from accnn.passes.deadline import Deadline
from accnn.passes.helpers import Helped, HelperQuestion, nobody
from accnn.passes.mapping.jobs import KnownNests
from accnn.passes.mapping.problem import Objective
from accnn.passes.mapping.recipes.in_tiles import InTiles, in_tiles
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.scheduling.cosma.traffic import tiled
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic
from accnn.passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from accnn.passes.scheduling.map_groups import GroupMapping
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.static.schedule_tiles import schedule_operator
from tests.elsewhere import Elsewhere
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups import fused

SIMBA = load_architecture("simba")


def head():
    """A filter of many outputs and a pool, as networks begin: the vector unit has much to do."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 3, 96, 96)), "a", 64, 7, stride=2)
    return net.build(net.conv(a, "b", 32, 3)), ("a", "b")


def inverted():
    net = NetworkBuilder()
    b = net.conv(net.conv(net.input("x", (1, 16, 40, 40)), "a", 48, 1), "b", 48, 3, groups=48)
    return net.build(net.conv(b, "c", 16, 1)), ("a", "b", "c")


@pytest.mark.parametrize("network", [head, inverted])
def test_the_first_stripes_tell_of_all(network):
    graph, members = network()
    group = Group(members=members, rows=1)
    budget = SIMBA.scratchpad_level.capacity

    found = TiledTraffic(Terms(graph, SIMBA))(group_op(graph, group), frozenset(), budget)

    assert found is not None
    plan = GraphSchedule(
        budget=budget,
        order=(group.name,),
        workspaces=(Workspace(step=0, address=0, bytes=budget),),
        groups=(group,),
    )
    module = Module(graph=graph, arch=SIMBA, graph_schedule=plan)
    make = partial(schedule_operator, other_ways=False)  # plans are made so
    asked = GroupMapping(module, group, Objective.LATENCY, 0, make=make)
    finder, ctx = MapOperators(mapper="output-stationary"), Context()
    whole = [
        asked.best(partial(finder.solve, arch=SIMBA, ctx=ctx, mapper=mapper))[1]
        for mapper in (in_tiles(OutputStationary(), 1), InTiles(mapper=OutputStationary(), npus=1))
    ]
    best = min(whole, key=lambda item: item.cycles * item.transferred_bytes)
    assert found.cycles == pytest.approx(best.cycles, rel=0.05)
    assert found.total == pytest.approx(best.transferred_bytes, rel=0.1)


def test_more_stripes_never_move_less():
    """Weights come twice in five stripes, and once in ten."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 28, 28)), "a", 32, 1)
    graph = net.build(net.conv(a, "b", 8, 3))
    group = Group(members=("a", "b"), rows=1)
    traffic = TiledTraffic(Terms(graph, load_architecture("edge-1m")))

    found = traffic(group_op(graph, group), frozenset(), 10_000)

    assert found is not None
    assert found.constants >= sum(graph.types[name].bytes for name in graph.constant_names)


def test_what_comes_now_and_then_is_not_missed():
    """Of the shortcut several rows come at once, in stripes that are not looked at, too."""
    graph, _ = fused.inverted(28)
    group = Group(members=("a", "b", "c", "y"), rows=2)

    found = TiledTraffic(Terms(graph, SIMBA))(group_op(graph, group), frozenset(), 9000)

    assert found is not None
    moved = dict(found.activations)
    assert (moved["x"], moved["y"]) == (graph.types["x"].bytes, graph.types["y"].bytes)


def wide():
    """A filter whose weights come three times with the nest of the greedy mapper."""
    net = NetworkBuilder()
    graph = net.build(net.conv(net.input("x", (1, 128, 28, 28)), "a", 128, 3))
    return graph, graph.ops[0], frozenset({"x", "a"}), 61_440


def refused(asked):
    raise InfeasibleError("nothing fits")


def test_whole_operators_have_the_nests_that_are_better_scheduled():
    graph, *asked = wide()
    traffic = TiledTraffic(Terms(graph, load_architecture("flexer-arch5")))
    plain, improved = traffic._solvers
    found: list[StreamedTraffic] = []
    for solvers in (
        (plain,),
        (improved,),
        (plain, improved),
        (refused, plain),
        (improved, refused),
    ):
        traffic._solvers, traffic._known = solvers, {}
        measured = traffic(*asked)
        assert measured is not None
        found.append(measured)
    greedy, better, *both, first, second = found

    assert greedy.constants > 2 * better.constants
    assert better.cycles <= greedy.cycles
    assert both == [better]
    assert (first, second) == (greedy, better)


def test_what_no_nest_fits_has_no_traffic():
    graph, *asked = wide()
    traffic = TiledTraffic(Terms(graph, load_architecture("flexer-arch5")))
    traffic._solvers = (refused, refused)

    assert traffic(*asked) is None


def alike():
    """Two filters that are alike, another one, and what is asked of them."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 16, 12, 12)), "a", 16, 3)
    graph = net.build(net.conv(net.conv(a, "b", 16, 3), "c", 8, 3))
    group = group_op(graph, Group(members=("a", "b"), rows=4))
    a, b, c = graph.ops
    nothing = frozenset[str]()
    spaces = [(op, nothing, 30_000) for op in (a, b, c, group)]
    return graph, [*spaces, (a, frozenset({"x"}), 30_000), (a, nothing, 2)]


def counted(monkeypatch: pytest.MonkeyPatch, traffic: TiledTraffic) -> list[str]:
    """Return the operators that a model measures itself, as it goes."""
    found: list[str] = []
    measured = traffic._measured

    def noting(op, resident, workspace):
        found.append(op.name)
        return measured(op, resident, workspace)

    monkeypatch.setattr(traffic, "_measured", noting)
    return found


@pytest.mark.parametrize(("left", "own"), [((), []), ((0, 2), ["a", "b"]), ((4,), ["a"])])
def test_who_answers_changes_no_answer(
    left: tuple[int, ...], own: list[str], monkeypatch: pytest.MonkeyPatch
):
    """Filters that are alike are asked about once; what nobody answers is found here."""
    graph, asked = alike()
    alone = TiledTraffic(Terms(graph, SIMBA))
    helped = TiledTraffic(Terms(graph, SIMBA), helpers := Elsewhere(left))
    here = counted(monkeypatch, helped)

    helped.ahead(asked)

    assert helpers.asked == 5
    assert [helped(*item) for item in asked] == [alone(*item) for item in asked]
    assert here == own
    assert helped(*asked[-1]) is None
    helped.ahead(asked)
    assert helpers.asked == 5


def test_of_another_network_what_is_alike_is_known_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
):
    """A name that both networks have may be that of another operator."""
    graph, asked = alike()
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 16, 12, 12)), "a", 16, 3)
    other = net.build(net.conv(net.conv(a, "b", 16, 1), "c", 8, 3))
    traffic = TiledTraffic(Terms(graph, SIMBA))
    for item in asked:
        traffic(*item)

    elsewhere = traffic.of(other)

    here = counted(monkeypatch, elsewhere)
    fresh = TiledTraffic(Terms(other, SIMBA))
    for op in other.ops:
        assert elsewhere(op, frozenset(), 30_000) == fresh(op, frozenset(), 30_000)
    assert here == ["b"]


def test_helpers_hand_on_the_nests_that_they_find():
    graph, asked = alike()
    terms, own, theirs = Terms(graph, SIMBA), KnownNests(), KnownNests()
    alone = TiledTraffic(terms, nests=own)
    for item in asked:
        alone(*item)
    tiled._traffic_of.cache_clear()

    TiledTraffic(terms, Elsewhere(), nests=theirs).ahead(asked)

    nests = {job: found.nest for job, found in theirs.by_job.items()}
    assert nests == {job: found.nest for job, found in own.by_job.items()}
    assert len(nests) > 4


def test_a_helper_remembers_what_it_was_asked(monkeypatch: pytest.MonkeyPatch):
    graph, asked = alike()
    sent: list[HelperQuestion[Any]] = []

    def keeping(questions: Sequence[HelperQuestion[Any]]) -> tuple[Helped[Any] | None, ...]:
        sent.extend(questions)
        return nobody(questions)

    TiledTraffic(Terms(graph, SIMBA), keeping).ahead(asked[1:3])
    first = [item.answer() for item in sent]
    monkeypatch.setattr(TiledTraffic, "_measured", None)

    assert [item.answer() for item in pickle.loads(pickle.dumps(sent))] == first


def test_a_single_question_is_answered_here():
    graph, asked = alike()
    traffic = TiledTraffic(Terms(graph, SIMBA), helpers := Elsewhere())

    traffic.ahead(asked[:2])  # these are alike

    assert helpers.asked == 0


def test_helpers_begin_with_nothing_once_the_deadline_is_over(monkeypatch: pytest.MonkeyPatch):
    graph, asked = alike()
    over = Deadline.after(0.0)
    traffic = TiledTraffic(Terms(graph, SIMBA), helpers := Elsewhere(), over)
    here = counted(monkeypatch, traffic)

    traffic.ahead(asked)
    traffic(*asked[0])

    assert helpers.asked == 5
    assert here == ["a"]
