"""What the compiler predicts of descriptors, tiles and operators is what the simulator counts.

Times of events stand in ``tests/passes/scheduling/timing/test_retime.py``; here stand bytes and
energy, level by level, and what the times are made of.
"""

import dataclasses

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from accnn.backend.lowering.lower import lower
from accnn.passes.analysis.tile_cost import tile_cost
from accnn.runtime_sim.array.run import run_on
from tests.end_to_end.faults.networks import CASES, Case, scheduled
from tests.end_to_end.predicted import Account, counted, descriptor_difference, difference
from tests.nest_strategies import architectures, inner_nests
from tests.passes.scheduling.timing.operators import alone
from tests.thinned import examples
from tests.tiles import by_themselves


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_descriptor_costs_what_the_simulator_derives(data: st.DataObject):
    """Steps, fill, drain, what the slowest port takes, accesses of every memory, energy."""
    arch = data.draw(architectures())
    nest = data.draw(inner_nests(arch, limit=1000))
    accumulate = data.draw(st.booleans())

    cost = tile_cost(nest, arch, accumulate=accumulate)

    event("adds to sums" if accumulate else "starts sums")
    assert descriptor_difference(cost, run_on(nest, arch, accumulate=accumulate), arch) == ""


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(st.data())
def test_many_descriptors_cost_what_the_simulator_derives(data: st.DataObject):
    arch = data.draw(architectures())
    nest = data.draw(inner_nests(arch, limit=5000))
    accumulate = data.draw(st.booleans())

    cost = tile_cost(nest, arch, accumulate=accumulate)

    assert descriptor_difference(cost, run_on(nest, arch, accumulate=accumulate), arch) == ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.arch}-{case.budget}")
def test_traffic_and_energy_of_an_operator_are_those_of_its_program(case: Case):
    """Copies, MAC and vector instructions together, event by event on the compiler's side."""
    module = scheduled(case)
    assert module.arch is not None

    for schedule in by_themselves(module):
        program = lower(alone(module, schedule)).program
        assert difference(Account(schedule, module.arch), counted(program)) == ""


def test_a_difference_is_told():
    case = CASES[0]
    module = scheduled(case)
    schedule = by_themselves(module)[0]
    program = lower(alone(module, schedule)).program
    dear = dataclasses.replace(case.machine, mac_energy=2 * case.machine.mac_energy)
    fewer = dataclasses.replace(schedule, events=schedule.events[:-1])

    assert "pJ, counted" in difference(Account(schedule, dear), counted(program))
    told = difference(Account(fewer, case.machine), counted(program))
    assert told.startswith(("('dram', 'write')", "('gb', 'read')")), "a store reads and writes"


def test_a_difference_of_a_descriptor_is_told():
    module = scheduled(CASES[0])
    graph = by_themselves(module)[0].graph
    nest = graph.nests[next(op.nests[0] for op in graph.ops if op.nests)]
    arch = CASES[0].machine
    cost = tile_cost(nest, arch)

    added = descriptor_difference(cost, run_on(nest, arch, accumulate=True), arch)
    slow = descriptor_difference(
        dataclasses.replace(cost, fill_cycles=cost.fill_cycles + 1),
        run_on(nest, arch, accumulate=False),
        arch,
    )

    assert "predicted" in added
    assert slow.startswith("fill: predicted")
