import gc
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.mapping import LoopNest
from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.batches.batch import BatchCost, evaluate_batch
from accnn.passes.analysis.batches.capacity import memory_overflow
from accnn.passes.analysis.batches.counts import Counts
from accnn.passes.analysis.batches.nest_batch import batch_nests
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary
from tests.thinned import examples

from ....nest_strategies import architectures, nests


def fits(nest, arch, placement=frozenset()):
    try:
        MappingProblem(workload=nest.workload, arch=arch, resident=placement).check(nest)
    except (InfeasibleError, VerifyError):
        return False
    return True


def test_a_batch_and_what_it_computed_go_with_the_last_reference():
    arch = load_architecture("simba")
    nest = map_output_stationary(Workload(P=8, Q=8, C=16, K=16), arch).nest
    gc.disable()
    try:
        batch = batch_nests([nest])
        evaluate_batch(batch, arch)
        assert batch.turns(Operand.O).tiles(batch.starts[Operand.O][:, 0]).size
        gone = weakref.ref(batch)
        del batch
        assert gone() is None
    finally:
        gc.enable()


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_batch_equals_scalar_to_the_last_digit(data):
    arch = data.draw(architectures())
    first = data.draw(nests(arch, limit=10**6))
    order = data.draw(st.permutations(range(len(first.temporal))))
    second = LoopNest(
        workload=first.workload,
        temporal=tuple(first.temporal[index] for index in order),
        spatial=first.spatial[1:],
        allocations=first.allocations,
    )
    placement = frozenset(data.draw(st.sets(st.sampled_from(Operand))))

    batch = batch_nests([first, second])
    cost = evaluate_batch(batch, arch, placement=placement)

    for index, nest in enumerate((first, second)):
        one = evaluate(nest, arch, placement=placement)
        assert cost.compute_cycles[index] == one.compute_cycles
        assert cost.steady_cycles[index] == one.steady_cycles
        assert cost.fill_cycles[index] == one.fill_cycles
        assert cost.drain_cycles[index] == one.drain_cycles
        assert cost.cycles[index] == one.cycles
        assert cost.energy_pj[index] == one.energy_pj
        assert cost.edp[index] == one.edp == one.energy_pj * one.cycles
        assert cost.offchip_bytes[index] == one.offchip_bytes
        again = evaluate(batch.nest(index), arch, placement=placement)
        assert again == one
        assert batch.nest(index).extents == nest.extents
    assert cost.fits[0] == fits(first, arch, placement)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_batch_knows_what_fits(data):
    arch = data.draw(architectures(capacity=data.draw(st.integers(2, 60))))
    nest = data.draw(nests(arch, limit=10**5))

    cost = evaluate_batch(batch_nests([nest]), arch)

    assert cost.fits[0] == fits(nest, arch)
    fullest = max(
        sum(size for _, size in nest.bytes_at(arch, level.name)) / level.usable
        for level in arch.levels
        if level.usable
    )
    assert memory_overflow(cost.counts)[0] == fullest


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_tile_has_the_elements_that_its_nest_says(data):
    arch = data.draw(architectures())
    nest = data.draw(nests(arch, limit=10**6))
    counts = Counts(
        batch_nests([nest]), arch, frozenset(data.draw(st.sets(st.sampled_from(Operand))))
    )

    for item in nest.allocations:
        extents = nest.tile(arch, item)
        elements = counts.tile(item.operand, item.level)
        assert elements.tolist() == [nest.workload.elements(item.operand, extents)]


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_some_of_a_batch_count_as_a_batch_of_these(data):
    """Unrolled alike, or one of them with a loop that is not unrolled."""
    arch = data.draw(architectures())
    first = data.draw(nests(arch, limit=10**6))
    other = replace(first, temporal=first.temporal[::-1])
    rolled = tuple(replace(item, extent=1) for item in first.spatial[:1])
    third = replace(first, spatial=(*rolled, *first.spatial[1:]))
    rows = np.array(data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=4)))
    alike = data.draw(st.booleans())
    batch = batch_nests([first, other, first if alike else third])
    placement = frozenset(data.draw(st.sets(st.sampled_from(Operand))))

    whole = Counts(batch, arch, placement)
    some, direct = BatchCost(whole.take(rows)), BatchCost(Counts(batch.take(rows), arch, placement))

    for figure in ("cycles", "energy_pj", "offchip_bytes", "overflow"):
        assert np.array_equal(getattr(some, figure), getattr(direct, figure))
    assert np.array_equal(some.counts.busiest_bits, direct.counts.busiest_bits)
    assert np.array_equal(some.counts.bits, direct.counts.bits)


def test_nests_of_different_workloads_make_no_batch():
    arch = load_architecture("simba.toml")
    several = [map_output_stationary(Workload(C=8, K=extent), arch).nest for extent in (8, 16)]

    with pytest.raises(ValueError, match="one workload"):
        batch_nests(several)


def test_evaluates_100_000_mappings_per_cpu_second():
    arch = load_architecture("simba.toml")
    nest = map_output_stationary(Workload(R=3, S=3, P=56, Q=56, C=64, K=64), arch).nest
    batch = batch_nests([nest] * 2000)
    evaluate_batch(batch, arch)

    rates = []
    for _ in range(5):
        start = time.process_time()
        cost = evaluate_batch(batch, arch)
        rates.append(len(batch) / (time.process_time() - start))

    assert np.all(cost.cycles == evaluate(nest, arch).cycles)
    assert max(rates) > 100_000
