"""The table of operators fits the terminal."""

import re
from dataclasses import replace

import pytest
from rich.console import Console

from accnn.compiler.report.operator_table import OperatorTable, labels, shorten
from accnn.ir.graph_schedule import SolveStatus
from accnn.ir.proof import Scope
from accnn.ir.report import OperatorReport

OPERATORS = tuple(
    OperatorReport(
        name=f"a/very/long/scope/of/layer{number}.0.downsample.conv_QuantizeLinear_Output",
        kind=kind,
        mapper="output-stationary",
        status=SolveStatus.HEURISTIC,
        cycles=923_790 + number,
        cycles_lower_bound=75_000,
        energy_pj=197.62e6,
        utilization=1.0,
    )
    for number, kind in enumerate(("conv2d", "global_avg_pool"))
)


def lines(width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(OperatorTable(OPERATORS, 10))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 200])
def test_numbers_are_whole_in_one_line(width: int):
    rows = [line for line in lines(width) if "923,79" in line]

    assert len(rows) == len(OPERATORS)
    for row in rows:
        assert re.search(r"923,79[01] ", row)
        assert "12.32" in row
        assert "100%" in row
        assert "197.62 uJ" in row
        assert len(row) <= width


@pytest.mark.parametrize(("width", "is_shown"), [(80, False), (120, True)])
def test_the_mapper_is_shown_where_there_is_room(width: int, is_shown: bool):
    assert ("output-stationary" in "\n".join(lines(width))) is is_shown


def test_operators_are_called_by_their_nodes_unless_two_would_be_called_alike():
    nodes = (("conv1", "relu1"), ("conv2",), ("split",), ("split",), ())
    operators = [
        replace(OPERATORS[0], name=f"t{number}_QuantizeLinear_Output", nodes=of)
        for number, of in enumerate(nodes)
    ]

    assert list(labels(operators).values()) == ["conv1 +1", "conv2", "t2", "t3", "t4"]


@pytest.mark.parametrize(
    ("nodes", "called"),
    [
        (("x_QuantizeLinear", "conv1", "relu1"), "conv1 +1"),
        (("conv1", "y_DequantizeLinear"), "conv1"),
        (("y_DequantizeLinear",), "y_DequantizeLinear"),
        (("scores_QuantizeLinear_Input",), "scores"),
        ((), "t"),
    ],
)
def test_what_the_quantiser_added_names_no_operator_of_the_user(
    nodes: tuple[str, ...], called: str
):
    operator = replace(OPERATORS[0], name="t_QuantizeLinear_Output", nodes=nodes)

    assert list(labels((operator,)).values()) == [called]


def test_names_are_not_markup():
    named = replace(OPERATORS[0], name="[/bold]a[red]")
    console = Console(width=100)
    with console.capture() as captured:
        console.print(OperatorTable((named,), 10))

    assert "[/bold]a[red]" in captured.get()


def test_both_ends_of_a_name_are_kept():
    row = next(line for line in lines(80) if "conv2d" in line)

    assert row.startswith("a/")
    assert "conv " in row
    assert "QuantizeLinear" not in row


def test_shorten_keeps_what_fits():
    assert shorten("conv1", 5) == "conv1"
    assert shorten("layer1.conv1", 7) == "lay…nv1"
    assert len(shorten("x" * 50, 20)) == 20


@pytest.mark.parametrize(("width", "is_shown"), [(50, False), (120, True)])
def test_what_a_status_is_proven_of_is_said_where_there_is_one(width: int, is_shown: bool):
    operator = replace(OPERATORS[0], scope=Scope.EVEN_NESTS)
    console = Console(width=width)
    with console.capture() as captured:
        console.print(OperatorTable((operator,), 10))

    assert ("status" in captured.get()) is is_shown
    assert ("heuristic: among even nests" in captured.get()) is is_shown
