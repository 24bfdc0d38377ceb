"""What the cost of a nest says about it, beside what it counts."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary


@pytest.mark.parametrize(
    ("work", "slowest"),
    [
        (Workload(C=512, K=512), "dram.port"),
        (Workload(R=3, S=3, P=28, Q=28, C=64, K=64), "compute"),
    ],
    ids=str,
)
def test_the_bottleneck_is_what_takes_longest(work: Workload, slowest: str):
    machine = load_architecture("edge-1m")
    cost = evaluate(map_output_stationary(work, machine).nest, machine)
    cycles = {"compute": cost.compute_cycles, **{port.name: port.cycles for port in cost.ports}}

    assert cost.bottleneck == slowest
    assert cycles[slowest] == max(cycles.values()) == cost.steady_cycles
