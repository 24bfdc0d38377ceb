"""The page of two runs: all operators of both, the largest differences first, names escaped."""

from accnn.compiler.report.comparison import compare
from accnn.compiler.report.html import comparison_page
from accnn.ir.report import FileIdentity, OperatorReport, Report, Totals
from tests.compiler.report.html.pages import parse

EVIL = "<script>alert(1)</script>"


def report(model: str, **cycles: int) -> Report:
    return Report(
        version="0",
        model=FileIdentity(model, "0" if model == "net.onnx" else "1"),
        arch=FileIdentity("simba.toml", "1"),
        options={},
        seed=0,
        totals=Totals(macs=1, cycles_simulated=sum(cycles.values()), offchip_bytes=50),
        operators=tuple(
            OperatorReport(name=name, kind="conv2d", cycles_simulated=count)
            for name, count in cycles.items()
        ),
    )


def page(first: Report, second: Report) -> str:
    return comparison_page(compare(first, second))


def test_every_operator_has_a_row_and_a_column_in_each_run() -> None:
    root = parse(page(report("net.onnx", a=10, b=20, c=5), report("net.onnx", a=15, b=60, c=5)))

    rows = [[cell.whole_text for cell in body.all("td")] for body in root.all("tbody")]
    names = [body.all("bdi")[0].whole_text for body in root.all("tbody")]
    assert names == ["all", "b", "a", "c"]
    assert [row[2:5] for row in rows] == [
        ["35", "80", "2.29"],
        ["20", "60", "3.00"],
        ["10", "15", "1.50"],
        ["5", "5", "1.00"],
    ]
    (chart,) = root.all("figure", "chart")
    paths = [item.attrs["d"] for item in chart.all("path")]
    assert paths == [
        "M1 50h8v10h-8z",
        "M11 40h8v20h-8z",
        "M21 55h8v5h-8z",
        "M1 45h8v15h-8z",
        "M11 0h8v60h-8z",
        "M21 55h8v5h-8z",
    ]
    assert "B takes 2.29 times the cycles, 1.00 times the bytes of A" in root.whole_text
    assert "not the same file" not in root.whole_text


def test_other_networks_are_compared_by_name_and_what_one_has_not_is_unknown() -> None:
    text = page(report("net.onnx", a=10, b=1), report("other.onnx", a=12, c=9))
    root = parse(text)

    assert "not the same file" in root.whole_text
    rows = {body.all("bdi")[0].whole_text: body for body in root.all("tbody")}
    assert [cell.whole_text for cell in rows["c"].all("td")][2:5] == ["-", "9", "-"]
    assert [cell.whole_text for cell in rows["b"].all("td")][2:5] == ["1", "-", "-"]


def test_names_are_text_and_only_our_script_may_run() -> None:
    text = page(report("net.onnx", **{EVIL: 3}), report("net.onnx", **{EVIL: 4}))

    assert EVIL not in text
    assert len(parse(text).all("script")) == 1
    assert "default-src 'none'" in text


def test_where_nothing_ran_there_is_no_picture() -> None:
    empty = report("net.onnx")

    assert not parse(page(empty, empty)).all("figure")
    assert "B takes" in page(empty, empty)
