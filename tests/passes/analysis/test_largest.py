"""The largest workloads: what is counted of them neither overflows nor falls below a bound."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import VerifyError
from accnn.ir.workload import MOST_MACS, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary
from tests.thinned import thinned

LARGEST = (
    Workload(P=94_906_265, C=94_906_265),
    Workload(P=2**31 - 1, C=2**22),
    Workload(R=3, S=3, P=2**15, Q=2**15, C=900, K=900, stride=(2**31 - 1, 2**31 - 1)),
)


@pytest.mark.parametrize("work", [*thinned(LARGEST)])
def test_the_largest_workloads_are_counted_without_overflow(work: Workload) -> None:
    work.verify()
    machine = load_architecture("edge-1m")
    cost = evaluate(map_output_stationary(work, machine).nest, machine)

    assert work.macs > 0.8 * MOST_MACS
    assert cost.cycles >= cost.cycles_lower_bound
    assert cost.energy_pj >= cost.energy_lower_bound_pj
    assert all(port.bits >= 0 for port in cost.ports)


def test_larger_ones_are_refused() -> None:
    with pytest.raises(VerifyError, match="multiply-accumulates"):
        Workload(P=2**31 - 1, C=2**22 + 1).verify()
