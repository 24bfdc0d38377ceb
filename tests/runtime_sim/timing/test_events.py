"""Time: alone, behind each other, and sharing ports, against a cycle-by-cycle oracle."""

import dataclasses
import io
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.isa.instructions import Copy, Fill, Quantize, Space, Sync, Wait
from accnn.ir.types import DType
from accnn.runtime_sim.array.arrays import Arrays
from accnn.runtime_sim.result import PortStall, QueueTimeline
from accnn.runtime_sim.simulate import simulate
from accnn.runtime_sim.timing.demands import Demand, Demands
from accnn.runtime_sim.timing.events import time_of
from accnn.runtime_sim.timing.interleaving import random_steps
from accnn.runtime_sim.timing.ports import ports_of
from accnn.runtime_sim.timing.sharing import FULL, fair_rates
from accnn.runtime_sim.trace import write_trace
from tests.thinned import examples

from ...programs import at, machine, program
from ..step_by_step import retirements

QUEUES = ("dma0", "dma1", "ld0", "mx0", "vx0", "st0", "mx1", "vx1")


def arch_with(dram=None, gb=None, npus=2):
    """The round machine with other figures of its two memories."""
    arch = machine(npus, 2)
    off_chip, pad, *inner = arch.levels
    levels = (dataclasses.replace(off_chip, **dram or {}), dataclasses.replace(pad, **gb or {}))
    return dataclasses.replace(arch, levels=(*levels, *inner))


RATES = st.sampled_from([1.0, 2.0, 2.5, 4.0, 7.0, 0.75])


@st.composite
def machines(draw):
    """Machines with two to six ports."""
    memory = {"read_bandwidth": RATES, "write_bandwidth": RATES, "shared_port": st.booleans()}
    dram, gb = (draw(st.fixed_dictionaries(memory)) for _ in range(2))
    gb["ports"] = draw(st.sampled_from([None, 1, 3]))
    return arch_with(dram, gb)


@st.composite
def works(draw, ports):
    """What an instruction may ask for."""
    cycles = st.integers(0, 5)
    moved = st.dictionaries(st.integers(0, ports - 1), st.integers(0, 40), max_size=3)
    return Demand(
        lead=draw(cycles), least=draw(st.integers(0, 20)), demands=(*draw(moved).items(),)
    )


@st.composite
def programs(draw):
    """A program of syncs that deadlocks never, and work for its instructions."""
    arch = draw(machines())
    ports = len(ports_of(arch).ports)
    streams = {name: [] for name in QUEUES}
    wanted = {name: [] for name in QUEUES}
    for _ in range(draw(st.integers(1, 14))):
        name = draw(st.sampled_from(QUEUES))
        waits = tuple(
            Wait(number, draw(st.integers(1, len(streams[other]))))
            for number, other in enumerate(QUEUES)
            if other != name and streams[other] and draw(st.integers(0, 3)) == 0
        )
        streams[name].append(Sync(waits=waits))
        work = draw(works(ports))
        if name.startswith("mx"):
            fill, drain = draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))
            work = dataclasses.replace(work, fill=fill, drain=drain)
        wanted[name].append(work)
    halt = Demand(least=1)
    return program(streams, arch=arch), [[*wants, halt] for wants in wanted.values()]


@settings(max_examples=examples(200), deadline=None)
@given(programs())
def test_all_retire_when_the_oracle_says(case):
    built, work = case
    bandwidths = [port.bandwidth for port in ports_of(built.arch).ports]

    timing = time_of(built, work)

    found = [[issue.end for issue in queue] for queue in timing.queues]
    assert found == retirements(built, work, bandwidths)


