"""The bound of given events, attacked by schedules that may disregard every dependence."""

import random
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.isa import Unit
from accnn.ir.proof import Scope
from accnn.ir.touches import Accesses
from accnn.passes.scheduling.timing.clock import Clock, Share, Task
from accnn.passes.scheduling.timing.retime import memory_owner, timed
from accnn.passes.scheduling.timing.work import Works
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.tiles import by_themselves, tiles_of


@pytest.fixture(scope="module", params=["edge-1m", "flexer-arch5"])
def made(request):
    arch = request.param
    return compile_graph(*residual_network(), arch, budget=4096, all_off_chip=False).module


def relaxed_makespan(schedule, arch, rng):
    """How long events take on the engines of their kind, in any order, waiting for none."""
    works, accesses = Works(schedule.graph, arch), Accesses(schedule)
    bandwidths = works.ports.bandwidths
    numbers = {name: number for number, name in enumerate(bandwidths)}
    queues = {}
    for number in rng.sample(range(len(schedule.events)), len(schedule.events)):
        event = schedule.events[number]
        count = arch.dma.channels if event.unit is Unit.DMA else len(arch.npus)
        work = works.of(event, memory_owner(accesses, number))
        length = work.length(bandwidths)
        shares = tuple(
            Share(numbers[port], size / (bandwidths[port] * length)) for port, size in work.moved
        )
        task = Task(ahead=work.lead, length=length, after=0, shares=shares)
        options = [queues.setdefault((event.unit, index), []) for index in range(count)]
        shortest = min(options, key=lambda line: sum(item.ahead + item.length for item in line))
        shortest.append(task)
    spans = Clock(list(queues.values()), [False] * len(queues), len(numbers)).run()
    return max(span.end for line in spans for span in line)


def beaten(module, factor=1.0):
    """Whether some order of the events of a schedule is faster than a multiple of their bound."""
    rng = random.Random(0)
    return any(
        relaxed_makespan(schedule, module.arch, rng) < factor * schedule.cycles_lower_bound
        for schedule in (tiles_of(module), *by_themselves(module))
        for _ in range(20)
    )


def test_no_order_of_the_events_beats_their_bound(made):
    schedule = tiles_of(made)

    assert not beaten(made)
    assert schedule.scope is Scope.GIVEN_EVENTS
    assert 0 < schedule.cycles_lower_bound <= schedule.cycles


def test_the_attack_notices_two_per_cent_too_much(made):
    assert beaten(made, 1.02)


def test_of_npus_that_differ_only_transfers_count():
    module = compile_graph(*residual_network(), "flexer-arch5", all_off_chip=False).module
    first, *others = module.arch.npus
    fanout = module.arch.fanouts[-1]
    slower = replace(first, sizes=((fanout.name, fanout.size // 2),))
    uneven = replace(module.arch, npus=(slower, *others))
    by_compute = [
        item
        for item in by_themselves(module)
        if timed(item, uneven).cycles_lower_bound < item.cycles_lower_bound
    ]

    assert by_compute


def test_nothing_is_proven_of_no_events():
    arch = load_architecture("edge-1m")
    schedule = tiles_of(compile_graph(*residual_network(), "edge-1m").module)

    empty = timed(replace(schedule, events=()), arch)

    assert (empty.cycles_lower_bound, empty.scope) == (0, None)
