"""Bounds, proofs and figures, against something that knows nothing of how they are made."""

import math
import random
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx

import accnn
from accnn.backend.load import load_architecture
from accnn.compiler.verification.verify import Tolerance, compare, tolerances
from accnn.ir.text.parser import parse_module
from accnn.passes.mapping.certificate.certify import SpaceOptimum
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.scheduling.cosma.problem import PlanProblem
from accnn.passes.scheduling.cosma.search.bounds import WallBound
from accnn.passes.scheduling.cosma.search.moves import MoveTable
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanEngine, solve
from accnn.passes.scheduling.engine.blocks import Block, connected_groups, neighbours
from tests.block_strategies import meet
from tests.inputs import Array
from tests.onnx_rows import convolutions_in_a_row
from tests.passes.scheduling.cosma.oracle import brute_force, random_plan

_PLANS = 20


def no_plan_beats(problem: PlanProblem) -> None:
    """A plan that is drawn at random moves no less than what is said to be the least."""
    rng = random.Random(0)
    drawn = [random_plan(problem, rng) for _ in range(_PLANS)]
    for nodes in (3, 100_000):
        options = CosmaOptions(engine=PlanEngine.SEARCH, search_nodes=nodes)
        bound = solve(problem, options).bound
        assert all(cost is None or bound <= cost for cost in drawn), f"bound {bound}: {drawn}"


def no_wall_asks_too_much(problem: PlanProblem) -> None:
    """What a wall forces to be fetched again is part of every plan."""
    table, least = MoveTable(problem), brute_force(problem)
    bound = WallBound(table)(table.start())
    assert bound <= least, f"bound {bound}, least {least}: {problem}"


def who_meets_whom(blocks: Sequence[Block]) -> None:
    """Blocks that are there in one step are neighbours, and of one group; others are not."""
    near, groups = neighbours(blocks), connected_groups(blocks)
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    for index, block in enumerate(blocks):
        met = [i for i, other in enumerate(blocks) if i != index and meet(block, other)]
        assert sorted(near[index]) == met, f"{blocks}: {near}"
        assert all(group_of[other] == group_of[index] for other in met), f"{blocks}: {groups}"


def optima() -> None:
    """What is three per cent above a bound is not called optimal, proven or not."""
    mapper = Cosa()
    for bound, proven, wanted in (
        (1.0, True, MappingStatus.OPTIMAL),
        (0.999, True, MappingStatus.OPTIMAL),
        (0.97, True, MappingStatus.BOUNDED),
        (0.99, True, MappingStatus.BOUNDED),
        (1.0, False, MappingStatus.BOUNDED),
    ):
        found = mapper._status(SpaceOptimum(nest=None, value=1.0, bound=bound, proven=proven))
        assert found is wanted, f"{found} with a bound of {bound}"


_FLOATS = """
graph net {
  input %x : f32<4x8>
  %p = softmax(%x) {axis = 1} : f32<4x8>
  return %p
}
"""


def floats() -> None:
    """A float that is off by a ten thousandth is not right; one that is off by its last bit is."""
    allowed = _tolerance()
    expected = np.linspace(-1, 1, 32, dtype=np.float32)
    assert _mismatches(np.nextafter(expected, np.float32(2)), expected, allowed) == 0
    wrong = expected + np.float32(1e-4)
    assert _mismatches(wrong, expected, allowed) == expected.size


def _mismatches(found: Array, expected: Array, allowed: Tolerance) -> int:
    return compare(found, expected, "p", tolerance=allowed).mismatches


def _tolerance() -> Tolerance:
    return tolerances(parse_module(_FLOATS).graph)["p"]


def utilization() -> None:
    """Every NPU of a machine counts in what it could do."""
    arch = load_architecture("flexer-arch5")
    peak = sum(arch.for_npu(npu).macs for npu in arch.npus)
    assert len(arch.npus) > 1
    options = accnn.CompileOptions(
        cache=None, mapper="output-stationary", scheduler="in-order", samples=1, tiles="static"
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "row.onnx"
        onnx.save(convolutions_in_a_row((8, 16, 3, 1), (16, 24, 1, 1), size=8), path)
        operators = accnn.compile(path, arch="flexer-arch5", options=options).report.operators
    for item in operators:
        if item.dims is not None and item.cycles:
            macs = math.prod(astuple(item.dims))
            assert item.utilization == macs / (item.cycles * peak), item.name
