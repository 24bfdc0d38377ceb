"""The compiler's times of a schedule are the simulator's, event by event."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from accnn.ir.graph import Graph
from accnn.ir.isa.instructions import Unit
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from accnn.ir.tiles.events import EventKind
from accnn.passes.scheduling.timing.retime import timed
from accnn.passes.scheduling.timing.work import Work, Works
from accnn.runtime_sim.array.arrays import Arrays
from accnn.runtime_sim.timing import events as timing
from accnn.runtime_sim.timing.demands import Demands
from accnn.runtime_sim.timing.ports import ports_of
from tests.flow import Array, Compiled, compile_graph
from tests.networks import residual_network
from tests.passes.scheduling.across.joint import branches, chain
from tests.passes.scheduling.timing.floats import float_network
from tests.passes.scheduling.timing.operators import predicted, program_of, simulated
from tests.thinned import thinned
from tests.tiles import by_themselves, tiles_of

Network = Callable[[], tuple[Graph, Mapping[str, Array]]]

INTEGER = ("simba", "edge-1m", "flexer-arch5")
CASES = [
    *thinned(INTEGER, (chain, branches), (None,)),
    *thinned(INTEGER, (residual_network,), (None, 9000)),
    ("edge-fp32", float_network, None),
    ("edge-fp32", float_network, 12_000),
]


def compiled(arch: str, make: Network, budget: int | None) -> Compiled:
    graph, data = make()
    return compile_graph(graph, data, arch, budget=budget, all_off_chip=False)


@pytest.mark.parametrize(("arch", "make", "budget"), CASES)
def test_every_schedule_of_one_operator_is_timed_as_the_simulator_does(
    arch: str, make: Network, budget: int | None
):
    module = compiled(arch, make, budget).module

    for schedule in by_themselves(module):
        schedule.verify()
        assert predicted(schedule) == simulated(program_of(module, schedule))
        assert schedule.cycles == max(event.end for event in schedule.events)


@pytest.mark.parametrize(("budget", "tiles"), [*thinned([None, 9000], ["static", "flexer"])])
def test_a_network_is_timed_as_the_simulator_does(budget: int | None, tiles: str):
    graph, data = chain()
    made = compile_graph(
        graph, data, "flexer-arch5", budget=budget, all_off_chip=False, tiles=tiles
    )

    assert predicted(tiles_of(made.module)) == simulated(made.program)


@pytest.mark.parametrize(("arch", "make", "budget"), CASES)
def test_events_wait_for_what_the_finished_schedule_says(
    arch: str, make: Network, budget: int | None
):
    """What each waits for is noted while they are issued, and worked out anew by ``timed``."""
    module = compiled(arch, make, budget).module
    assert module.arch is not None

    for schedule in by_themselves(module):
        assert timed(schedule, module.arch) == schedule


@pytest.fixture(scope="module")
def tight() -> Compiled:
    """A network whose tiles pass through a small scratchpad: ports are shared."""
    return compiled("edge-1m", residual_network, 9000)


def test_tiles_of_a_tight_network_share_ports(tight: Compiled):
    lines = timing.time_of(tight.program).queues

    assert any(issue.stalls for line in lines for issue in line)


Fault = Callable[[Work], Work]

FAULTS: Mapping[str, Fault] = {
    "a port dropped": lambda work: replace(work, moved=work.moved[1:]),
    "fill forgotten": lambda work: replace(work, fill=0),
    "start-up forgotten": lambda work: replace(work, lead=0),
    "the share of a channel": lambda work: replace(
        work, moved=tuple((port, 2 * size) for port, size in work.moved)
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_of_the_model_shows(tight: Compiled, fault: str, monkeypatch: pytest.MonkeyPatch):
    module, right = tight.module, Works.of
    assert module.arch is not None
    monkeypatch.setattr(
        Works, "of", lambda self, event, npu: FAULTS[fault](right(self, event, npu))
    )

    wrong = timed(tiles_of(module), module.arch)
    monkeypatch.undo()

    assert predicted(tiles_of(module)) == simulated(tight.program) != predicted(wrong)


SIMULATED_FAULTS = {
    "a port dropped": lambda work: replace(work, demands=work.demands[1:]),
    "fill forgotten": lambda work: replace(work, fill=0),
    "start-up forgotten": lambda work: replace(work, lead=0),
}


@pytest.mark.parametrize("fault", SIMULATED_FAULTS)
def test_a_mistake_of_the_simulator_shows(tight: Compiled, fault: str):
    program = tight.program
    demands = Demands(program, ports_of(program.arch), Arrays(program))
    work = [
        [SIMULATED_FAULTS[fault](demands.work(number, item)) for item in queue.instructions]
        for number, queue in enumerate(program.queues)
    ]

    found = simulated(program, timing.time_of(program, work))

    assert predicted(tiles_of(tight.module)) != found


def test_the_array_fills_while_it_computes_what_came_before():
    schedule = tiles_of(compiled("simba", residual_network, 9000).module)

    pairs = list(pairwise(event for event in schedule.events if event.unit is Unit.MX))
    assert any(after.start < before.done for before, after in pairs)
    assert all(after.begin >= before.done for before, after in pairs)


def test_times_survive_as_text(tight: Compiled):
    module = replace(tight.module, program=None)

    assert parse_module(print_module(module)).tile_schedule == module.tile_schedule


def test_only_the_array_fills_and_drains():
    for event in tiles_of(compiled("simba", residual_network, None).module).events:
        if event.kind is not EventKind.COMPUTE or event.unit is not Unit.MX:
            assert (event.fill, event.drain) == (0, 0)