def test_what_others_leave_of_a_port_is_not_rounded_away():
    """Two take 18/35 of their speed at one port, and 5/7 of another one: 2/7 is left to a third.

    That is 4/7 of its speed, so that it takes 7 cycles instead of 4.
    """
    arch = arch_with(
        {"read_bandwidth": 1.0, "write_bandwidth": 1.0, "shared_port": True},
        {"read_bandwidth": 2.0, "write_bandwidth": 1.0, "shared_port": True},
    )
    two, one = Demand(demands=((1, 35), (2, 25))), Demand(least=4, demands=((2, 4),))
    asked = {"dma0": two, "mx0": two, "ld0": one}
    streams = {name: [Sync()] if name in asked else [] for name in QUEUES}
    halt = Demand(least=1)
    work = [[asked[name], halt] if name in asked else [halt] for name in QUEUES]

    timing = time_of(program(streams, arch=arch), work)

    ends = {name: queue[0].end for name, queue in zip(QUEUES, timing.queues, strict=True)}
    assert {name: ends[name] for name in asked} == {"dma0": 35, "mx0": 35, "ld0": 7}


@settings(max_examples=examples(100), deadline=None)
@given(programs())
def test_no_port_moves_more_than_its_bandwidth(case):
    """Between any beginning and any end, what lies in between fits through every port."""
    built, work = case
    timing = time_of(built, work)
    spans = [
        (issue.start + (0 if name.startswith("mx") else wanted.lead), issue.end, wanted.demands)
        for name, queue, wants in zip(QUEUES, timing.queues, work, strict=True)
        for issue, wanted in zip(queue, wants, strict=True)
    ]

    for port, spec in enumerate(ports_of(built.arch).ports):
        for first, last in itertools.product({s[0] for s in spans}, {s[1] for s in spans}):
            moved = sum(
                dict(demands).get(port, 0)
                for start, end, demands in spans
                if first <= start and end <= last
            )
            rounding = Fraction(1, 1 << 20)
            assert moved == 0 or moved <= Fraction(spec.bandwidth) * (last - first) + rounding


@settings(max_examples=examples(100), deadline=None)
@given(programs())
def test_stalls_are_what_is_beyond_the_lone_duration(case):
    built, work = case
    ports = ports_of(built.arch)
    timing = time_of(built, work)

    for name, queue, wants in zip(QUEUES, timing.queues, work, strict=True):
        if name.startswith("mx"):
            continue
        for issue, wanted in zip(queue, wants, strict=True):
            slowest = (ports.cycles(port, moved) for port, moved in wanted.demands)
            alone = wanted.lead + max([wanted.least, *slowest])
            assert sum(s.cycles for s in issue.stalls) == issue.end - issue.start - alone
            assert {s.port for s in issue.stalls} <= {
                ports.ports[p].name for p, _ in wanted.demands
            }


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.dictionaries(st.integers(0, 4), st.integers(1, 1 << 40), max_size=3), max_size=7)
)
def test_rates_are_max_min_fair(shares):
    """Who does not go at full speed meets a full port on which nobody is faster."""
    found = fair_rates([tuple(item.items()) for item in shares])

    rounding = Fraction(len(shares) ** 2, FULL)
    load = {
        port: sum(
            Fraction(item.get(port, 0) * rate.rate, FULL * FULL)
            for item, rate in zip(shares, found, strict=True)
        )
        for port in range(5)
    }
    assert all(amount <= 1 + rounding for amount in load.values())
    for item, rate in zip(shares, found, strict=True):
        assert 0 < rate.rate <= FULL
        if rate.rate == FULL:
            assert rate.port == -1
            continue
        there = [r.rate for other, r in zip(shares, found, strict=True) if rate.port in other]
        assert rate.port in item
        assert load[rate.port] >= 1 - rounding
        assert rate.rate == max(there)


def copies(*pairs, waits=()):
    """Copies of 40 bytes, by (destination, source)."""
    return [
        Copy(dst=at(to, 0, 1), src=at(of, 0, 1), shape=(40,), element_bytes=1, waits=waits)
        for to, of in pairs
    ]


IN, OUT = (Space.GB, Space.DRAM), (Space.DRAM, Space.GB)


def ends(built):
    return [[issue.end for issue in queue[:-1]] for queue in time_of(built).queues]


