"""The bound of given events, attacked by schedules that may disregard every dependence."""

import heapq
import random
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.isa import Unit
from accnn.ir.proof import Scope
from accnn.passes.scheduling.work_bound import with_work_bound, work_bound
from tests.flow import compile_graph
from tests.networks import residual_network


@pytest.fixture(scope="module", params=["edge-1m", "flexer-arch5"])
def made(request):
    arch = request.param
    return compile_graph(*residual_network(), arch, budget=4096, all_off_chip=False).module


def relaxed_makespan(events, arch, rng):
    """Return how long events take on the engines of their kind, in any order, waiting for none."""
    free = {}
    for event in rng.sample(list(events), len(events)):
        count = arch.dma.channels if event.unit is Unit.DMA else len(arch.npus)
        engines = free.setdefault(event.unit, [0] * count)
        heapq.heapreplace(engines, engines[0] + event.end - event.start)
    return max(max(engines) for engines in free.values())


def beaten(bound_of, module):
    """Whether some order of the events of a schedule is faster than their bound."""
    rng = random.Random(0)
    return any(
        relaxed_makespan(schedule.events, module.arch, rng) < bound_of(schedule.events, module.arch)
        for schedule in module.tile_schedules
        for _ in range(20)
    )


def test_no_order_of_the_events_beats_their_bound(made):
    assert not beaten(work_bound, made)
    assert all(item.scope is Scope.GIVEN_EVENTS for item in made.tile_schedules)
    assert all(0 < item.cycles_lower_bound <= item.cycles for item in made.tile_schedules)


def test_the_attack_notices_two_per_cent_too_much(made):
    assert beaten(lambda *given: 1.02 * work_bound(*given), made)


def test_of_npus_that_differ_only_transfers_count():
    module = compile_graph(*residual_network(), "flexer-arch5", all_off_chip=False).module
    first, *others = module.arch.npus
    fanout = module.arch.fanouts[-1]
    slower = replace(first, sizes=((fanout.name, fanout.size // 2),))
    uneven = replace(module.arch, npus=(slower, *others))

    for schedule in module.tile_schedules:
        transfers = [item for item in schedule.events if item.unit is Unit.DMA]
        assert work_bound(schedule.events, uneven) == work_bound(transfers, module.arch)


def test_nothing_is_proven_of_no_events():
    arch = load_architecture("edge-1m")
    schedule = compile_graph(*residual_network(), "edge-1m").module.tile_schedules[0]

    empty = with_work_bound(replace(schedule, events=()), arch)

    assert (empty.cycles_lower_bound, empty.scope) == (0, None)
