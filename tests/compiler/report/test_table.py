from dataclasses import replace

import pytest
from rich.console import Console

from accnn.compiler.report.figures import amount, counted, percent
from accnn.compiler.report.table import (
    accuracy_line,
    difference_line,
    quantization_line,
    report_tables,
    verification_line,
)
from accnn.ir.graph_schedule import SolveStatus
from accnn.ir.proof import Scope
from accnn.ir.report import (
    Accuracy,
    Cause,
    EnergyPart,
    FileIdentity,
    GraphScheduleReport,
    LayerNoise,
    OperatorReport,
    OutputCheck,
    QuantizationReport,
    Reason,
    Report,
    Totals,
    Verification,
    VerificationStatus,
)

REPORT = Report(
    version="0.1.0",
    model=FileIdentity("net.onnx", "00"),
    arch=FileIdentity("simba.toml", "11"),
    options={},
    seed=0,
    totals=Totals(
        macs=4_089_184_256,
        cycles_model=1000,
        cycles_simulated=1500,
        cycles_lower_bound=750,
        energy_pj=2.5e9,
        offchip_bytes=120,
        offchip_bytes_compulsory=100,
    ),
    operators=tuple(
        OperatorReport(name=f"op{index}", kind="conv2d", cycles=index * 100, utilization=0.5)
        for index in range(5)
    ),
    graph_schedule=GraphScheduleReport(
        budget_bytes=65536, status=SolveStatus.HEURISTIC, objective_bytes=120, bound_bytes=0
    ),
    verification=Verification(
        status=VerificationStatus.VERIFIED,
        against="onnxruntime 1.20",
        outputs=(
            OutputCheck(name="y", elements=600, mismatches=0, max_abs_diff=0.0, tolerance=0.0),
            OutputCheck(name="z", elements=400, mismatches=0, max_abs_diff=0.0, tolerance=0.0),
        ),
    ),
    notes=("Accuracy was not calibrated.",),
)


def shown(report: Report, slowest: int = 10) -> str:
    console = Console(width=120, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(report_tables(report, slowest=slowest))
    return captured.get()


def test_totals_and_distance_from_the_bounds() -> None:
    text = shown(REPORT)

    assert "net.onnx on simba.toml" in text
    assert "4.09 G" in text
    assert "simulated: 2.00 times that" in text
    assert "simulated: 1.20 times that" in text
    assert "2.50 mJ" in text


def test_energy_is_split_the_largest_part_first() -> None:
    parts = (EnergyPart(part="mac", pj=0.5e9), EnergyPart(part="dram", pj=2e9))
    nothing = EnergyPart(part="network", pj=0.0)

    text = shown(replace(REPORT, totals=replace(REPORT.totals, energy=(*parts, nothing))))

    dram, mac = (next(row for row in text.splitlines() if name in row) for name in ("dram", "mac"))
    assert "2.00 mJ" in dram and "80.0%" in dram
    assert "500.00 uJ" in mac and "20.0%" in mac
    assert text.index(dram) < text.index(mac)
    assert "network" not in text


def test_planned_simulated_and_compulsory_bytes_are_told_apart() -> None:
    lines = {line.strip().split("  ")[0]: line for line in shown(REPORT).splitlines()}

    assert "activations; constants come on top" in lines["off-chip, planned"]
    assert "120 B" in lines["off-chip, simulated"]
    assert "100 B" in lines["off-chip, compulsory"]


def test_a_plan_tells_which_part_of_it_is_constants() -> None:
    plan = GraphScheduleReport(
        budget_bytes=65536,
        status=SolveStatus.FEASIBLE,
        objective_bytes=120,
        bound_bytes=114,
        scope=Scope.ALL_PLANS,
        constant_bytes=70,
    )

    text = shown(replace(REPORT, graph_schedule=plan))

    assert "activations, and 70 B of constants" in text
    assert "(feasible, bound of all plans 114 B, gap 5.3%)" in " ".join(text.split())


def test_scheduled_bytes_are_not_called_simulated() -> None:
    totals = replace(REPORT.totals, cycles_simulated=None)

    text = shown(replace(REPORT, totals=totals))

    assert "off-chip, scheduled" in text
    assert "model: 1.33 times that" in text


def test_only_the_slowest_operators_are_listed() -> None:
    text = shown(REPORT, slowest=2)

    assert "slowest 2 of 5 operators" in text
    assert text.index("op4") < text.index("op3")
    assert "op2" not in text


def test_the_last_line_is_the_verification() -> None:
    last = shown(REPORT).rstrip().splitlines()[-1]

    assert last.rstrip() == "verified: 0 of 1000 elements differ from onnxruntime 1.20"


def test_notes_are_shown() -> None:
    assert "note: Accuracy was not calibrated." in shown(REPORT)


def test_a_report_of_the_first_stage_alone() -> None:
    early = replace(
        REPORT,
        totals=Totals(macs=7),
        operators=(),
        graph_schedule=None,
        verification=Verification(),
        notes=(),
    )
    text = shown(early)

    assert "slowest" not in text
    assert text.rstrip().endswith("not verified")


def test_a_failure_names_the_first_operator() -> None:
    failed = Verification(
        status=VerificationStatus.FAILED,
        against="onnxruntime 1.20",
        outputs=(
            OutputCheck(name="y", elements=10, mismatches=3, max_abs_diff=2.0, tolerance=0.0),
        ),
        first_difference="conv1",
    )

    assert verification_line(failed) == (
        "failed: 3 of 10 elements differ from onnxruntime 1.20; first in conv1"
    )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "B", "-"),
        (0, "B", "0 B"),
        (950, "", "950"),
        (1000, "B", "1.00 kB"),
        (4.09e9, "", "4.09 G"),
        (2.5e-3, "J", "2.50 mJ"),
        (0.0, "J", "0.00 J"),
    ],
)
def test_amount(value: float | None, unit: str, text: str) -> None:
    assert amount(value, unit) == text


