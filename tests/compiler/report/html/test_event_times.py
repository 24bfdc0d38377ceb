"""Events of tile schedules get the times at which the simulator ran them."""

from dataclasses import replace

import pytest

from accnn.compiler.report.html.event_times import event_times
from accnn.ir.isa import Unit
from accnn.ir.tile_events import EventKind
from tests.compiler.report.html.conftest import Made, compiled


@pytest.fixture(params=["static", "flexer"])
def made(request: pytest.FixtureRequest) -> Made:
    return request.getfixturevalue(request.param)


def test_events_follow_each_other_and_lie_within_their_operator(made: Made):
    assert made.simulation is not None
    times = event_times(made.module, made.simulation)
    accounts = {item.name: item for item in made.simulation.operators}

    assert times.are_simulated
    for schedule, spans in zip(made.module.tile_schedules, times.spans, strict=True):
        account = accounts[schedule.graph.operators[0]]
        latest: dict[tuple[Unit, int], int] = {}
        for event, (first, end) in zip(schedule.events, spans, strict=True):
            queue = (event.unit, event.index)
            assert latest.get(queue, 0) <= first < end
            latest[queue] = end
        assert min(first for first, _ in spans) >= account.first_cycle
        assert max(end for _, end in spans) <= account.last_cycle


def test_a_schedule_of_all_operators_is_followed_through_all_its_events(across: Made):
    times = event_times(across.module, across.simulation)
    (schedule,) = across.module.tile_schedules

    assert times.are_simulated
    (spans,) = times.spans
    for event, (first, end) in zip(schedule.events, spans, strict=True):
        assert first == event.begin
        assert event.done <= end <= event.end


def test_an_operator_is_never_read_before_it_is_written(made: Made):
    times = event_times(made.module, made.simulation)

    for schedule, spans in zip(made.module.tile_schedules, times.spans, strict=True):
        for number, event in enumerate(schedule.events):
            if event.kind is not EventKind.FINISH:
                continue
            adds = [
                spans[other][1]
                for other, item in enumerate(schedule.events)
                if item.kind is EventKind.COMPUTE and item.subject == event.subject
            ]
            assert max(adds) <= spans[number][0]


def test_without_a_simulation_they_are_the_predicted_ones(static: Made):
    times = event_times(static.module, None)

    assert not times.are_simulated
    assert times.spans[0] == tuple(
        (event.begin, event.done) for event in static.module.tile_schedules[0].events
    )


def test_a_run_of_something_else_is_not_taken(static: Made):
    other = compiled("simba", scratchpad=9000)

    assert not event_times(static.module, other.simulation).are_simulated


def test_a_run_without_a_trace_has_no_times(static: Made):
    assert static.simulation is not None
    untraced = replace(static.simulation, timelines=None)

    assert not event_times(static.module, untraced).are_simulated