def test_a_lone_transfer_has_the_whole_off_chip_bandwidth():
    """10 cycles of start-up and 40 bytes over 4 a cycle, however many channels there are."""
    for channels in (1, 2, 4):
        assert ends(program({"dma0": copies(IN)}, arch=machine(1, channels))) == [[20]]


def test_two_transfers_share_a_port_and_two_ports_serve_both():
    shared = arch_with({"shared_port": True})
    apart = arch_with({"write_bandwidth": 4.0})
    both = {"dma0": copies(IN), "dma1": copies(OUT)}

    assert ends(program(both, arch=shared)) == [[30], [30]]
    assert ends(program(both, arch=apart)) == [[20], [20]]


def test_start_up_takes_no_bandwidth():
    """The second of dma0 is in its start-up while dma1 moves bytes."""
    arch = arch_with({"shared_port": True})
    sync = [Sync()] * 10

    assert ends(program({"dma0": [*copies(IN)], "dma1": [*sync, *copies(IN)]}, arch=arch)) == [
        [20],
        [*range(1, 11), 30],
    ]


def test_stalls_name_the_port_and_the_operator():
    arch = arch_with({"shared_port": True})
    first, second = copies(IN, OUT)
    streams = {"dma0": [dataclasses.replace(first, op=0)], "dma1": [second]}

    result = simulate(program(streams, arch=arch), {}, {}, detect_races=False)

    assert result.operators[0].stalls == (PortStall("dram.port", 10),)
    assert result.total.stalls == (PortStall("dram.port", 20),)
    alone = simulate(program({"dma0": streams["dma0"]}, arch=arch), {}, {}, detect_races=False)
    assert alone.total.stalls == ()


def test_a_vector_instruction_is_not_faster_than_the_scratchpad():
    """64 floats are 256 bytes through a port of 16 a cycle, though 8 lanes take 8 cycles."""
    quantise = Quantize(
        src=at(Space.GB, 0, 4),
        dst=at(Space.GB, 1024, 1),
        shape=(64,),
        dtype=DType.S8,
        scale=1.0,
        zero_point=0,
    )

    assert ends(program({"vx0": [quantise]})) == [[2 + 16]]
    fast = arch_with(gb={"read_bandwidth": None})
    assert ends(program({"vx0": [quantise]}, arch=fast)) == [[2 + 8]]


@pytest.mark.parametrize(("ports", "expected"), [(None, 14), (2, 14), (1, 24)])
def test_npus_share_the_banks_of_the_scratchpad_or_have_their_own(ports, expected):
    """Two NPUs load 160 bytes each; a port moves 16 a cycle."""
    arch = arch_with(gb={"ports": ports})
    load = {"shape": (160,), "element_bytes": 1}
    streams = {
        f"ld{npu}": [Copy(dst=at(Space.WB, 0, 1, npu=npu), src=at(Space.GB, 0, 1), **load)]
        for npu in range(2)
    }

    assert ends(program(streams, arch=arch)) == [[expected]] * 2


def test_banks_are_there_for_one_engine_too():
    load = Copy(dst=at(Space.WB, 0, 1), src=at(Space.GB, 0, 1), shape=(160,), element_bytes=1)

    def end(ports):
        return ends(program({"ld0": [load]}, arch=arch_with(gb={"ports": ports})))

    assert end(2) == [[4 + 5]]
    assert end(None) == [[4 + 10]]


def test_a_dma_engine_spreads_over_the_ports_of_all_npus():
    """40 bytes at one byte a cycle and port."""

    def end(npus):
        arch = arch_with({"read_bandwidth": None}, {"write_bandwidth": 1.0}, npus)
        return ends(program({"dma0": copies(IN)}, arch=arch))

    assert end(2) == [[10 + 20]]
    assert end(1) == [[10 + 40]]


