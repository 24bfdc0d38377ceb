"""The tables of the network on chip."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Workload
from accnn.passes.mapping.problem import MappingProblem
from accnn.runtime_sim.noc.nest_traffic import NetworkRun

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "noc.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script as a module; the root of the checkout is not on the path."""
    spec = importlib.util.spec_from_file_location("benchmark_of_the_network", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_ranks_are_compared_not_values(script: ModuleType) -> None:
    values = np.array([3.0, 1.0, 2.0, 10.0])

    assert script.rank_correlation(values, values**3) == pytest.approx(1.0)
    assert script.rank_correlation(values, -values) == pytest.approx(-1.0)
    # ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4
    tied = script.rank_correlation(np.array([1, 2, 2, 3]), np.array([1, 2, 3, 4]))
    assert tied == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_speed_ups_are_geometric_means_over_layers(script: ModuleType) -> None:
    def timed(layer: str, mapper: str, cycles: int) -> object:
        run = NetworkRun(
            cycles=cycles,
            compute_cycles=1,
            phases=1,
            simulated=1,
            is_bound=False,
            packets=1,
            crossed=np.zeros(1, np.int64),
            waits={},
            simulated_cycles=cycles,
            fill_cycles=0,
            drain_cycles=0,
            carried={},
        )
        return script.Timed(layer, mapper, cycles / 2, run)

    rows = [
        timed("resnet50/a", "random", 800),
        timed("resnet50/a", "cosa", 100),
        timed("alexnet/b", "random", 200),
        timed("alexnet/b", "cosa", 100),
    ]

    lines = script.speedups(rows)

    assert "| mapper | alexnet | resnet50 | all | all, cost model |" in lines
    assert "| cosa | 2.00 | 8.00 | 4.00 | 4.00 |" in lines


def test_draws_are_valid_and_repeat(script: ModuleType) -> None:
    arch = load_architecture("simba")
    problem = MappingProblem(workload=Workload(P=8, C=16, K=8), arch=arch)

    nests = script.drawn(problem, 7)

    assert len(nests) == 7
    assert nests == script.drawn(problem, 7)
    for nest in nests:
        nest.verify(arch)
