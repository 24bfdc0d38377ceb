"""Rounds that are worked out a stretch at a time, against all of them one by one."""

from collections.abc import Iterator
from functools import cache

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import Group
from accnn.passes.scheduling.fusion.epilogues import is_group
from accnn.passes.tiling.groups import stripes as stripes_module
from accnn.passes.tiling.groups.rows import SameGraph, rows_of
from accnn.passes.tiling.groups.stripes import Stripe, stretches, stripe_count, stripes, usual_rows
from tests.networks import NetworkBuilder
from tests.passes.tiling.groups.test_group import networks
from tests.thinned import examples


def one_by_one(graph: Graph, members: tuple[str, ...], height: int) -> Iterator[Stripe]:
    """Yield all rounds, each worked out from what was made before it."""
    run = stripes_module._rounds(SameGraph(graph), members)
    total = rows_of(graph.types[members[-1]])
    for last in range(height, total + height, height):
        yield run.next(min(last, total))


def check_rounds(graph: Graph, members: tuple[str, ...], height: int) -> None:
    found, right = stripes(graph, members, height), tuple(one_by_one(graph, members, height))

    assert found == right
    assert [list(item.lines) for item in found] == [list(item.lines) for item in right]
    assert stripe_count(graph, members, height) == len(right)


@settings(deadline=None, max_examples=examples(900))
@given(networks(12, 90), st.integers(1, 6), st.data())
def test_stretches_are_all_rounds_one_by_one(network, height: int, data: st.DataObject):
    graph, _ = network
    names = [op.name for op in graph.ops]
    start = data.draw(st.integers(0, len(names) - 1))
    stop = data.draw(st.integers(start + 1, len(names)))
    members = tuple(names[start:stop])
    if is_group(graph, Group(members=members)):
        check_rounds(graph, members, height)


def with_further_result(stride: int) -> Graph:
    """Return filters of which one has fewer rows than the last one, and is read by others."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, 60, 8)), "a", 4, 3)
    return net.build(net.conv(a, "b", 4, 1, stride=stride), net.conv(a, "y", 4, 3))


@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("height", [1, 2, 3, 5])
def test_rounds_are_all_there_where_some_members_pause(stride: int, height: int):
    check_rounds(with_further_result(stride), ("a", "b", "y"), height)


@cache
def tall() -> Graph:
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, 400, 8)), "a", 4, 3, stride=2)
    return net.build(net.conv(net.conv(a, "b", 4, 3), "y", 4, 3))


def test_few_of_many_rounds_are_worked_out(monkeypatch: pytest.MonkeyPatch):
    graph, usual, ends = tall(), stripes_module._Rounds.next, list[int]()

    def counted(run: object, last: int) -> Stripe:
        ends.append(last)
        return usual(run, last)

    monkeypatch.setattr(stripes_module._Rounds, "next", counted)
    found = tuple(stretches(graph, ("a", "b", "y"), 1))

    assert sum(item.count for item in found) == 200
    assert len(ends) == len(found) + 1 < 12
    assert max(item.count for item in found) > 180


def test_a_round_that_is_not_as_it_should_be_is_not_skipped(monkeypatch: pytest.MonkeyPatch):
    """Whoever reads unevenly is looked at round by round."""
    graph = tall()
    run = stripes_module._rounds(SameGraph(graph), ("a", "b", "y"))
    right, usual = tuple(run.stretches(1)), stripes_module._Rounds.next

    def uneven(run: object, last: int) -> Stripe:
        found = usual(run, last)
        wider = found.lines["y"]._replace(start=0)
        return found if last < 100 else Stripe(found.made, {**found.lines, "y": wider})

    monkeypatch.setattr(stripes_module._Rounds, "next", uneven)
    run = stripes_module._rounds(SameGraph(graph), ("a", "b", "y"))
    early = [stripe for item in run.stretches(1) for stripe in item.stripes][:99]

    assert early == [stripe for item in right for stripe in item.stripes][:99]


@pytest.mark.parametrize("height", [1, 2, 7])
def test_usual_rows_are_those_of_most_rounds(height: int):
    graph, members = tall(), ("a", "b", "y")
    made = [item.made.get("a") for item in one_by_one(graph, members, height)]
    heights = [rows.size for rows in made if rows is not None]

    assert usual_rows(graph, members, height)["a"] == max(set(heights), key=heights.count)
