"""The table of a run over the mesh: names give way to the terminal, then columns, never digits."""

from dataclasses import replace

import pytest
from rich.console import Console

from accnn.compiler.report.mesh_table import MeshTable, mesh_line
from accnn.ir.mesh_report import MeshLink, MeshOperator, MeshReport

NAME = "layer3.0.downsample.convolution_with_a_long_name"
OPERATORS = (
    MeshOperator(name=NAME, cycles=12_345_678, analytical_cycles=6_172_839, compute=75, dram=25),
    MeshOperator(name="fc", cycles=10, analytical_cycles=10),
)
MESH = MeshReport(
    columns=4,
    rows=4,
    cycles=12_345_688,
    analytical_cycles=6_172_849,
    serial_cycles=20_000_000,
    operators=OPERATORS,
    links=(),
    hop_flits=0,
    network_pj=0.0,
)


def lines(width: int, shown: int = 10) -> list[str]:
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(MeshTable(MESH, {"fc": "classifier"}, shown))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_digit_is_cut(width: int) -> None:
    text = lines(width)

    assert max(map(len, text)) <= width
    row = next(line for line in text if "12,345,678" in line)
    assert row.startswith("layer3.0"[:5]) and "75%" in row
    assert ("2.00" in row) == (width >= 80)
    assert (NAME in row) == (width == 120)


def test_a_hop_without_a_price_is_not_free() -> None:
    links = (MeshLink(begin=(0, 0), end=(1, 0), flits=3),)
    free = replace(MESH, links=links, hop_flits=3)

    assert "mesh: 3 flits times hops, without a price; busiest" in mesh_line(free)
    assert "hops, 24.00 pJ; busiest" in mesh_line(replace(free, network_pj=24.0))


def test_names_are_those_for_people_and_unknown_shares_are_dashes() -> None:
    classifier = next(line for line in lines(80) if line.startswith("classifier"))

    assert classifier.split()[1:3] == ["10", "1.00"]
    assert set(classifier.split()[3:]) == {"-"}
    assert not any(line.startswith("classifier") for line in lines(80, shown=1))
