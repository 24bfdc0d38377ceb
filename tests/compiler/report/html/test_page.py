"""The page is one well-formed file that shows everything, trusts no name and stays small."""

import re
from dataclasses import replace

import pytest

from accnn.compiler.report.html import html_report
from accnn.ir.graph import Op
from accnn.ir.module import Module
from accnn.ir.report import (
    OutputCheck,
    PassRun,
    Report,
    Verification,
    VerificationStatus,
)
from accnn.ir.report import QuantizationReport as QuantizationReport
from tests.compiler.report.html.conftest import Made, report_on
from tests.compiler.report.html.pages import Element, parse
from tests.tiles import tiles_of

SECTIONS = ("verdict", "totals", "time", "table", "scratchpad", "tiles", "energy", "made")


def ids(root: Element) -> list[str]:
    return [item.attrs["id"] or "" for item in root.walk() if "id" in item.attrs]


class TestStructure:
    def test_sections_stand_in_reading_order(self, static: Made):
        sections = [item.attrs.get("id") for item in parse(static.page).all("section")]

        assert sections == list(SECTIONS)

    def test_every_operator_has_a_row_and_a_column(self, static: Made):
        root = parse(static.page)
        rows = [
            item for item in root.all("tbody") if (item.attrs.get("id") or "").startswith("op-")
        ]
        titles = " ".join(item.whole_text for item in root.all("title"))

        assert len(rows) == len(static.report.operators) > 3
        for row, item in zip(rows, static.report.operators, strict=True):
            assert item.name in row.whole_text
            assert f"{item.cycles:,}" in row.whole_text
            assert item.name in titles

    def test_nests_are_written_as_in_the_papers(self, static: Made):
        nests = [item.whole_text for item in parse(static.page).all("pre")]

        mapped = [item for item in static.report.operators if item.nest]
        assert len([text for text in nests if "// dram [W I O]" in text]) == len(mapped) > 0
        assert any("spatial_for" in text for text in nests)

    def test_every_table_has_a_caption_and_every_picture_a_title(self, flexer: Made):
        root = parse(flexer.page)

        assert all(item.all("caption") for item in root.all("table"))
        charts = root.all("figure")
        assert len(charts) > len(tiles_of(flexer.module).graph.operators)
        for chart in charts:
            pictures = chart.all("svg")
            assert all(item.children[0].tag == "title" for item in pictures)
            assert pictures[0].children[1].tag == "desc"
            assert all(item.attrs["role"] == "img" for item in pictures)

    def test_names_within_the_page_are_unique_and_links_lead_somewhere(self, flexer: Made):
        root = parse(flexer.page)
        names = ids(root)
        inner = [link for item in root.all("a") if (link := item.attrs["href"] or "")[0] == "#"]

        assert len(names) == len(set(names))
        assert {link[1:] for link in inner} <= set(names)
        labels = [item.attrs.get("aria-labelledby") or "" for item in root.all("svg")]
        assert {name for label in labels for name in label.split()} <= set(names)

    def test_what_is_needed_to_make_it_again_is_there(self, static: Made):
        made = next(
            item for item in parse(static.page).all("section") if item.attrs["id"] == "made"
        )
        text = made.whole_text

        assert "acc-compile net.onnx --arch simba.toml" in text
        for fact in (static.report.model.sha256, static.report.arch.sha256, "onnxruntime"):
            assert fact in text
        for option in static.report.options:
            assert option.replace("_", "-") in text


class TestSelfContained:
    def test_nothing_is_loaded(self, static: Made):
        root = parse(static.page)
        loads = ("src", "srcset", "data", "action", "formaction", "poster", "xlink:href")

        assert [item.tag for item in root.walk() if set(loads) & set(item.attrs)] == []
        assert not {"link", "img", "iframe", "object", "embed", "base"} & {
            item.tag for item in root.walk()
        }
        links = {item.attrs["href"] for item in root.all("a")}
        outside = {link for link in links if link and "://" in link}
        assert outside == {"https://ui.perfetto.dev"}
        style = root.all("style")[0].text
        assert "url(" not in style
        assert "@import" not in style

    def test_the_policy_allows_our_script_alone(self, static: Made):
        page = static.page
        policy = next(
            item.attrs["content"] or ""
            for item in parse(page).all("meta")
            if item.attrs.get("http-equiv") == "Content-Security-Policy"
        )

        assert "default-src 'none'" in policy
        assert re.search(r"script-src 'sha256-[\w+/]{43}='", policy)
        assert page.count("<script") == 1
        assert not re.search(r"\son\w+=", page)


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></svg></title><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "a\x00b\u202ecod.exe\ud800",
    "x" * 100_000,
)


