"""Tile schedules of other mappers' nests against what no schedule of an operator is to beat."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import InfeasibleError
from accnn.ir.module import Mapping
from accnn.ir.proof import Scope
from accnn.passes.mapping.search.even.draws import draw_filling
from accnn.passes.mapping.search.even.space import even_space
from accnn.passes.scheduling.flexer import bounds
from accnn.passes.scheduling.flexer.bounds import site_bound
from accnn.passes.scheduling.flexer.candidate import schedule_of
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.options import FlexerOptions
from accnn.passes.scheduling.flexer.search.search import Search
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.static.schedule_tiles import schedule_operator
from tests.passes.scheduling.flexer.sites import alone, convolution, machine, site
from tests.thinned import examples


def drawn_schedules(net, arch, count=6):
    """Yield static tile schedules of random nests."""
    module = alone(net, arch)
    ((name, problem),) = MapOperators().problems(module.graph, module.graph_schedule, arch, 0)
    batch = draw_filling(even_space(problem), 200, np.random.default_rng(0))
    for row in np.flatnonzero(batch.cost().fits)[:count]:
        mapping = Mapping(
            operator=name, nest=batch.nest(int(row)), mapper="draw", status="heuristic", objective=1
        )
        try:
            yield schedule_operator(
                replace(module, mappings=(mapping,)), module.graph.producer[name]
            )
        except InfeasibleError:
            continue


def assert_no_schedule_beats_the_bound(net, arch):
    bound = bounds.site_bound(site(net, arch))
    for schedule in drawn_schedules(net, arch):
        assert schedule.cycles >= bound.cycles
        assert schedule.transferred_bytes >= bound.bytes


@settings(max_examples=examples(15), deadline=None, derandomize=True)
@given(
    capacity=st.sampled_from((8000, 30000, 120000)),
    size=st.integers(4, 10),
    channels=st.sampled_from([8, 32]),
    kernel=st.sampled_from([1, 3]),
    stride=st.integers(1, 3),
    npus=st.integers(1, 4),
)
def test_no_schedule_of_any_nest_beats_a_bound(capacity, size, channels, kernel, stride, npus):
    net = convolution(size, channels, 32, kernel, stride=stride)

    assert_no_schedule_beats_the_bound(net, machine(capacity, npus))


def test_schedules_out_of_order_tell_of_what_their_bound_is_one():
    where = site(convolution(6, 32, 32, 3), machine(30000, 2))
    found = Search(where, FlexerOptions(steps=500), TileTimer(where.arch)).run()

    schedule = schedule_of(found.best, found.bound)

    assert schedule.scope is Scope.ALL_SCHEDULES
    assert 0 < schedule.cycles_lower_bound == site_bound(where).cycles


def test_the_attack_notices_two_per_cent_too_many_bytes(monkeypatch):
    net, arch = convolution(4, 8, 32, 1), machine(120000, 1)
    assert_no_schedule_beats_the_bound(net, arch)
    honest = bounds.site_bound

    def lying(where):
        found = honest(where)
        return replace(found, bytes=round(1.02 * found.bytes))

    monkeypatch.setattr(bounds, "site_bound", lying)

    with pytest.raises(AssertionError):
        assert_no_schedule_beats_the_bound(net, arch)
