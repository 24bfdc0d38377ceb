"""The off-chip memory takes as long as its data sheet says: streams, single accesses, refresh."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.arch import Dram
from accnn.ir.mesh import Mesh
from accnn.runtime_sim.noc.dram import served
from accnn.runtime_sim.noc.kernel import READ, WRITE
from accnn.runtime_sim.noc.transfers import Transfers

from .machines import network

DDR4 = load_architecture("simba").dram
assert DDR4 is not None
STILL = replace(DDR4, interval_ns=1e6)  # no refresh while a test looks
LPDDR4 = Dram(  # LPDDR4-3200 x32, 8 Gbit: JESD209-4B, tables of latencies and refresh
    burst_bytes=64,
    burst_ns=5.0,
    banks=8,
    row_bytes=4096,
    column_ns=17.5,
    activate_ns=18.0,
    precharge_ns=18.0,
    recovery_ns=18.0,
    turnaround_ns=10.0,
    refresh_ns=180.0,
    interval_ns=3904.0,
)
NET = network(flit_bits=512, buffer_flits=8, packet_flits=16)
"""Links of a burst per cycle, so that the memory is what limits."""


def cycles(dram, accesses, *, chained=False):
    """Run accesses of (first byte, flits, what); return the last cycle of each."""
    transfers = Transfers(Mesh(NET))
    trees = {READ: transfers.tree(13, (0,)), WRITE: transfers.tree(0, (13,))}
    done = [
        transfers.add(np.array([trees[kind]]), np.array([flits]), kind, np.array([byte]))
        for byte, flits, kind in accesses
    ]
    if chained:
        for before, after in itertools.pairwise(done):
            transfers.order(before, after)
    return transfers.run(None, dram).done


@pytest.mark.parametrize("dram", [DDR4, LPDDR4], ids=["DDR4-2400", "LPDDR4-3200"])
@pytest.mark.parametrize("kind", [READ, WRITE])
def test_a_stream_has_the_bandwidth_of_the_bus_without_refreshes(dram, kind):
    bursts = 20_000

    time = cycles(dram, [(0, bursts, kind)]).max()

    bus = bursts * dram.burst_ns
    lost = bus / (dram.interval_ns - dram.refresh_ns - dram.precharge_ns)
    lost *= dram.refresh_ns + dram.precharge_ns + dram.activate_ns + dram.column_ns
    assert bus < time == pytest.approx(bus + lost, rel=0.01)


@pytest.mark.parametrize("dram", [STILL, LPDDR4], ids=["DDR4-2400", "LPDDR4-3200"])
def test_one_after_the_other_a_miss_costs_closing_and_opening_more_than_a_hit(dram):
    dram, count = replace(dram, interval_ns=1e6), 200
    same_bank = dram.row_bytes * dram.banks

    hits = cycles(dram, [(at % 2 * 64, 1, READ) for at in range(count)], chained=True).max()
    misses = cycles(dram, [(at * same_bank, 1, READ) for at in range(count)], chained=True).max()

    assert (misses - hits) / count == pytest.approx(
        dram.precharge_ns + dram.activate_ns,
        abs=1.0,  # cycles are whole
    )
    mesh = 4 + 1  # one router down, links at both ends
    assert hits / count == pytest.approx(dram.column_ns + dram.burst_ns + mesh, abs=1.5)


def test_many_at_once_hide_rows_of_other_banks_but_not_of_one():
    draw = np.random.default_rng(0)
    rows = draw.permutation(4096)[:1000]
    one_bank = rows * STILL.row_bytes * STILL.banks

    spread = cycles(STILL, [(int(row) * STILL.row_bytes, 1, READ) for row in rows]).max()
    same = cycles(STILL, [(int(byte), 1, READ) for byte in one_bank]).max()

    alone = STILL.precharge_ns + STILL.activate_ns + STILL.column_ns + STILL.burst_ns
    assert same == pytest.approx(1000 * alone, rel=0.02)
    assert 1000 * STILL.burst_ns < spread < same / 3


def test_a_change_of_direction_costs_the_turnaround():
    accesses = [(at * 64, 1, (READ, WRITE)[at % 2]) for at in range(200)]
    slow = replace(STILL, turnaround_ns=107.5)

    alternating = cycles(slow, accesses, chained=True).max()
    one_way = cycles(slow, [(byte, 1, READ) for byte, *_ in accesses], chained=True).max()

    assert alternating == pytest.approx(200 * (slow.turnaround_ns + slow.burst_ns), rel=0.02)
    assert one_way < alternating / 4


def test_accesses_to_an_open_row_go_first():
    far = STILL.row_bytes * STILL.banks
    rows = [(at % 2 * far + at * 64, 1, READ) for at in range(64)]

    in_order = cycles(replace(STILL, window=1), rows).max()
    open_first = cycles(STILL, rows).max()

    miss = STILL.precharge_ns + STILL.activate_ns + STILL.column_ns
    assert in_order > 62 * miss
    assert open_first < in_order / 3


def test_none_waits_for_ever():
    far = STILL.row_bytes * STILL.banks
    hits = [(at * 64 % 4096, 1, READ) for at in range(400)]
    accesses = [hits[0], (far, 1, READ), *hits[1:]]

    done = cycles(STILL, accesses)

    assert done[1] < done.max() / 4
    assert cycles(replace(STILL, window=64), accesses)[1] > done[1]


def test_a_burst_is_not_read_again_by_who_goes_on_in_it():
    half = network(flit_bits=256, buffer_flits=8, packet_flits=1)
    transfers = Transfers(Mesh(half))
    tree = transfers.tree(13, (0,))
    for at in range(2000):
        transfers.add(np.array([tree]), np.array([1]), READ, np.array([at * 32]))

    time = transfers.run(None, STILL).done.max()

    assert time == pytest.approx(1000 * STILL.burst_ns, rel=0.02)


def test_short_accesses_take_whole_bursts():
    """Bytes that are read one from each burst take as long as all of the burst."""
    starts = np.arange(0, 8192, 64)

    few, all_of_it, at_once = (
        served(DDR4, 1e9, first, size, is_write=False)
        for first, size in ((starts, 1), (starts, 64), (starts[:1], 8192))
    )

    assert few == all_of_it
    assert few.cycles == pytest.approx(at_once.cycles)
    assert (few.bursts, at_once.bursts) == (128, 128)
    bus = 128 * DDR4.burst_ns * (1 + DDR4.refresh_ns / DDR4.interval_ns)
    assert bus < at_once.cycles < bus + 40


def test_bytes_on_both_sides_of_a_boundary_take_two_bursts():
    """And on both sides of a row's end two rows of different banks."""
    within, across, rows = (
        served(DDR4, 1e9, np.array([first]), 2, is_write=False) for first in (0, 63, 8191)
    )

    assert [(item.bursts, item.rows) for item in (within, across, rows)] == [(1, 1), (2, 1), (2, 2)]
    more = DDR4.burst_ns * (1 + DDR4.refresh_ns / DDR4.interval_ns)
    assert across.cycles - within.cycles == pytest.approx(more, abs=0.01)


def test_rows_are_opened_once_as_long_as_accesses_keep_to_them():
    """Every row of a stream once; every time where two rows of a bank take turns."""
    stream = served(DDR4, 1e9, np.array([0]), 5 * DDR4.row_bytes, is_write=True)
    same_bank = DDR4.row_bytes * DDR4.banks
    turns = served(DDR4, 1e9, np.arange(10) % 2 * same_bank, 64, is_write=False)
    other_banks = served(DDR4, 1e9, np.arange(10) % 2 * DDR4.row_bytes, 64, is_write=False)

    assert (stream.rows, stream.bursts) == (5, 5 * DDR4.row_bytes // DDR4.burst_bytes)
    assert (turns.rows, turns.bursts) == (10, 10)
    assert (other_banks.rows, other_banks.bursts) == (2, 10)