def renamed(made: Made, hostile: str) -> Made:
    """Return what was made with one operator and its result under another name."""
    victim = made.report.operators[1].name

    def name(text: str) -> str:
        return hostile if text == victim else text

    def op(item: Op) -> Op:
        results = tuple(replace(value, name=name(value.name)) for value in item.results)
        return replace(item, operands=tuple(map(name, item.operands)), results=results)

    module, simulation = made.module, made.simulation
    plan = module.graph_schedule
    assert plan is not None and simulation is not None and module.arch is not None
    graph = replace(module.graph, ops=tuple(map(op, module.graph.ops)))
    plan = replace(
        plan,
        order=tuple(map(name, plan.order)),
        residences=tuple(replace(item, tensor=name(item.tensor)) for item in plan.residences),
        streams=tuple(replace(item, tensor=name(item.tensor)) for item in plan.streams),
    )
    found = tiles_of(module)
    tiles = replace(
        found,
        graph=replace(
            found.graph,
            operators=tuple(map(name, found.graph.operators)),
            ops=tuple(replace(part, operator=name(part.operator)) for part in found.graph.ops),
            tiles=tuple(replace(tile, tensor=name(tile.tensor)) for tile in found.graph.tiles),
        ),
        alone=tuple(replace(item, operator=name(item.operator)) for item in found.alone),
    )
    changed = Module(
        graph=graph,
        arch=module.arch,
        graph_schedule=plan,
        mappings=tuple(replace(item, operator=name(item.operator)) for item in module.mappings),
        tile_schedule=tiles,
    )
    program = replace(simulation.program, operators=tuple(map(name, simulation.program.operators)))
    accounts = tuple(replace(item, name=name(item.name)) for item in simulation.operators)
    ran = replace(simulation, program=program, operators=accounts)
    check = OutputCheck(name=hostile, elements=1, mismatches=1, max_abs_diff=1.0, tolerance=0.0)
    report = replace(
        made.report,
        model=replace(made.report.model, name=hostile),
        arch=replace(made.report.arch, name=hostile),
        options={**made.report.options, "inputs": hostile},
        operators=tuple(replace(item, name=name(item.name)) for item in made.report.operators),
        quantization=QuantizationReport(calibration=hostile, calibrated=True),
        verification=Verification(
            status=VerificationStatus.FAILED,
            against=hostile,
            outputs=(check,),
            first_difference=hostile,
        ),
        notes=(hostile,),
    )
    return Made(report, changed, ran)


class TestNamesFromTheNetwork:
    @pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
    def test_are_text_wherever_they_stand(self, hostile: str, static: Made):
        page = renamed(static, hostile).page
        root = parse(page)
        clean = parse(static.page)

        assert {item.tag for item in root.walk()} == {item.tag for item in clean.walk()}
        assert len(root.all("script")) == 1
        assert not [key for item in root.walk() for key in item.attrs if key.startswith("on")]
        assert "49" not in "".join(item.text for item in root.all("h1"))

    def test_are_shown(self, static: Made):
        text = parse(renamed(static, HOSTILE[0]).page).whole_text

        assert text.count("<script>alert(1)</script>") >= 5

    def test_cannot_hide_or_turn_text(self, static: Made):
        page = renamed(static, HOSTILE[5]).page

        assert not re.search("[\x00\u202e\ud800]", page), re.search(".{60}[\x00\u202e\ud800]", page)
        assert r"a\x00b\u202ecod.exe\ud800" in page
        page.encode("utf-8")

    def test_cannot_blow_the_page_up(self, static: Made):
        assert len(renamed(static, HOSTILE[6]).page) < 2 * len(static.page)


class TestPartialReports:
    def test_of_a_graph_alone(self, static: Made):
        module = Module(graph=static.module.graph, arch=static.module.arch)
        made = report_on(module, until="fold-constants")
        root = parse(made.page)
        text = root.whole_text

        assert [item.attrs["id"] for item in root.all("section")] == [
            "verdict",
            "totals",
            "table",
            "made",
        ]
        assert "Not verified" in text
        for what in ("plan of the scratchpad", "loop nests", "tile schedules", "simulation"):
            assert f"No {what}: the compilation stopped after fold-constants." in text

    def test_without_a_simulation(self, static: Made):
        made = report_on(static.module, verify="off")
        root = parse(made.page)
        text = root.whole_text

        assert "No simulation: --verify=off." in text
        assert "No loop nests" not in text
        assert "the pictures show predicted cycles" in text
        assert "energy" not in [item.attrs["id"] for item in root.all("section")]
        assert "trace.json" not in text

    def test_a_whole_report_lacks_nothing(self, static: Made):
        assert parse(static.page).all("ul", "missing") == []

    @pytest.mark.parametrize(
        ("status", "mismatches", "sentence"),
        [
            (VerificationStatus.VERIFIED, 0, "Verified: 0 of 9 elements differ from there"),
            (VerificationStatus.FAILED, 3, "Failed: 3 of 9 elements differ from there; first in c"),
        ],
    )
    def test_the_verdict_comes_first(
        self, status: VerificationStatus, mismatches: int, sentence: str, static: Made
    ):
        check = OutputCheck(
            name="y", elements=9, mismatches=mismatches, max_abs_diff=2.0, tolerance=0.0
        )
        verification = Verification(
            status=status,
            against="there",
            outputs=(check,),
            first_difference="c" if mismatches else None,
        )
        report = replace(static.report, verification=verification)
        first = parse(html_report(report, static.module)).all("section")[0]

        assert sentence in first.whole_text


def without_seconds(report: Report) -> Report:
    return replace(report, passes=tuple(PassRun(run.name, 0.0) for run in report.passes))


def test_equal_arguments_give_equal_bytes(static: Made):
    assert static.page == static.page


def test_only_seconds_differ_between_two_runs(static: Made):
    slower = replace(static.report, passes=(PassRun("read", 9.0), PassRun("lower", 8.0)))
    pages = [
        html_report(without_seconds(report), static.module, static.simulation)
        for report in (static.report, slower)
    ]

    assert pages[0] == pages[1]


def test_pages_are_small(static: Made, flexer: Made):
    assert len(static.page) < 200_000
    assert len(flexer.page) < 300_000
