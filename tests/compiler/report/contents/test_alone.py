"""Operators by themselves, on their own part of a program."""

import pytest

from accnn.compiler.report.contents.alone import OperatorsAlone
from accnn.ir.tiles.events import TRANSFERS
from tests.flow import Compiled, compile_graph
from tests.networks import residual_network
from tests.passes.scheduling.across.joint import both, branches


def alone_of(compiled: Compiled) -> OperatorsAlone:
    schedule = compiled.module.tile_schedule
    assert schedule is not None
    return OperatorsAlone(compiled.program, schedule)


@pytest.fixture(scope="module", params=["edge-1m", "flexer-arch5", "simba"])
def compiled(request: pytest.FixtureRequest) -> Compiled:
    budget = 9000 if request.param == "edge-1m" else None
    return compile_graph(*residual_network(), request.param, budget=budget, all_off_chip=False)


def test_every_operator_takes_as_long_as_predicted(compiled: Compiled):
    """With several NPUs some take less: alone, those that write one resident tensor take turns."""
    alone = alone_of(compiled)
    predicted = [item.cycles for item in alone.schedule.alone]

    found = [
        max(issue.end for queue in alone.timing(step).queues for issue in queue)
        for step in range(len(predicted))
    ]

    assert all(one <= other for one, other in zip(found, predicted, strict=True))
    assert found == predicted or len(compiled.program.arch.npus) > 1


def test_an_operator_by_itself_runs_its_tiles_and_moves_no_whole_tensor(compiled: Compiled):
    alone = alone_of(compiled)
    tiles, events = alone.schedule.graph.tiles, alone.schedule.events
    whole = [
        event for event in events if event.kind in TRANSFERS and tiles[event.subject].is_resident
    ]
    steps = range(len(alone.schedule.alone))

    timed = sum(len(queue) for step in steps for queue in alone.timing(step).queues)

    assert whole
    assert timed == len(events) - len(whole)


def test_stalls_are_those_of_the_operators_own_tiles(compiled: Compiled):
    """Together they are no more than the run's, which neighbours lengthen."""
    alone = alone_of(compiled)
    total = {item.port: item.cycles for item in compiled.run().total.stalls}

    own = [alone.stalls(step) for step in range(len(alone.schedule.alone))]

    assert any(own)
    assert set().union(*own) <= set(total)


def test_tiles_that_cross_operators_run_alone_too():
    made = both(branches(), "flexer-arch5", all_off_chip=False)
    alone = alone_of(made.compiled)

    for step in range(len(alone.schedule.alone)):
        assert any(alone.timing(step).queues)
