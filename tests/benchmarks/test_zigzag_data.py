"""Real runs of ZigZag: its orders are as many as ours, its energies are ours for its mappings."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

from accnn.backend.load import load_architecture
from accnn.passes.analysis.zigzag import zigzag_cost
from accnn.passes.mapping.problem import MappingProblem, Objective, Rules
from accnn.passes.mapping.search.orders.engine import OrderEngine, SearchOptions, search
from accnn.passes.mapping.search.orders.loops import loop_prime_factors
from accnn.passes.mapping.search.orders.machine import UnrolledProblem

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "zigzag_data.py"
EYERISS = load_architecture("eyeriss.toml")


@pytest.fixture(scope="module")
def zigzag_data():
    """The module; the root of the checkout is not on the path."""
    spec = importlib.util.spec_from_file_location("figures_of_zigzag", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runs(zigzag_data):
    """All runs."""
    return zigzag_data.read_runs()


def test_energies_of_its_mappings_are_equal_to_the_last_digit_printed(runs):
    assert len(runs) > 50
    for run in runs:
        assert f"{zigzag_cost(run.nest, EYERISS).energy:.5e}" == f"{run.energy:.5e}"


def test_loops_are_joined_as_its_loma_joins_them(runs):
    joined = [run for run in runs if run.engine == "loma"]

    assert {run.limit for run in joined} == {5, 6, 7, 8}
    for run in joined:
        problem = UnrolledProblem(
            problem=MappingProblem(
                workload=run.nest.workload, arch=EYERISS, objective=Objective.ENERGY
            ),
            spatial=run.nest.spatial,
        )
        assert Counter(loop_prime_factors(problem.temporal, run.limit)) == Counter(
            run.nest.temporal
        )


def test_our_search_is_at_least_as_good_on_every_layer_with_its_unrolling(runs, zigzag_data):
    least: dict[str, float] = {}
    for run in runs:
        if (run.engine, run.objective, run.even) == ("salsa", "energy", False):
            least[run.layer] = min(run.energy, least.get(run.layer, run.energy))
    best = zigzag_data.read_best()
    assert len(least) == len(best) == 10
    for layer, energy in least.items():
        nest = next(run.nest for run in runs if run.layer == layer)
        problem = UnrolledProblem(
            problem=MappingProblem(
                workload=nest.workload, arch=EYERISS, rules=Rules.ZIGZAG, objective=Objective.ENERGY
            ),
            spatial=nest.spatial,
        )

        found = search(problem, SearchOptions(engine=OrderEngine.ANNEALING))

        assert float(f"{found.value:.5e}") <= energy
        assert found.value <= 1.001 * best[layer]
        assert found.value == pytest.approx(zigzag_cost(found.nest, EYERISS).energy, rel=1e-12)
