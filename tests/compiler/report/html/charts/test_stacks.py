"""Columns of energy and bytes: every part in its place, as high as its figure."""

from accnn.compiler.report.html.charts.stacks import energy_chart, traffic_chart
from accnn.ir.report import EnergyPart, OperandTraffic, OperatorReport
from accnn.ir.workload import Operand

OPERATORS = (
    OperatorReport(
        name="a",
        kind="conv2d",
        energy=(EnergyPart(part="dram", pj=60.4), EnergyPart(part="mac", pj=20.0)),
        traffic=(
            OperandTraffic(level="dram", operand=Operand.W, read_bytes=5, written_bytes=0),
            OperandTraffic(level="gb", operand=Operand.I, read_bytes=7, written_bytes=8),
            OperandTraffic(level="dram", operand=Operand.O, read_bytes=1, written_bytes=4),
        ),
    ),
    OperatorReport(
        name="b",
        kind="relu",
        energy=(EnergyPart(part="dram", pj=0.0), EnergyPart(part="mac", pj=40.0)),
    ),
)


def test_parts_of_the_energy_stand_on_each_other() -> None:
    chart = energy_chart(OPERATORS)
    assert chart is not None
    (panel,) = chart.panels

    assert panel.extent == 80
    assert [(mark.operator, mark.path) for mark in panel.marks] == [
        (0, "M1 20h8v60h-8z"),
        (0, "M1 0h8v20h-8z"),
        (1, "M11 40h8v40h-8z"),
    ]
    dram, mac, other_mac = (mark.look for mark in panel.marks)
    assert dram != mac == other_mac
    assert [key.meaning for key in chart.legend] == ["dram", "mac"]
    assert "most of it in dram: 50%" in chart.description
    assert "20.00 pJ of 80.00 pJ (25%)" in panel.marks[1].title


def test_bytes_of_a_level_are_those_of_all_operands_both_ways() -> None:
    chart = traffic_chart(OPERATORS)
    assert chart is not None

    assert [mark.path for mark in chart.panels[0].marks] == ["M1 15h8v10h-8z", "M1 0h8v15h-8z"]
    assert "25 B in all operators together, most of it in gb: 60%" in chart.description


def test_where_nothing_is_known_nothing_is_drawn() -> None:
    assert energy_chart(()) is None
    assert traffic_chart(OPERATORS[1:]) is None
    assert energy_chart(OPERATORS[1:]) is not None