def test_counted() -> None:
    assert [counted(n, "spill") for n in (0, 1, 2)] == ["0 spills", "1 spill", "2 spills"]


def test_gaps_are_shares_of_the_bound() -> None:
    assert [percent(gap) for gap in (0.06, -0.0084, -1e-9, None)] == ["6.0%", "-0.8%", "0.0%", "-"]


def test_differences_of_model_and_simulation_are_counted_by_their_first_reason():
    apart = (Reason(Cause.PORT, 40, "dram.port"), Reason(Cause.OVERLAP, 3))
    operators = (
        OperatorReport(name="a", kind="conv2d", difference=0.01),
        OperatorReport(name="b", kind="conv2d", difference=0.2, reasons=apart),
        OperatorReport(name="c", kind="conv2d", difference=-0.02, reasons=apart[1:]),
        OperatorReport(name="d", kind="conv2d", difference=0.3, reasons=apart),
        OperatorReport(name="e", kind="add"),
    )

    line = "model and simulation: 1 of 4 operators within 1%; others differ: 2 by dram.port, 1 by"
    assert difference_line(operators) == f"{line} overlap"
    assert difference_line(operators[:1]) == "model and simulation: 1 of 1 operators within 1%"
    assert line in shown(replace(REPORT, operators=operators))


def test_without_a_simulation_nothing_is_compared():
    assert "model and simulation" not in shown(REPORT)


def test_quantisation_names_the_method_and_the_worst_layers():
    found = QuantizationReport(calibration="a.npz", calibrated=True, snr_db=20.0)
    layers = tuple(LayerNoise(f"layer{number}", 10.0 + number) for number in range(5))

    assert quantization_line(found) == (
        "quantised to int8: 20.0 dB against the float model, ranges from a.npz"
    )
    assert quantization_line(replace(found, method="entropy", layers=layers)) == (
        "quantised to int8: 20.0 dB against the float model, ranges by entropy from a.npz; "
        "worst layers: layer0 10.0 dB, layer1 11.0 dB, layer2 12.0 dB"
    )


def test_accuracy_tells_what_is_known():
    found = Accuracy(data="a.npz", samples=8, top1=0.5, top5=0.75)

    line = "accuracy on 8 examples of a.npz: agrees with the labels on 50.0% (top 5: 75.0%)"
    assert accuracy_line(found) == line
    assert line in " ".join(shown(replace(REPORT, accuracy=found)).split())
