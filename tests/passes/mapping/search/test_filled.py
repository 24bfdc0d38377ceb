"""Nests of several unrollings: they fit, their tiles are as large as fit, and some are better."""

import itertools
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.batches.batch import evaluate_batch
from accnn.passes.analysis.batches.nest_batch import batch_nests
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.in_tiles import InTiles, Shared
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.mapping.search.filled import promising_nests
from accnn.passes.mapping.search.uneven import improve

DEPTHWISE = Workload(R=3, S=3, P=4, Q=14, G=576)
LAYERS = (
    DEPTHWISE,
    Workload(P=2, Q=56, C=96, K=24),
    Workload(R=7, S=7, P=5, Q=11, C=3, K=64, stride=(2, 2)),
)


def asked(arch: str, workload: Workload, resident=frozenset()) -> MappingProblem:
    machine = load_architecture(arch).for_every_npu
    workload = replace(workload, psum_bits=machine.accumulator_bits)
    return MappingProblem(workload=workload, arch=machine, resident=resident)


@pytest.mark.parametrize("workload", LAYERS, ids=str)
@pytest.mark.parametrize("arch", ["simba", "edge-1m", "flexer-arch5", "eyeriss"])
def test_they_fit_and_differ_and_the_best_one_comes_first(arch: str, workload: Workload):
    problem = asked(arch, workload)
    judge = Shared(problem, 1).judge(0.0)

    found = promising_nests(problem, judge, most=6)

    assert found
    assert len(set(found)) == len(found)
    for nest in found:
        problem.check(nest)
    batch = batch_nests(found)
    values = judge(batch, evaluate_batch(batch, problem.machine)).tolist()
    assert values == sorted(values)
    assert promising_nests(problem, judge, most=2) == found[:2]


@pytest.mark.parametrize("workload", LAYERS[::2], ids=str)
def test_no_tile_could_start_a_loop_farther_out(workload: Workload):
    """Of the memories that one operand has for itself, each above the array alone."""
    problem = asked("simba", workload, frozenset({Operand.I, Operand.O}))
    tried = 0

    for nest in promising_nests(problem, Shared(problem, 1).judge(0.0), most=6):
        for outer, inner in itertools.chain(*(itertools.pairwise(nest.of(x)) for x in Operand)):
            if inner.level in {"ib", "wb", "ab"} and inner.start > outer.start:
                larger = replace(inner, start=inner.start - 1)
                others = tuple(larger if item == inner else item for item in nest.allocations)
                with pytest.raises(InfeasibleError):
                    replace(nest, allocations=others).verify(problem.machine)
                tried += 1
    assert tried


def test_a_depthwise_stripe_waits_less_for_the_input_buffer():
    """Unrolled over channels alone, each of eight MACs reads an input of its own, one after all."""
    resident = frozenset({Operand.I, Operand.O})
    problem = replace(asked("simba", DEPTHWISE, resident), kept_weights=1 << 20)
    greedy, judge = OutputStationary(), Shared(problem, 1).judge(0.0)

    result = InTiles(mapper=greedy).map(problem)

    ends = [improve(nest, problem, judge, rounds=60) for nest in greedy.nests(problem)]
    others = [Shared(problem, 1).restated(result, nest).estimate for nest in ends]
    assert result.estimate < 0.8 * min(others)


def test_where_nothing_fits_there_are_none():
    problem = asked("simba", DEPTHWISE)
    levels = tuple(
        replace(level, capacity=1) if level.name == "ib" else level for level in problem.arch.levels
    )
    problem = replace(problem, arch=replace(problem.arch, levels=levels))

    assert promising_nests(problem, Shared(problem, 1).judge(0.0), most=4) == ()
