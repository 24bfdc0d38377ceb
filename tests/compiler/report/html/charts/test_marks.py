"""Paths are short and exact; ticks are round."""

import pytest

from accnn.compiler.report.html.charts.marks import bars, boxes, round_figures
from tests.compiler.report.html.pages import Element, bars_of, boxes_of


def path(commands: str) -> Element:
    return Element("path", {"d": commands})


def test_bars_read_back():
    spans = [(5, 9), (9, 12), (100, 101)]

    assert bars(spans, 9) == "M5 9h4m0 0h3m88 0h1"
    assert bars_of(path(bars(spans, 9))) == spans


def test_boxes_read_back():
    items = [(5, 9, 0, 4), (2, 3, 10, 20)]

    assert boxes_of(path(boxes(items))) == items


def test_nothing_is_an_empty_path():
    assert bars([], 0) == boxes([]) == ""


@pytest.mark.parametrize(
    ("start", "end", "figures"),
    [
        (0, 8, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (0, 9, [0, 2, 4, 6, 8]),
        (0, 40, [0, 5, 10, 15, 20, 25, 30, 35, 40]),
        (103, 190, [120, 140, 160, 180]),
        (7, 7, [7]),
    ],
)
def test_ticks_are_round(start: int, end: int, figures: list[int]):
    assert list(round_figures(start, end)) == figures
