"""Random nests on random machines, drawn without a look at the bounds, against the bounds."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.mapping import Allocation, Loop, LoopNest
from accnn.ir.workload import OPERANDS, Dim, Operand, Workload
from accnn.passes.analysis.bounds import (
    compulsory_bytes,
    cycles_lower_bound,
    energy_lower_bound,
)
from accnn.passes.analysis.cost import evaluate
from accnn.passes.analysis.unrolled_steps import fewest_steps
from tests.thinned import examples

from ...nest_strategies import architectures, nests

_ROUNDING = 1.0 + 1e-9


@st.composite
def mapped(draw, limit=2000):
    """Draw a nest, its machine, and what lies in the scratchpad."""
    arch = draw(architectures())
    nest = draw(nests(arch, limit=limit))
    resident = draw(st.sets(st.sampled_from(Operand)))
    return nest, arch, frozenset(item for item in resident if item in arch.scratchpad_level.holds)


def assert_no_bound_is_beaten(nest, arch, resident):
    cost = evaluate(nest, arch, placement=resident)
    cycles = cycles_lower_bound(nest.workload, arch, resident)
    energy = energy_lower_bound(nest.workload, arch, resident)
    assert cycles <= cost.cycles * _ROUNDING
    assert fewest_steps(nest.workload, arch) <= cost.cycles * _ROUNDING
    assert energy <= cost.energy_pj * _ROUNDING
    assert cycles * energy <= cost.edp * _ROUNDING
    assert compulsory_bytes(nest.workload, resident) <= cost.offchip_bytes


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(mapped())
def test_no_nest_beats_a_bound(case):
    assert_no_bound_is_beaten(*case)


@pytest.mark.parametrize(
    "guilty", ["cycles_lower_bound", "fewest_steps", "energy_lower_bound", "compulsory_bytes"]
)
def test_the_attack_notices_two_per_cent_too_much(monkeypatch, guilty):
    honest = globals()[guilty]
    monkeypatch.setitem(globals(), guilty, lambda *given: 1.02 * honest(*given))

    @settings(max_examples=400, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(mapped())
    def attack(case):
        assert_no_bound_is_beaten(*case)

    with pytest.raises(AssertionError):
        attack()


def test_an_operand_that_stays_off_chip_is_read_there_once_a_step():
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None, read_energy=1.0, write_energy=2.0),
        MemoryLevel(name="gb", holds=OPERANDS, capacity=64, read_energy=9.0, write_energy=9.0),
    )
    arch = Architecture(name="dear-gb", levels=levels, scratchpad="gb", accumulator_bits=8)
    work = Workload(K=3)
    loops = (Loop(Dim.K, 3),)
    everywhere = tuple(Allocation(operand, "dram", 0) for operand in Operand)

    nest = LoopNest(workload=work, temporal=loops, spatial=(), allocations=everywhere)

    cost = evaluate(nest, arch)
    assert cost.energy_pj == 3 * 1.0 + 3 * 1.0 + 3 * 2.0
    assert energy_lower_bound(work, arch) == pytest.approx(cost.energy_pj)


def test_a_step_shares_a_transfer_with_no_more_than_there_is_to_share():
    fanout = Fanout(name="pe", below="gb", size=16, multicast=(Operand.W, Operand.I))
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None),
        MemoryLevel(name="gb", holds=OPERANDS, capacity=4096, read_energy=1.0),
    )
    arch = Architecture(name="wide", levels=levels, scratchpad="gb", fanouts=(fanout,))
    depthwise, pointwise = Workload(R=3, S=3, G=64), Workload(C=64, K=64)

    inputs = frozenset({Operand.I})
    without = {work: energy_lower_bound(work, arch, inputs) for work in (depthwise, pointwise)}

    assert without[depthwise] >= depthwise.macs  # nobody shares an input of a single channel
    assert pointwise.macs / 16 <= without[pointwise] < pointwise.macs


@pytest.mark.slow
@settings(max_examples=6000, deadline=None)
@given(mapped(limit=10**6))
def test_no_nest_of_very_many_beats_a_bound(case):
    assert_no_bound_is_beaten(*case)
