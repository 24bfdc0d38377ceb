"""The roofline chart: where operators lie, and where the roof does."""

import math
import re
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.report.binding import Binding
from accnn.compiler.report.html.charts.roofline import roofline_chart, roofline_points
from accnn.ir.report import OperatorReport

ARCH = load_architecture("simba")
BANDWIDTH = ARCH.off_chip.read_bandwidth or 0
BOX = re.compile(r"M(-?\d+) (-?\d+)h(\d+)v(\d+)h-\d+z")
ROOF = re.compile(r"M(-?\d+) (-?\d+)L(-?\d+) (-?\d+)H(-?\d+)")


def operator(use: float, cycles: int, moved: int | None) -> OperatorReport:
    return OperatorReport(
        name="y", kind="conv2d", cycles=cycles, utilization=use, offchip_bytes=moved
    )


def test_points_are_macs_over_bytes_and_cycles() -> None:
    rows = [operator(0.5, 1000, 2000), operator(0.0, 5, 5), operator(0.5, 1000, 0)]

    (point,) = roofline_points(rows, ARCH)

    assert (point.operator, point.speed) == (0, 0.5 * ARCH.all_macs)
    assert math.isclose(point.intensity, 0.5 * 1000 * ARCH.all_macs / 2000)


@pytest.mark.parametrize("moved", [100, 10_000, 10_000_000])
def test_an_operator_at_the_bandwidth_lies_on_the_roof_and_none_above(moved: int) -> None:
    cycles = math.ceil(moved / BANDWIDTH)
    use = min(1.0, 0.25)
    chart = roofline_chart([operator(use, cycles, moved)], [Binding.DMA], ARCH)

    assert chart is not None
    roof, point = chart.panels[0].marks
    left, top, right, knee, _ = map(int, ROOF.fullmatch(roof.path).groups())  # pyright: ignore[reportOptionalMemberAccess]
    x, y, wide, tall = map(int, BOX.fullmatch(point.path).groups())  # pyright: ignore[reportOptionalMemberAccess]
    middle = (x + wide / 2, y + tall / 2)
    on_roof = knee + max(0, right - middle[0])
    assert abs(middle[1] - on_roof) < 0.02 * chart.panels[0].extent + 50
    assert top - knee == right - left
    assert chart.start <= x <= x + wide <= chart.end
    assert 0 <= y <= y + tall <= chart.panels[0].extent


@pytest.mark.parametrize(
    ("written", "most"), [(3 * BANDWIDTH, f"{4 * BANDWIDTH:g} bytes a cycle"), (None, None)]
)
def test_ways_with_ports_of_their_own_move_bytes_at_once(
    written: float | None, most: str | None
) -> None:
    dram = replace(ARCH.off_chip, shared_port=False, write_bandwidth=written)
    arch = replace(ARCH, levels=(dram, *ARCH.levels[1:]))

    chart = roofline_chart([operator(0.25, 100, 100)], [Binding.DMA], arch)

    assert most in chart.description if chart else most is None


def test_without_operators_or_bandwidth_there_is_no_chart() -> None:
    unbounded = replace(
        ARCH, levels=(replace(ARCH.levels[0], read_bandwidth=None), *ARCH.levels[1:])
    )

    assert roofline_chart([], [], ARCH) is None
    assert roofline_chart([operator(0.5, 10, 10)], [Binding.DMA], unbounded) is None
