"""The table of layers shows every heading and name as it is."""

from dataclasses import replace

import pytest
from rich.console import Console

from accnn.compiler.report.layer_table import Row, table_of

ROW = Row(
    layer="R=3 K=64",
    mapper="cosa",
    cycles=2000.0,
    energy_pj=4e6,
    edp=8e9,
    cycles_lower_bound=1000.0,
    energy_lower_bound_pj=1e6,
    status="optimal",
    bound=1990.0,
    scope="even nests, these extents",
    gap=2000 / 1990 - 1,
    solve_seconds=0.5,
    cpu_seconds=0.5,
)


def shown(*rows: Row, width: int = 150) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table_of(rows, width))
    return captured.get()


def test_figures_have_units():
    text = shown(ROW)

    assert "4.00 uJ" in text and "4.000" in text  # and times the bound
    assert "2.000" in text


def test_what_is_proven_stands_beside_of_which_nests():
    heuristic = replace(ROW, status="heuristic", bound=None, scope="", gap=None)

    text = shown(ROW, heuristic)

    assert "0.50%" in text
    assert "optimal: among even nests, these extents" in text
    assert "among" not in shown(heuristic)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_figures_are_whole_on_narrow_terminals(width: int):
    row = replace(ROW, layer="R=3 S=3 P=56 Q=56 C=64 K=64", mapper="output-stationary")

    lines = shown(replace(row, cycles=123_456_789.0), width=width).splitlines()

    assert max(map(len, lines)) <= width
    for figure in ("123,456,789", "4.00 uJ", "4.000", "optimal"):
        assert any(f"{figure} " in f"{line} " for line in lines)


def test_names_are_not_markup():
    assert "[/bold][red]" in shown(replace(ROW, layer="[/bold][red]"))


def test_machines_without_energies_have_no_ratio_of_energies():
    free = replace(ROW, energy_pj=0.0, edp=0.0, energy_lower_bound_pj=0.0)

    lines = shown(free, replace(free, layer="R=1 K=8")).splitlines()

    layers = [line.split() for line in lines if "cosa" in line]
    assert [line.count("-") for line in layers] == [1, 1, 1]
    assert [line.count("2.000") for line in layers] == [1, 1, 1]
