"""The bound of given events, attacked by schedules that may disregard every dependence."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Unit
from accnn.ir.proof import Scope
from accnn.passes.scheduling.timing.retime import lone_works, timed
from accnn.passes.scheduling.timing.work import Works
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.passes.scheduling.timing.queues import Share, Task, run_queues
from tests.thinned import examples
from tests.tiles import by_themselves, tiles_of

ATTACKS = examples(8)
"""Orders that are tried of each schedule."""


@pytest.fixture(scope="module", params=["edge-1m", "flexer-arch5"])
def made(request):
    arch = request.param
    return compile_graph(*residual_network(10), arch, budget=4096, all_off_chip=False).module


def tasks_of(schedule, arch):
    """Return the kind of engine of each event, and what it asks of it."""
    bandwidths = Works(schedule.graph, arch).ports.bandwidths
    numbers = {name: number for number, name in enumerate(bandwidths)}
    found = []
    for event, work in zip(schedule.events, lone_works(schedule, arch), strict=True):
        length = work.length(bandwidths)
        shares = tuple(
            Share(numbers[port], size / (bandwidths[port] * length)) for port, size in work.moved
        )
        found.append((event.unit, Task(ahead=work.lead, length=length, after=0, shares=shares)))
    return found, len(numbers)


def relaxed_makespan(tasks, ports, arch, rng):
    """How long events take on the engines of their kind, in any order, waiting for none."""
    queues, busy = {}, Counter()
    for unit, task in rng.sample(tasks, len(tasks)):
        count = arch.dma.channels if unit is Unit.DMA else len(arch.npus)
        first = min(((unit, index) for index in range(count)), key=busy.__getitem__)
        queues.setdefault(first, []).append(task)
        busy[first] += task.ahead + task.length
    spans = run_queues(list(queues.values()), [False] * len(queues), ports)
    return max(span.end for line in spans for span in line)


def beaten(module, factor=1.0):
    """Whether some order of the events of a schedule is faster than a multiple of their bound."""
    rng = random.Random(0)
    for schedule in (*by_themselves(module), tiles_of(module)):
        tasks, ports = tasks_of(schedule, module.arch)
        for _ in range(ATTACKS):
            makespan = relaxed_makespan(tasks, ports, module.arch, rng)
            if makespan < factor * schedule.cycles_lower_bound:
                return True
    return False


def test_no_order_of_the_events_beats_their_bound(made):
    schedule = tiles_of(made)

    assert not beaten(made)
    assert schedule.scope is Scope.GIVEN_EVENTS
    assert 0 < schedule.cycles_lower_bound <= schedule.cycles


def test_the_attack_notices_two_per_cent_too_much(made):
    assert beaten(made, 1.02)


def test_of_npus_that_differ_only_transfers_count():
    module = compile_graph(*residual_network(10), "flexer-arch5", all_off_chip=False).module
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
