from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Op
from accnn.models.graphs import lraspp, resnet50, vit
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.refine import CorrectedTraffic
from accnn.passes.scheduling.cosma.schedule import schedule_cosma
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic
from accnn.passes.scheduling.cosma.traffic.streaming import analytic_traffic
from accnn.passes.scheduling.in_order import schedule_in_order

SIMBA = load_architecture("simba.toml")


def _with_scratchpad(size: int) -> Architecture:
    levels = tuple(
        replace(level, capacity=size) if level.name == "gb" else level for level in SIMBA.levels
    )
    return replace(SIMBA, levels=levels)


@pytest.mark.parametrize("network", [resnet50, lraspp, pytest.param(vit, marks=pytest.mark.slow)])
def test_a_larger_scratchpad_never_moves_more(network):
    graph = network()
    sizes = [1 << power for power in range(14, 23, 2)]

    moved = [schedule_cosma(graph, _with_scratchpad(size)).objective for size in sizes]

    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < moved[0]


def test_streaming_beats_the_baseline_on_activations():
    graph = resnet50()

    plan = schedule_cosma(graph, SIMBA)

    account = check_schedule(graph, plan, SIMBA)
    baseline = check_schedule(graph, schedule_in_order(graph, SIMBA), SIMBA)
    assert account.total < baseline.total


def test_measured_bytes_are_those_of_the_plan():
    graph = resnet50()
    fast = analytic_traffic(graph, SIMBA)

    def exact(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        found = fast(op, resident, workspace)
        return found and replace(found, constants=found.constants + 1000)

    plan = schedule_cosma(graph, SIMBA, exact=exact)

    rough = schedule_cosma(graph, SIMBA)
    assert check_schedule(graph, plan, SIMBA).total < plan.objective
    assert plan.objective <= rough.objective + 1000 * len(graph.ops)
    assert plan.objective > rough.objective


def test_a_smaller_workspace_moves_no_less_than_a_measured_one():
    graph = resnet50()
    op = graph.ops[4]
    nothing = frozenset[str]()
    fast = analytic_traffic(graph, SIMBA)
    high = StreamedTraffic(activations=((op.operands[0], 10**8),), constants=0, workspace=0)
    corrected = CorrectedTraffic(fast, lambda op, resident, workspace: high)

    corrected.measure(op, nothing, 50_000, 60_000)

    small = corrected(op, nothing, 20_000)
    assert small is not None
    assert small.total == 10**8
    other = frozenset({op.operands[0]})
    assert corrected(op, other, 20_000) == fast(op, other, 20_000)


def test_less_than_a_tile_is_refused():
    with pytest.raises(InfeasibleError, match="needs them for one tile"):
        schedule_cosma(vit(), _with_scratchpad(256))
