"""Two reports side by side: operators by name, groups with what they are made of."""

from dataclasses import replace

import pytest

from accnn.compiler.report.comparison import ComparedFigure, compare
from accnn.ir.report import FileIdentity, OperatorReport, Report, Totals


def step(
    name: str, cycles: int | None, *members: str, energy: float | None = 1.0
) -> OperatorReport:
    return OperatorReport(
        name=name,
        kind="conv2d",
        cycles_simulated=cycles,
        cycles_predicted=7,
        energy_pj=energy,
        offchip_bytes=10,
        members=members,
    )


def report(*steps: OperatorReport, cycles: int = 100, model: str = "0") -> Report:
    return Report(
        version="0",
        model=FileIdentity("net.onnx", model),
        arch=FileIdentity("simba.toml", "1"),
        options={},
        seed=0,
        totals=Totals(macs=1, cycles_model=9, cycles_simulated=cycles, offchip_bytes=50),
        operators=steps,
    )


def test_totals_and_operators_have_ratios() -> None:
    found = compare(report(step("a", 10)), report(step("a", 25), cycles=150))

    assert found.cycles == ComparedFigure(100, 150, 1.5)
    assert found.offchip_bytes == ComparedFigure(50, 50, 1.0)
    assert found.energy_pj == ComparedFigure(None, None, None)
    (row,) = found.operators
    assert (row.operators, row.in_first, row.in_second) == (("a",), 1, 1)
    assert row.cycles == ComparedFigure(10, 25, 2.5)


def test_a_group_stands_beside_what_it_is_made_of() -> None:
    apart = report(step("a", 10), step("b", 20), step("c", 5))
    joined = report(step("b", 24, "a", "b"), step("c", 5))

    first, second = compare(apart, joined).operators

    assert (first.operators, first.in_first, first.in_second) == (("a", "b"), 2, 1)
    assert first.cycles == ComparedFigure(30, 24, 0.8)
    assert first.offchip_bytes == ComparedFigure(20, 10, 0.5)
    assert second.operators == ("c",)


def test_groups_that_overlap_are_one_row() -> None:
    found = compare(
        report(step("b", 1, "a", "b"), step("d", 2, "c", "d")),
        report(step("a", 4), step("c", 5, "b", "c"), step("d", 6)),
    )

    (row,) = found.operators
    assert (row.in_first, row.in_second) == (2, 3)
    assert row.cycles == ComparedFigure(3, 15, 5.0)


def test_what_only_one_run_has_is_kept() -> None:
    first, second = compare(report(step("a", 10)), report(step("z", 3))).operators

    assert (first.operators, first.cycles) == (("a",), ComparedFigure(10, None, None))
    assert (second.operators, second.cycles) == (("z",), ComparedFigure(None, 3, None))


def test_the_quantisers_suffix_does_not_count() -> None:
    found = compare(report(step("a_QuantizeLinear_Output", 10)), report(step("a", 20)))

    (row,) = found.operators
    assert (row.operators, row.cycles.ratio) == (("a",), 2.0)


@pytest.mark.parametrize(("cycles", "expected"), [(10, 10), (None, 7)])
def test_cycles_are_predicted_where_nothing_ran(cycles: int | None, expected: int) -> None:
    (row,) = compare(report(step("a", cycles)), report(step("a", cycles))).operators

    assert row.cycles.first == expected


def test_a_figure_that_is_unknown_in_part_is_unknown() -> None:
    apart = report(step("a", 10), step("b", 20, energy=None))

    (row,) = compare(apart, report(step("b", 24, "a", "b"))).operators

    assert row.energy_pj == ComparedFigure(None, 1.0, None)


def test_zero_has_no_ratio() -> None:
    (row,) = compare(report(step("a", 0)), report(step("a", 5))).operators

    assert row.cycles == ComparedFigure(0, 5, None)


def test_networks_are_the_same_byte_for_byte() -> None:
    one = report(step("a", 1))

    assert compare(one, replace(one, seed=1)).same_model
    assert not compare(one, report(step("a", 1), model="other")).same_model


def test_rows_are_called_by_onnx_nodes() -> None:
    one = replace(step("c_QuantizeLinear_Output", 10), nodes=("x_QuantizeLinear", "conv1"))

    (row, other) = compare(report(one, step("d", 1)), report(one, step("d", 1))).operators

    assert (row.called, row.operators) == ("conv1", ("c",))
    assert other.called == "d"


def test_a_bundle_is_called_by_the_longest_step_of_the_first_run() -> None:
    alone = replace(step("y", 394), nodes=("conv", "last"))
    conv = replace(step("c", 280, "y"), nodes=("conv",))
    last = replace(step("y", 8), nodes=("last",))

    (row,) = compare(report(alone), report(conv, last)).operators
    (turned,) = compare(report(conv, last), report(alone)).operators

    assert (row.called, turned.called) == ("conv +1", "conv")
