"""Events of tile schedules get the times at which the simulator ran them."""

from dataclasses import replace

import pytest

from accnn.compiler.report.html.charts.event_times import event_times
from accnn.ir.isa.instructions import Unit
from tests.compiler.report.html.conftest import Made
from tests.tiles import tiles_of


@pytest.fixture(params=["static", "flexer"])
def made(request: pytest.FixtureRequest) -> Made:
    return request.getfixturevalue(request.param)


def test_events_follow_each_other_and_lie_within_their_operator(made: Made):
    assert made.simulation is not None
    schedule = tiles_of(made.module)
    times = event_times(schedule, made.simulation)
    accounts = {item.name: item for item in made.simulation.operators}

    assert times.are_simulated
    latest: dict[tuple[Unit, int], int] = {}
    for event, (first, end) in zip(schedule.events, times.spans, strict=True):
        queue = (event.unit, event.index)
        assert latest.get(queue, 0) <= first < end
        latest[queue] = end
        account = accounts[schedule.graph.operators[event.step]]
        assert account.first_cycle <= first < end <= account.last_cycle


@pytest.mark.parametrize("name", ["static", "across"])
def test_events_run_when_their_schedule_says(name: str, request: pytest.FixtureRequest):
    made: Made = request.getfixturevalue(name)
    schedule = tiles_of(made.module)

    times = event_times(schedule, made.simulation)

    assert times.are_simulated
    for event, (first, end) in zip(schedule.events, times.spans, strict=True):
        assert first == event.begin
        assert event.done <= end <= event.end


def test_sums_are_finished_after_all_were_added(made: Made):
    schedule = tiles_of(made.module)
    spans = event_times(schedule, made.simulation).spans
    graph = schedule.graph

    for number, event in enumerate(schedule.events):
        if event.unit is Unit.VX and graph.finishes(graph.ops[event.subject]):
            sums = graph.ops[event.subject].reads[0]
            adds = [
                spans[other][1]
                for other, item in enumerate(schedule.events)
                if item.unit is Unit.MX and graph.ops[item.subject].out == sums
            ]
            assert max(adds) <= spans[number][0]


def test_without_a_simulation_they_are_the_predicted_ones(static: Made):
    schedule = tiles_of(static.module)
    times = event_times(schedule, None)

    assert not times.are_simulated
    assert times.spans == tuple((event.begin, event.done) for event in schedule.events)


def test_a_run_without_a_trace_has_no_times(static: Made):
    assert static.simulation is not None
    untraced = replace(static.simulation, timelines=None)

    assert not event_times(tiles_of(static.module), untraced).are_simulated
