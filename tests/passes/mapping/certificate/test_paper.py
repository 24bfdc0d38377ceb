"""CoSA's program as published, of one placement of all factors: what its nest says of it."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.workload import RELEVANT, Dim, Operand, Workload
from accnn.passes.mapping.certificate.paper import (
    PaperFormulation,
    PaperWeights,
    breakdown,
    kept_at_network,
)
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.search.even.space import even_space
from accnn.passes.mip.model import MipLimits
from tests.thinned import examples

from .test_certificates_attacked import spaces
from .test_single_mappings import QUICK


def placed(program, rng):
    """Return a place for each factor, at random; no rank has two."""
    chosen, taken = {}, set()
    for index in range(len(program.factors)):
        places = [place for at, place in program.places if at == index and place not in taken]
        chosen[index] = places[rng.integers(len(places))]
        if isinstance(chosen[index], tuple):
            taken.add(chosen[index])
    return chosen


def solved(program, chosen):
    for (index, place), flag in program.places.items():
        program.model.add_equal(flag, float(chosen[index] == place))
    return program.model.solve(MipLimits())


def nest_of(program, chosen):
    values = [0.0] * program.model.variables
    for index, place in chosen.items():
        (at,) = program.places[index, place].terms
        values[at] = 1.0
    return program.decode(values)


def fits(nest, space, share):
    """Whether fan-outs are large enough, and tiles, without halo, for their part of a memory."""
    arch = space.arch
    for fanout in arch.fanouts:
        used = math.prod(loop.extent for loop in nest.spatial if loop.fanout == fanout.name)
        if used > fanout.size:
            return False
    for operand in Operand:
        for level in space.chains[operand][1:]:
            usable = arch.levels[level].usable
            (item,) = (i for i in nest.of(operand) if i.level == arch.levels[level].name)
            tile = nest.tile(arch, item)
            dims = RELEVANT[operand] - {Dim.R, Dim.S}
            dims = RELEVANT[operand] if operand is not Operand.I else dims
            bits = space.workload.bits(operand)
            if operand is Operand.O:
                bits = max(bits, arch.accumulator_bits)
            sharing = sum(level in chain[1:] for chain in space.chains.values())
            elements = math.prod(tile[dim] for dim in dims)
            part = 8 * usable / sharing / bits * (share if operand is Operand.I else 1.0)
            if elements > max(1.0, part) * (1 + 1e-9):
                return False
    return True


def streamed_past_the_scratchpad():
    """Return a space whose inputs and outputs lie in the scratchpad: no tile is kept there."""
    levels = tuple(
        MemoryLevel(name=name, holds=tuple(map(Operand, holds)), capacity=capacity)
        for name, holds, capacity in (("dram", "WIO", None), ("gb", "IO", 512), ("mid", "WO", 512))
    )
    problem = MappingProblem(
        workload=Workload(Q=2, C=2, N=2, G=2),
        arch=Architecture(name="streaming", levels=levels, scratchpad="gb"),
        resident=frozenset({Operand.I, Operand.O}),
    )
    return even_space(problem)


@settings(max_examples=examples(60), deadline=None, derandomize=True, phases=QUICK)
@given(spaces(), st.integers(0, 99), st.sampled_from((0.3, 1.0)))
@example(streamed_past_the_scratchpad(), 2, 1.0)
@example(streamed_past_the_scratchpad(), 3, 1.0)
def test_the_program_says_of_a_placement_what_its_nest_says(space, seed, share):
    assume(space.primes)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        program = PaperFormulation(space, PaperWeights(utilization=0.5, compute=2.0), share)
        chosen = placed(program, rng)
        nest = nest_of(program, chosen)

        result = solved(program, chosen)

        assert bool(result.values) == fits(nest, space, share)
        if result.values:
            parts = breakdown(nest, space)
            assert result.value(program.compute) == pytest.approx(parts.compute, abs=1e-6)
            assert result.value(program.utilization) == pytest.approx(parts.utilization, abs=1e-6)
            assert result.value(program.traffic) == pytest.approx(parts.traffic, abs=1e-6)
            whole = 2.0 * parts.compute - 0.5 * parts.utilization + parts.traffic
            assert result.objective == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize(("place", "has_room"), [(("rank", 0), True), (1, False)])
def test_a_third_of_a_memory_that_is_less_than_a_sum_has_room_for_one(place, has_room):
    holds = tuple(Operand)
    levels = (
        MemoryLevel(name="dram", holds=holds, capacity=None),
        MemoryLevel(name="gb", holds=holds, capacity=6),
    )
    arch = Architecture(name="tiny", levels=levels, scratchpad="gb", accumulator_bits=24)
    space = even_space(MappingProblem(workload=Workload(K=2), arch=arch))
    program = PaperFormulation(space, PaperWeights(), 1.0)

    assert bool(solved(program, {0: place}).values) is has_room


@pytest.mark.parametrize(("share", "elements"), [(1.0, 8), (0.5, 4), (0.25, 2), (0.01, 1)])
def test_inputs_take_no_more_than_their_share_of_their_part_of_a_memory(share, elements):
    """A third of the memory has eight elements; inputs and weights have as many as channels."""
    holds = tuple(Operand)
    levels = (
        MemoryLevel(name="dram", holds=holds, capacity=None),
        MemoryLevel(name="gb", holds=holds, capacity=24),
    )
    arch = Architecture(name="shared", levels=levels, scratchpad="gb")
    space = even_space(MappingProblem(workload=Workload(C=16), arch=arch))

    for inside in range(5):
        program = PaperFormulation(space, PaperWeights(), share)
        places = {index: 1 if index < inside else ("rank", index) for index in range(4)}
        assert bool(solved(program, places).values) is (2**inside <= elements)


@pytest.mark.parametrize(("below", "kept"), [("gb", "WIO"), ("near", "O"), (None, "WI")])
def test_matrix_b_has_what_the_level_above_the_network_keeps(below, kept):
    levels = tuple(
        MemoryLevel(name=name, holds=tuple(map(Operand, holds)), capacity=capacity)
        for name, holds, capacity in (("dram", "WI", None), ("gb", "WIO", 64), ("near", "O", 64))
    )
    fanouts = (Fanout(name="pe", below=below, size=4),) if below else ()
    fanouts += (Fanout(name="lane", below="near", size=2),) if below == "gb" else ()
    arch = Architecture(name="networked", levels=levels, scratchpad="gb", fanouts=fanouts)

    assert set(kept_at_network(arch)) == set(map(Operand, kept))


@settings(max_examples=15, deadline=None, derandomize=True, phases=QUICK)
@given(spaces(), st.integers(0, 99))
def test_balance_is_how_far_traffic_and_compute_are_apart(space, seed):
    assume(space.primes)
    weights = PaperWeights(compute=2.0, traffic=0.7, balance=True)
    program = PaperFormulation(space, weights, 1.0, moved=())  # all traffic is fixed then

    result = solved(program, placed(program, np.random.default_rng(seed)))

    if result.values:
        apart = 0.7 * result.value(program.traffic) - 2.0 * result.value(program.compute)
        assert result.objective == pytest.approx(abs(apart), abs=1e-6)
