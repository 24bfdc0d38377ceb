"""Blocks walked to and fro: every operation once, sets that run together, exact times."""

import math

import numpy as np
import pytest

from accnn.ir.workload import Dim
from accnn.passes.scheduling.flexer.decode import decode
from accnn.passes.scheduling.flexer.kernel.arrays import DONE
from accnn.passes.scheduling.flexer.kernel.drive import result_of, schedule_in_order
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.options import FlexerOptions
from accnn.passes.scheduling.flexer.problem import timed
from accnn.passes.scheduling.flexer.search.orders import (
    BlockOrder,
    block_orders,
    estimate,
    in_blocks,
)
from accnn.passes.scheduling.flexer.search.trials import STATIC_MEMORIES
from accnn.passes.scheduling.flexer.search.viable import viable_tilings
from accnn.passes.scheduling.flexer.tilings import TileSizes, Tiling
from tests.passes.scheduling.flexer.sites import convolution, machine, site
from tests.thinned import examples

ENDLESS = FlexerOptions().goal(math.inf)


@pytest.mark.parametrize("npus", [1, 2, 3, 4])
def test_every_operation_runs_once_in_sets_of_different_accumulators(npus: int):
    where = site(convolution(8, 96, 160, 3), machine(40000, npus))
    for tiling in viable_tilings(where, max_ops=120, ratio=1.5)[::5]:
        for pattern in block_orders(tiling, npus):
            order, group = in_blocks(tiling, pattern, npus)
            assert sorted(order.tolist()) == list(range(tiling.op_count))
            assert group.sum() == tiling.op_count
            assert group.max() <= npus
            first = 0
            for size in group.tolist():
                accs = tiling.reads[order[first : first + size], 2]
                assert len(set(accs.tolist())) == size
                first += size


def test_a_block_turns_back_where_it_ends():
    where = site(convolution(4, 64, 64, 1), machine(60000, 1))
    tiling = Tiling(where, TileSizes(G=1, N=1, P=2, Q=4, K=32, C=32))
    pattern = BlockOrder(across=1, channels=1, positions=1, channels_outside=False)
    order, _ = in_blocks(tiling, pattern, 1)
    steps = [tuple(int(tiling.indices[dim][op]) for dim in (Dim.P, Dim.K, Dim.C)) for op in order]

    assert steps[:5] == [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 1, 0)]


def test_schedules_of_blocks_verify():
    where = site(convolution(10, 64, 96, 3), machine(30000, 3))
    timer = TileTimer(where.arch)
    for tiling in viable_tilings(where, max_ops=60, ratio=1.5)[
        :: 27 // examples(3)
    ]:  # one in 9, or in 27
        timing = timed(tiling, timer)
        for pattern in block_orders(tiling, 3):
            order, group = in_blocks(tiling, pattern, 3)
            for memory in STATIC_MEMORIES[:2]:
                problem = timing.problem
                status, state = schedule_in_order(problem, order, group, memory, ENDLESS, True)
                assert status == DONE
                schedule = decode(timing, np.arange(tiling.op_count), state, "flexer", 0)
                schedule.verify()
                cycles, moved = result_of(state)
                assert schedule.transferred_bytes == moved
                assert 0.8 * schedule.cycles <= cycles <= 1.2 * schedule.cycles  # an estimate


def test_accumulators_that_do_not_fit_have_no_estimate():
    where = site(convolution(16, 32, 128, 1), machine(60000, 4))
    timing = timed(Tiling(where, TileSizes(G=1, N=1, P=8, Q=16, K=32, C=32)), TileTimer(where.arch))
    small = BlockOrder(across=1, channels=1, positions=1, channels_outside=False)
    large = BlockOrder(across=2, channels=4, positions=2, channels_outside=False)

    assert estimate(timing, large) is None
    assert estimate(timing, small) is not None
