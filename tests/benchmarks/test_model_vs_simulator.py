"""The table of model against simulator."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from accnn.ir.report import Cause, OperatorReport, Reason
from tests.flow import compile_graph
from tests.passes.scheduling.across.joint import chain
from tests.tiles import tiles_of

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "model_vs_simulator.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script as a module; the root of the checkout is not on the path."""
    spec = importlib.util.spec_from_file_location("benchmark_of_the_model", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def operator(name: str, difference: float, *reasons: Reason) -> OperatorReport:
    return OperatorReport(
        name=name, kind="conv2d", difference=difference, reasons=reasons, cycles_predicted=1000
    )


def test_operators_are_counted_by_their_first_reason(script: ModuleType):
    port, overlap = Reason(Cause.PORT, 9, "dram.port"), Reason(Cause.OVERLAP, 3)
    operators = (
        operator("a", 0.004),
        operator("b", -0.2, port, overlap),
        operator("c", 0.1, overlap),
        operator("d", 0.1, Reason(Cause.UNKNOWN, 0)),
    )

    row = script.row_of("net", "simba", operators, 3900, exact=True)

    assert (row.exact, row.operators, row.within, row.unknown) == (True, 4, 1, 1)
    assert (row.worst, row.worst_operator) == (-20.0, "b")
    assert row.reasons == "1 dram.port, 1 overlap, 1 unknown"
    assert (row.predicted, row.simulated) == (4.0, 3.9)
    assert "| net | simba | yes | 4 | 1 | -20.0 % |" in script.markdown([row])


def test_a_network_is_compared_to_the_cycle(script: ModuleType):
    compiled = compile_graph(*chain(), "simba", all_off_chip=False)
    schedule = tiles_of(compiled.module)

    assert script.is_exact(schedule, compiled.program)
    late = replace(schedule, cycles=schedule.cycles + 1)
    assert not script.is_exact(late, compiled.program)
