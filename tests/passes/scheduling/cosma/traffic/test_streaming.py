from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.ops import make_op
from accnn.ir.types import DType, TensorType
from accnn.models.graphs import lraspp, resnet50, vit
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.refine import CorrectedTraffic
from accnn.passes.scheduling.cosma.schedule import Cosma
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic
from accnn.passes.scheduling.cosma.traffic.streaming import analytic_traffic
from accnn.passes.scheduling.in_order import schedule_in_order
from tests.thinned import thinned

SIMBA = load_architecture("simba.toml")


def _with_scratchpad(size: int) -> Architecture:
    levels = tuple(
        replace(level, capacity=size) if level.name == "gb" else level for level in SIMBA.levels
    )
    return replace(SIMBA, levels=levels)


@pytest.mark.parametrize("network", [*thinned([lraspp, resnet50, vit], one_in=3)])
def test_a_larger_scratchpad_never_moves_more(network):
    graph = network()
    sizes = [1 << power for power in range(14, 23, 4)]

    moved = [Cosma(arch=_with_scratchpad(size)).plan(graph).objective for size in sizes]

    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < moved[0]


def test_streaming_beats_the_baseline_on_activations():
    graph = resnet50()

    plan = Cosma(arch=SIMBA).plan(graph)

    account = check_schedule(graph, plan, SIMBA)
    baseline = check_schedule(graph, schedule_in_order(graph, SIMBA), SIMBA)
    assert account.total < baseline.total


def test_measured_bytes_are_those_of_the_plan():
    graph = resnet50()
    fast = analytic_traffic(graph, SIMBA, SIMBA.scratchpad_level.capacity or 0)

    def exact(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        found = fast(op, resident, workspace)
        return found and replace(found, constants=found.constants + 1000)

    _, plan = Cosma(arch=SIMBA).measured(graph, exact)

    rough = Cosma(arch=SIMBA).plan(graph)
    assert check_schedule(graph, plan, SIMBA).total < plan.objective
    assert plan.objective <= rough.objective + 1000 * len(graph.ops)
    assert plan.objective > rough.objective


@pytest.mark.parametrize("is_constant", [True, False])
def test_the_table_of_a_gather_counts_as_often_as_it_comes(is_constant: bool):
    """Where there is space for the column of a table and all indices, twice, it comes once."""
    types = {"t": TensorType(DType.F32, (5000, 12)), "i": TensorType(DType.S64, (8,))}
    op = make_op("gather", ("t", "i"), types, "y", attrs={"axis": 0})
    values = {name: (Value(name, item),) for name, item in types.items()}
    graph = Graph(
        name="net",
        inputs=values["i"] if is_constant else (*values["t"], *values["i"]),
        constants=values["t"] if is_constant else (),
        ops=(op,),
        outputs=("y",),
    )
    model, column = analytic_traffic(graph, SIMBA, SIMBA.scratchpad_level.capacity or 0), 5000 * 4
    table, beside = 12 * column, 8 * 8 + 8 * 12 * 4

    def moved(workspace: int, resident: frozenset[str] = frozenset()) -> tuple[int, int]:
        found = model(op, resident, workspace)
        assert found is not None
        return found.total, found.workspace

    once, twice = 2 * (column + 8 * (8 + 4)), 2 * (column + 4 * (8 + 4))
    assert moved(1 << 17) == (table + beside, once)
    assert moved(once) == (table + beside, once)
    assert moved(once - 1) == (2 * table + beside, once - 1)
    assert moved(twice) == (2 * table + beside, twice)
    assert moved(2 * (column + 12)) == (8 * table + beside, 2 * (column + 12))
    assert moved(1 << 17, frozenset("t"))[0] == beside
    assert model(op, frozenset(), 2 * (column + 12) - 1) is None


def test_a_smaller_workspace_moves_no_less_than_a_measured_one():
    graph = resnet50()
    op = graph.ops[4]
    nothing = frozenset[str]()
    fast = analytic_traffic(graph, SIMBA, SIMBA.scratchpad_level.capacity or 0)
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
        Cosma(arch=_with_scratchpad(256)).plan(resnet50())
