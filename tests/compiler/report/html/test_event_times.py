"""Events of tile schedules get the times at which the simulator ran them."""

from dataclasses import replace

import numpy as np
import pytest

from accnn.compiler.report.html.event_times import event_times
from accnn.ir.tile_events import EventKind
from accnn.runtime_sim.result import SimulationResult, Timeline
from tests.compiler.report.html.conftest import Made, compiled
from tests.predicted import predicted_times


@pytest.fixture(params=["static", "flexer"])
def made(request: pytest.FixtureRequest) -> Made:
    return request.getfixturevalue(request.param)


def without_contention(made: Made) -> SimulationResult:
    """Return the run with the times that its instructions have if they share no ports."""
    assert made.simulation is not None
    lines = tuple(
        Timeline(
            np.asarray([issue.start for issue in queue]), np.asarray([issue.end for issue in queue])
        )
        for queue in predicted_times(made.simulation.program).queues
    )
    return replace(made.simulation, timelines=lines)


def test_events_get_the_times_of_their_own_instructions(made: Made):
    """Without contention, these last as long as the events were predicted to."""
    times = event_times(made.module, without_contention(made))

    assert times.are_simulated
    for schedule, spans in zip(made.module.tile_schedules, times.spans, strict=True):
        assert [end - first for first, end in spans] == [
            event.end - event.start for event in schedule.events
        ]


def test_events_lie_within_their_operator(made: Made):
    assert made.simulation is not None
    times = event_times(made.module, made.simulation)
    accounts = {item.name: item for item in made.simulation.operators}

    assert times.are_simulated
    for schedule, spans in zip(made.module.tile_schedules, times.spans, strict=True):
        account = accounts[schedule.graph.operators[0]]
        assert min(first for first, _ in spans) >= account.first_cycle
        assert max(end for _, end in spans) <= account.last_cycle


def test_a_schedule_of_all_operators_is_followed_through_all_its_events(across: Made):
    times = event_times(across.module, without_contention(across))
    (schedule,) = across.module.tile_schedules

    assert times.are_simulated
    assert times.spans == (tuple((event.start, event.end) for event in schedule.events),)


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
        (event.start, event.end) for event in static.module.tile_schedules[0].events
    )


def test_a_run_of_something_else_is_not_taken(static: Made):
    other = compiled("simba", scratchpad=9000)

    assert not event_times(static.module, other.simulation).are_simulated


def test_a_run_without_a_trace_has_no_times(static: Made):
    assert static.simulation is not None
    untraced = replace(static.simulation, timelines=None)

    assert not event_times(static.module, untraced).are_simulated
