"""The compiler's times of a schedule are the simulator's, event by event."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from accnn.ir.graph import Graph
from accnn.ir.isa import Unit
from accnn.ir.tile_events import EventKind
from accnn.passes.scheduling.timing.retime import retimed
from accnn.passes.scheduling.timing.work import Work, Works
from accnn.runtime_sim import timing
from accnn.runtime_sim.array.arrays import Arrays
from accnn.runtime_sim.demands import Demands
from accnn.runtime_sim.ports import ports_of
from tests.flow import Array, Compiled, compile_graph
from tests.networks import residual_network
from tests.passes.scheduling.across.joint import branches, chain
from tests.passes.scheduling.timing.floats import float_network
from tests.passes.scheduling.timing.operators import predicted, program_of, simulated

Network = Callable[[], tuple[Graph, Mapping[str, Array]]]

INTEGER = ("simba", "edge-1m", "flexer-arch5")
CASES = [
    *((arch, make, budget) for arch in INTEGER for make in (chain, branches) for budget in (None,)),
    *((arch, residual_network, budget) for arch in INTEGER for budget in (None, 9000)),
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

    for schedule in module.tile_schedules:
        schedule.verify()
        assert predicted(schedule) == simulated(program_of(module, schedule))
        assert schedule.cycles == max(event.end for event in schedule.events)


def test_retiming_twice_is_retiming_once():
    module = compiled("simba", chain, None).module
    assert module.arch is not None

    for schedule in module.tile_schedules:
        assert retimed(schedule, module.arch) == schedule


@pytest.fixture(scope="module")
def tight() -> Compiled:
    """A network whose tiles pass through a small scratchpad: ports are shared."""
    return compiled("edge-1m", residual_network, 9000)


def differing(compiled: Compiled) -> int:
    """Return how many operators model and simulator time differently."""
    module = compiled.module
    return sum(
        predicted(schedule) != simulated(program_of(module, schedule))
        for schedule in module.tile_schedules
    )


def test_tiles_of_a_tight_network_share_ports(tight: Compiled):
    module = tight.module

    programs = [program_of(module, schedule) for schedule in module.tile_schedules]
    stalls = [
        stall
        for program in programs
        for line in timing.time_of(program).queues
        for issue in line
        for stall in issue.stalls
    ]
    assert stalls


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

    wrong = tuple(retimed(item, module.arch) for item in module.tile_schedules)
    monkeypatch.undo()

    assert differing(replace(tight, module=replace(module, tile_schedules=wrong))) > 0


SIMULATED_FAULTS = {
    "a port dropped": lambda work: replace(work, demands=work.demands[1:]),
    "fill forgotten": lambda work: replace(work, fill=0),
    "start-up forgotten": lambda work: replace(work, lead=0),
}


@pytest.mark.parametrize("fault", SIMULATED_FAULTS)
def test_a_mistake_of_the_simulator_shows(tight: Compiled, fault: str):
    module, differing = tight.module, 0
    for schedule in module.tile_schedules:
        program = program_of(module, schedule)
        demands = Demands(program, ports_of(program.arch), Arrays(program))
        work = [
            [SIMULATED_FAULTS[fault](demands.work(number, item)) for item in queue.instructions]
            for number, queue in enumerate(program.queues)
        ]
        found = timing.time_of(program, work)
        differing += predicted(schedule) != simulated(program, found)

    assert differing > 0


def test_the_array_fills_while_it_computes_what_came_before():
    schedules = compiled("simba", residual_network, 9000).module.tile_schedules

    macs = [[event for event in item.events if event.unit is Unit.MX] for item in schedules]
    pairs = [pair for line in macs for pair in pairwise(line)]
    assert any(after.start < before.done for before, after in pairs)
    assert all(after.begin >= before.done for before, after in pairs)


def test_only_the_array_fills_and_drains():
    for item in compiled("simba", residual_network, None).module.tile_schedules:
        for event in item.events:
            if event.kind is not EventKind.COMPUTE or event.unit is not Unit.MX:
                assert (event.fill, event.drain) == (0, 0)