def test_ports_have_names():
    def names(**gb):
        return [port.name for port in ports_of(arch_with({"shared_port": True}, gb)).ports]

    each = [f"npu{npu}.gb.{way}" for npu in (0, 1) for way in ("read", "write")]
    assert names(write_bandwidth=1.0) == ["dram.port", *each]
    assert names(write_bandwidth=1.0, ports=4) == ["dram.port", "gb.read", "gb.write"]
    assert names(shared_port=True, ports=1) == ["dram.port", "gb.port"]
    assert names(read_bandwidth=None) == ["dram.port"]


def test_fill_and_drain_hide_behind_neighbours():
    """Two of fill 5, compute 10 and drain 3; a wait of another queue is for retirement."""
    work = Demand(least=10, fill=5, drain=3)
    built = program({"mx0": [Sync(), Sync()], "vx0": [Sync(waits=(Wait(0, 1),))]})

    timing = time_of(built, [[work, work, Demand()], [Demand(), Demand()]])

    assert [(issue.start, issue.end) for issue in timing.queues[0][:2]] == [(5, 18), (15, 28)]
    assert timing.queues[1][0].start == 18


def test_products_begin_after_all_that_retires_in_that_cycle():
    """Also after what takes no more than its start-up, which is over then."""
    built = program({"mx0": [Sync()], "vx0": [Sync()]})
    work = [[Demand(least=2, fill=3), Demand()], [Demand(lead=3), Demand()]]

    timing = time_of(built, work)

    assert timing.queues[0][0].start == timing.queues[1][0].end == 3
    order = [(step.queue, step.retires) for step in timing.steps if step.position == 0]
    assert order == [(1, False), (1, True), (0, False), (0, True)]


def test_a_trace_shows_a_draining_instruction_up_to_the_next_one():
    result = simulate(program({"mx0": [Sync()], "vx0": [Sync()]}), {}, {}, trace=True)
    stream = dataclasses.replace(Fill(dst=at(Space.GB, 0, 1), **ONE), op=0)
    built = program({"mx0": [stream, stream]})
    times = QueueTimeline(np.array([5, 15, 30]), np.array([18, 28, 31]))
    file = io.StringIO()

    write_trace(dataclasses.replace(result, program=built, timelines=(times,)), file)

    events = [event for event in json.loads(file.getvalue())["traceEvents"] if event["ph"] == "X"]
    assert [(event["ts"], event["dur"]) for event in events] == [(5, 10), (15, 13)]


ONE = {"shape": (1,), "element_bytes": 1, "value": 1}


def test_a_mac_is_not_issued_before_the_one_before_it_computes():
    """A fill longer than what hides it shows."""
    work = Demand(least=2, fill=5)
    built = program({"mx0": [Sync(), Sync(), Sync()]})

    timing = time_of(built, [[work] * 3 + [Demand()]])

    assert [issue.start for issue in timing.queues[0][:3]] == [5, 10, 15]


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 9) | st.none())
def test_steps_are_a_legal_order(case, seed):
    built, work = case
    steps = time_of(built, work).steps if seed is None else random_steps(built, seed)
    begun, retired = [0] * len(QUEUES), [0] * len(QUEUES)

    for step in steps:
        counts = retired if step.retires else begun
        assert counts[step.queue] == step.position
        if step.retires:
            assert step.position < begun[step.queue]
        else:
            waits = built.queues[step.queue].instructions[step.position].waits
            assert all(retired[wait.queue] >= wait.count for wait in waits)
            is_mac = QUEUES[step.queue].startswith("mx")
            assert is_mac or retired[step.queue] == step.position
        counts[step.queue] += 1
    assert begun == retired == [len(queue.instructions) for queue in built.queues]


def test_demands_count_what_the_instruction_touches():
    arch = arch_with({"shared_port": True}, {"write_bandwidth": 8.0}, npus=1)
    (copy,) = copies(IN)
    built = program({"dma0": [copy]}, arch=arch)

    work = Demands(built, ports_of(arch), Arrays(built)).work(0, copy)

    assert work == Demand(lead=10, demands=((0, 40), (2, 40)))
