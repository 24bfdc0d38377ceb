"""The script that compiles the zoo tells refusals and verdicts apart."""

import re
from pathlib import Path

import pytest

from tests.benchmarks.scripts import load_script

zoo = load_script("zoo")


def test_a_line_for_each_network_and_a_column_for_each_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = ["--network", "alexnet", "--arch", "edge-fp32", "edge-1m", "--small"]

    code = zoo.main([*arguments, "--output", str(tmp_path)])

    table = (tmp_path / "zoo-small.md").read_text()
    assert code == 0
    assert capsys.readouterr().out == table
    line = table.splitlines()[2]
    assert re.fullmatch(
        r"\| `alexnet` \| verified: [^,]+ Mcycles, [^,]+ MB, \d+ s \| verified: .* dB, .* s \|",
        line,
    )


def test_rows_that_are_known_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    row = zoo.Row(
        network="resnet18", arch="a", verdict="verified", detail="", cycles=3, cpu_seconds=0.5
    )
    zoo.write_rows(tmp_path / "zoo.csv", zoo.Row, [row])
    monkeypatch.setattr(zoo, "_row", lambda *_: pytest.fail("compiled again"))
    arguments = ["--network", "resnet18", "--arch", "a", "--output", str(tmp_path)]

    assert zoo.main([*arguments, "--resume"]) == 0
    assert zoo.read_rows(tmp_path / "zoo.csv", zoo.Row) == [row]


def test_rows_of_small_networks_are_not_taken_for_those_of_full_size(monkeypatch, tmp_path: Path):
    small, full = (
        zoo.Row(network="resnet18", arch="a", verdict="verified", detail=detail) for detail in "sf"
    )
    zoo.write_rows(tmp_path / "zoo-small.csv", zoo.Row, [small])
    monkeypatch.setattr(zoo, "measure", lambda *_, **__: iter([full]))

    assert zoo.main(["--arch", "a", "--resume", "--output", str(tmp_path)]) == 0
    assert zoo.read_rows(tmp_path / "zoo.csv", zoo.Row) == [full]
    assert zoo.read_rows(tmp_path / "zoo-small.csv", zoo.Row) == [small]


def test_a_document_gets_the_table_between_its_marks():
    document = "before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n"

    changed = zoo.with_table(document, "new\n", "a")

    assert changed == "before\n<!-- a -->\n\nnew\n\n<!-- end of a -->\nafter\n"
    assert zoo.with_table(changed, "new\n", "a") == changed
    with pytest.raises(ValueError, match="in the document"):
        zoo.with_table(document, "new", "b")


TABLES = {"--small": zoo.SMALL_TABLE, "": zoo.FULL_TABLE, "--default": zoo.DEFAULT_TABLE}


@pytest.mark.parametrize("name", TABLES.values())
def test_the_document_of_the_zoo_has_the_marks(name: str):
    zoo.with_table(zoo.DOCS.read_text(encoding="utf-8"), "", name)


@pytest.mark.parametrize("option", TABLES)
def test_each_run_has_its_own_table(monkeypatch, tmp_path: Path, option: str):
    row = zoo.Row(network="resnet18", arch="a", verdict="verified", detail="")
    monkeypatch.setattr(zoo, "measure", lambda *_, **__: iter([row]))
    monkeypatch.setattr(zoo, "DOCS", tmp_path / "docs.md")
    marks = {name: f"<!-- {name} -->\n<!-- end of {name} -->\n" for name in TABLES.values()}
    zoo.DOCS.write_text("".join(marks.values()))

    zoo.main(["--arch", "a", "--docs", *option.split(), "--output", str(tmp_path)])

    text = zoo.DOCS.read_text()
    assert "| `resnet18` | verified" in text
    assert {name for name, mark in marks.items() if mark not in text} == {TABLES[option]}


def test_a_refusal_says_why_and_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    refused = zoo.Row(network="resnet18", arch="a", verdict="refused", detail="no LRN")
    monkeypatch.setattr(zoo, "measure", lambda *_, **__: iter([refused]))

    assert zoo.main(["--arch", "a", "--output", str(tmp_path)]) == 0
    assert "refused: no LRN |" in (tmp_path / "zoo.md").read_text()


def test_what_is_not_verified_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    wrong = zoo.Row(network="resnet18", arch="a", verdict="failed", detail="")
    monkeypatch.setattr(zoo, "measure", lambda *_, **__: iter([wrong]))

    assert zoo.main(["--arch", "a", "--output", str(tmp_path)]) == 1
