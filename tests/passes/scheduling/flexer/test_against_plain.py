"""The compiled scheduler and the same one in plain Python make the same schedules."""

import math

import numpy as np
import pytest

from accnn.passes.scheduling.flexer.kernel.arrays import (
    ABORTED,
    APART,
    BYTES,
    DONE,
    EAGER,
    EVENTS,
    FURTHEST,
    GROUPS,
    ISSUED,
    MAKESPAN,
    PLACEMENTS,
    PRODUCT,
    SUM,
    Choice,
    Goal,
    ScheduleArrays,
    TilingArrays,
)
from accnn.passes.scheduling.flexer.kernel.drive import schedule_freely, schedule_in_order
from accnn.passes.scheduling.flexer.problem import unrolled
from tests.passes.scheduling.flexer.plain import (
    Schedule,
    freely,
    in_order,
    minimised,
    random_tiling,
)
from tests.thinned import examples

ENDLESS = Goal(PRODUCT, 1.0, 1.0, 0.0, math.inf, math.inf, math.inf)
RULES = [apart + rule for apart in (0, APART) for rule in range(EAGER + FURTHEST + 1)]


def assert_same(state: ScheduleArrays, made: Schedule) -> None:
    assert state.order[: state.scalar[ISSUED]].tolist() == made.order
    assert state.group[: state.scalar[GROUPS]].tolist() == made.groups
    assert (state.scalar[MAKESPAN], state.scalar[BYTES]) == (made.makespan, made.bytes)


def orders(p: TilingArrays, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of a dataflow, or any that may be, and sets of it."""
    ops = np.arange(len(p.reads))
    if p.commute and seed % 2:
        ops = np.random.default_rng(seed).permutation(ops)
    wanted, group = unrolled(p.reads[ops], p.latency.shape[1])
    return ops[wanted], group


@pytest.mark.parametrize("memory", RULES)
def test_in_a_given_order(memory: int) -> None:
    for seed in range(examples(100)):
        p = random_tiling(seed)
        order, group = orders(p, seed)

        status, state = schedule_in_order(p, order, group, memory, ENDLESS, True)
        wanted, made = in_order(p, order.tolist(), group.tolist(), memory, ENDLESS)

        assert status == wanted
        assert_same(state, made)
        events = state.event[: state.scalar[EVENTS]]
        assert [tuple(row) for row in events.tolist()] == made.events
        places = state.placement[: state.scalar[PLACEMENTS]]
        assert [tuple(row) for row in places.tolist()] == made.placements


@pytest.mark.parametrize("rule", range(3))
@pytest.mark.parametrize("memory", [0, 1, 2, EAGER, APART, APART + EAGER])
def test_out_of_order(memory: int, rule: int) -> None:
    for seed in range(examples(100)):
        p = random_tiling(1000 + seed)
        beam, window, trials = (1, 2, 1) if seed % 3 == 0 else (3, 6, 4) if seed % 3 else (8, 48, 8)
        choice = Choice(memory, rule, beam, window, trials)

        status, state = schedule_freely(p, choice, ENDLESS)
        wanted, made = freely(p, choice, ENDLESS)

        assert status == wanted
        assert_same(state, made)


GOALS = [
    ENDLESS,
    Goal(PRODUCT, 1.0, 0.0, 0.0, math.inf, math.inf, math.inf),
    Goal(PRODUCT, 0.0, 1.0, 0.0, math.inf, math.inf, math.inf),
    Goal(PRODUCT, 1.5, 0.5, 0.0, math.inf, math.inf, math.inf),
    Goal(SUM, 0.0, 0.5, 7.0, math.inf, math.inf, math.inf),
    Goal(SUM, 2.0, 0.5, 7.0, math.inf, math.inf, math.inf),
]


@pytest.mark.parametrize("goal", GOALS)
def test_it_gives_up_where_the_goal_is_out_of_reach(goal: Goal) -> None:
    """After every set the limit is what can be reached then, a bit more, or a bit less."""
    for seed in range(examples(30)):
        p = random_tiling(2000 + seed)
        order, group = orders(p, seed)
        end, whole = in_order(p, order.tolist(), group.tolist(), 0, ENDLESS)
        cycles, bytes = float(whole.makespan), float(whole.bytes)
        figure = minimised(goal, cycles, bytes)
        limits = [goal._replace(limit=figure * share) for share in (0.5, 0.8, 1.0, 1.0001)]
        limits += [goal._replace(most_cycles=cycles * share) for share in (0.6, 0.9, 1.0)]
        limits += [goal._replace(most_bytes=bytes * share) for share in (0.6, 0.9, 1.0)]
        for limited in limits:
            status, state = schedule_in_order(p, order, group, 0, limited, False)
            wanted, made = in_order(p, order.tolist(), group.tolist(), 0, limited)

            assert (status, state.scalar[GROUPS]) == (wanted, len(made.groups))
            if end == DONE and status == ABORTED:
                beaten = cycles > limited.most_cycles or bytes > limited.most_bytes
                assert beaten or figure >= limited.limit


@pytest.mark.parametrize("goal", GOALS)
def test_a_free_order_gives_up_as_well(goal: Goal) -> None:
    choice = Choice(EAGER, 0, 3, 6, 4)
    for seed in range(examples(20)):
        p = random_tiling(3000 + seed)
        _, whole = freely(p, choice, ENDLESS)
        figure = minimised(goal, float(whole.makespan), float(whole.bytes))
        for share in (0.5, 0.8, 1.0, 1.0001):
            limited = goal._replace(limit=figure * share)
            status, state = schedule_freely(p, choice, limited)
            wanted, made = freely(p, choice, limited)

            assert (status, state.scalar[GROUPS]) == (wanted, len(made.groups))
