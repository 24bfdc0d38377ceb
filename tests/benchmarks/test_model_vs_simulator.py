"""The table of model against simulator."""

from dataclasses import replace

from accnn.ir.report import Cause, OperatorReport, Reason
from benchmarks.model_vs_simulator import is_exact, markdown, row_of
from tests.flow import compile_graph
from tests.passes.scheduling.across.joint import chain


def operator(name: str, difference: float, *reasons: Reason) -> OperatorReport:
    return OperatorReport(
        name=name, kind="conv2d", difference=difference, reasons=reasons, cycles_predicted=1000
    )


def test_operators_are_counted_by_their_first_reason():
    port, overlap = Reason(Cause.PORT, 9, "dram.port"), Reason(Cause.OVERLAP, 3)
    operators = (
        operator("a", 0.004),
        operator("b", -0.2, port, overlap),
        operator("c", 0.1, overlap),
        operator("d", 0.1, Reason(Cause.UNKNOWN, 0)),
    )

    row = row_of("net", "simba", operators, 4, 3900)

    assert (row.operators, row.exact_alone, row.within, row.unknown) == (4, 4, 1, 1)
    assert (row.worst, row.worst_operator) == (-20.0, "b")
    assert row.reasons == "1 dram.port, 1 overlap, 1 unknown"
    assert (row.predicted, row.simulated) == (4.0, 3.9)
    assert "| net | simba | 4 | 4 | 1 | -20.0 % |" in markdown([row])


def test_an_operator_alone_is_compared_to_the_cycle():
    module = compile_graph(*chain(), "simba", all_off_chip=False).module
    schedule = module.tile_schedules[0]

    assert is_exact(module, schedule)
    assert not is_exact(module, replace(schedule, cycles=schedule.cycles + 1))
