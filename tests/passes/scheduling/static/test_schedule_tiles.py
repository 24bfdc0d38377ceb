"""Which chains of a group lag is searched for once, and followed where that was kept."""

import pytest

from accnn.ir.graph_schedule import Group
from accnn.ir.module import Module
from accnn.passes.base import Choice, Context
from accnn.passes.scheduling.static.lags import LagSearch
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from tests.networks import residual_network
from tests.passes.tiling.fused import bottleneck, compile_fused, inverted
from tests.remembered import Remembered

NETWORKS = {"bottleneck": bottleneck, "inverted": inverted}


def fused(network: str, rows: int) -> Module:
    graph, data = NETWORKS[network]()
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    return compile_fused(graph, data, "simba", (group,)).module


def refuse(_: LagSearch, most: int) -> None:
    raise AssertionError(f"{most} lags are looked for")


@pytest.mark.parametrize("network", [*NETWORKS])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_choice_that_was_kept_is_followed_without_a_search(
    network: str, rows: int, monkeypatch: pytest.MonkeyPatch
):
    module, first = fused(network, rows), Remembered()
    ScheduleTiles().run(module, Context(choose=first))
    (choice,) = first.kept
    again = Remembered(choice)
    monkeypatch.setattr(LagSearch, "options", refuse)

    assert choice
    assert ScheduleTiles().run(module, Context(choose=again)) == module
    assert again.kept == []


def test_some_choice_has_a_chain_that_lags():
    kept: list[Choice] = []
    for network in NETWORKS:
        chooser = Remembered()
        ScheduleTiles().run(fused(network, 1), Context(choose=chooser))
        kept += chooser.kept

    assert any(lags for _, _, lags, *_ in kept)


@pytest.mark.parametrize("choice", [(), (0, 1), (0, 0, 9), (0, 0, -1), (0, 0, 1, 99), (7, 0, 0)])
def test_what_is_no_choice_for_a_group_is_searched_for(choice: Choice):
    module, first, chooser = fused("bottleneck", 1), Remembered(), Remembered(choice)
    ScheduleTiles().run(module, Context(choose=first))

    assert ScheduleTiles().run(module, Context(choose=chooser)) == module
    assert chooser.kept == first.kept


def test_choices_lead_to_their_own_schedules():
    module = fused("inverted", 1)
    found = {
        ScheduleTiles().run(module, Context(choose=Remembered(choice))).tile_schedule
        for choice in ((0, 0, 0), (0, 1, 0), (0, 0, 1, 1), (0, 0, 1, 2))
    }

    assert len(found) > 2


def test_without_groups_nothing_is_chosen():
    graph, data = residual_network()
    module, chooser = compile_fused(graph, data, "simba", ()).module, Remembered()

    assert ScheduleTiles().run(module, Context(choose=chooser)) == module
    assert chooser.kept == []
