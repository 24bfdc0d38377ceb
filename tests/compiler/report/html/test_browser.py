"""The page in a real browser: whole at any width, light and dark, and its script does its work."""

from dataclasses import replace
from pathlib import Path

import pytest

from accnn.compiler.report.comparison import compare
from accnn.compiler.report.html import comparison_page
from tests.compiler.report.html.browser import look, why_not
from tests.compiler.report.html.conftest import Made
from tests.thinned import thinned

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is a browser")

OVERFLOWS = """(() => {
  const width = document.documentElement.clientWidth, found = [];
  const scrolls = (item) => {
    for (let it = item.parentElement; it; it = it.parentElement)
      if (getComputedStyle(it).overflowX !== "visible") return true;
    return false;
  };
  for (const item of document.body.querySelectorAll("*")) {
    const box = item.getBoundingClientRect();
    if (box.width && box.right > width + 1 && !scrolls(item))
      found.push(`${item.tagName} ${item.id} ${Math.round(box.right)} of ${width}`);
  }
  return found;
})()"""
COVERED = """(() => {
  const found = [];
  for (const item of document.querySelectorAll(".labels")) {
    const boxes = [...item.querySelectorAll("span")].map((it) => it.getBoundingClientRect());
    boxes.sort((a, b) => a.top - b.top);
    for (let at = 1; at < boxes.length; at++)
      if (boxes[at].top < boxes[at - 1].bottom - 2) found.push(item.textContent);
    for (const box of boxes) if (box.left < 0) found.push(item.textContent);
  }
  return found;
})()"""
SCROLLED = """[...document.querySelectorAll(".wide")]
  .filter((it) => it.scrollWidth > it.clientWidth)
  .map((it) => `${it.closest("section").id}: ${it.scrollWidth} of ${it.clientWidth}`)"""
CUT_TEXTS = """[...document.querySelectorAll("p, caption:not(.hide)")]
  .filter((it) => it.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((it) => it.textContent)"""
SHOWN = """[...document.querySelectorAll("#table tbody:not([hidden]) th bdi")].length"""
CYCLES = """[...document.querySelectorAll("#table td.meter")].map((it) => Number(it.dataset.v))"""


@pytest.fixture(scope="module")
def page(flexer: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(flexer.page, encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "dark"), [*thinned([1280, 390], [False, True])])
def test_nothing_is_cut_off_or_blank_and_nothing_fails(page: Path, width: int, dark: bool):
    seen = look(
        page,
        {
            "overflows": OVERFLOWS,
            "covered": COVERED,
            "open": 'document.querySelectorAll("details").forEach((it) => { it.open = true; })',
            "overflows when open": OVERFLOWS,
            "covered when open": COVERED,
            "is dark": 'matchMedia("(prefers-color-scheme: dark)").matches',
            "ground": "getComputedStyle(document.body).backgroundColor",
            "shown": 'document.getElementById("time").scrollIntoView()',
        },
        width=width,
        dark=dark,
    )

    assert seen.console == ()
    assert (seen.answers["overflows"], seen.answers["covered"]) == ([], [])
    assert (seen.answers["overflows when open"], seen.answers["covered when open"]) == ([], [])
    assert seen.answers["is dark"] == dark
    assert seen.answers["ground"] == ("rgb(23, 24, 27)" if dark else "rgb(252, 252, 250)")
    assert seen.colours > 20


