"""The table of two runs fits the terminal, and its figures are whole."""

import pytest
from rich.console import Console

from accnn.compiler.report.comparison import compare
from accnn.compiler.report.comparison_table import comparison_tables
from accnn.ir.report import FileIdentity, OperatorReport, Report, Totals


def report(factor: int) -> Report:
    operator = OperatorReport(
        name="a/very/long/scope/of/layer3.0.downsample.conv",
        kind="conv2d",
        cycles_simulated=61_728_394 * factor,
        energy_pj=99.31e6 * factor,
        offchip_bytes=55_555 * factor,
    )
    totals = Totals(
        macs=1, cycles_simulated=61_728_394 * factor, energy_pj=99.31e6, offchip_bytes=55_555
    )
    return Report(
        version="0",
        model=FileIdentity("net.onnx", "0"),
        arch=FileIdentity("simba.toml", "1"),
        options={},
        seed=0,
        totals=totals,
        operators=(operator,),
    )


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_figures_are_whole(width: int) -> None:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(comparison_tables(compare(report(1), report(2)), shown=5, width=width))
    lines = captured.get().splitlines()

    (row,) = (line for line in lines if line.startswith("a/"))
    assert max(map(len, lines)) <= width
    for figure in ("61,728,394", "123,456,788", "2.00"):
        assert figure in row.split()
    assert ("99.31 uJ" in row) is (width >= 118)