def test_tables_of_long_names_are_whole_at_1280_and_texts_at_390(flexer: Made, tmp_path: Path):
    """Tables scroll on small screens; what explains them does not."""
    operators = tuple(
        replace(
            item,
            nodes=(f"model.layers.{number}.expand1x1.conv", "relu"),
            kind="quantize+conv2d+max_pool+concat",
            mapper=item.mapper and "output-stationary",
            cycles=item.cycles and 10_000_000 + item.cycles,
        )
        for number, item in enumerate(flexer.report.operators)
    )
    path = tmp_path / "long.html"
    made = replace(flexer, report=replace(flexer.report, operators=operators))
    path.write_text(made.page, encoding="utf-8")

    wide = look(path, {"scrolled": SCROLLED, "cut": CUT_TEXTS})
    narrow = look(path, {"cut": CUT_TEXTS}, width=390)

    assert (wide.answers["scrolled"], wide.answers["cut"]) == ([], [])
    assert narrow.answers["cut"] == []


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 390])
def test_two_runs_side_by_side(flexer: Made, across: Made, tmp_path: Path, width: int):
    path = tmp_path / "both.html"
    path.write_text(comparison_page(compare(flexer.report, across.report)), encoding="utf-8")

    seen = look(path, {"overflows": OVERFLOWS, "covered": COVERED}, width=width)

    assert seen.console == ()
    assert (seen.answers["overflows"], seen.answers["covered"]) == ([], [])
    assert seen.colours > 20


def test_what_is_cut_off_or_fails_is_noticed(tmp_path: Path):
    path = tmp_path / "bad.html"
    path.write_text('<p style="width:2000px">&nbsp;</p><script>nothing.there()</script>')

    seen = look(path, {"overflows": OVERFLOWS}, width=390)

    assert seen.answers["overflows"] == ["P  2008 of 390"]
    assert "nothing is not defined" in " ".join(seen.console)
    assert seen.colours < 20


def test_tables_sort_and_filter(page: Path, flexer: Made):
    heads = '[...document.querySelectorAll("#table thead button")]'
    head = f'{heads}.find((it) => it.textContent === "cycles")'
    field = """(() => {
      const field = document.querySelector("#table .filter");
      field.value = "conv2d";
      return field.dispatchEvent(new Event("input"));
    })()"""
    seen = look(
        page,
        {
            "first": CYCLES,
            "sort": f"{head}.click()",
            "falling": CYCLES,
            "again": f"{head}.click()",
            "rising": CYCLES,
            "type": field,
            "filtered": SHOWN,
        },
    )

    cycles = [item.cycles or 0 for item in flexer.report.operators]
    assert seen.answers["first"] == cycles
    assert seen.answers["falling"] == sorted(cycles, reverse=True)
    assert seen.answers["rising"] == sorted(cycles)
    kinds = [item.kind for item in flexer.report.operators]
    assert 0 < seen.answers["filtered"] == sum("conv2d" in kind for kind in kinds) < len(kinds)
    assert seen.console == ()


def test_the_network_is_coloured_by_what_is_chosen(page: Path):
    visible = """["cycles", "bytes", "energy"].filter((by) => {
      const item = document.querySelector(`#network text.by-${by}`);
      return getComputedStyle(item).display !== "none";
    })"""
    seen = look(
        page,
        {
            "first": visible,
            "choose": 'document.querySelector("#network [value=energy]").click()',
            "then": visible,
            "click": 'document.querySelector("#network a").dispatchEvent(new MouseEvent("click"))',
            "where": "location.hash",
            "is open": 'document.querySelector("#op-0 details").open',
        },
    )

    assert (seen.answers["first"], seen.answers["then"]) == (["cycles"], ["energy"])
    assert seen.answers["where"] == "#op-0"
    assert seen.answers["is open"]


def test_charts_zoom_and_columns_lead_to_their_rows(page: Path):
    plot = 'document.querySelector("#run svg.plot")'
    event = 'new PointerEvent("{0}", {{bubbles: true, clientX: 10, clientY: 10}})'
    column = 'document.querySelector("#operators path[data-op=\\"1\\"]")'
    seen = look(
        page,
        {
            "before": f"{plot}.viewBox.baseVal.width",
            "zoom": 'document.querySelector("#run [data-zoom=\\"2\\"]").click()',
            "after": f"{plot}.viewBox.baseVal.width",
            "up": f"{column}.dispatchEvent({event.format('pointerup')})",
            "lit": '[...document.querySelectorAll("tbody.lit")].map((it) => it.id)',
        },
    )

    assert seen.answers["after"] == pytest.approx(seen.answers["before"] / 2)
    assert seen.answers["lit"] == ["op-1"]
