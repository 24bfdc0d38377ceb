"""The command line of the conformance runner."""

import json
import sys
from pathlib import Path

import pytest

from accnn.compiler.conformance.__main__ import main

RELU = ("--operator", "Relu", "--processes", "1")


def test_writes_tables_verdicts_and_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    files = {name: tmp_path / name for name in ("page.md", "all.json", "passed.txt")}
    outputs = zip(("--markdown", "--json", "--passed"), map(str, files.values()), strict=True)

    code = main([*RELU, *(text for pair in outputs for text in pair)])

    assert code == 0
    assert "| Relu | 1 |" in files["page.md"].read_text()
    assert "test_relu" in files["passed.txt"].read_text()
    assert json.loads(files["all.json"].read_text())["cases"]
    assert capsys.readouterr().out == ""


def test_shows_the_page_where_no_file_is_given(capsys: pytest.CaptureFixture[str]):
    main([*RELU])

    shown = capsys.readouterr()
    assert "# Conformance" in shown.out
    assert shown.err == ""


def test_counts_the_cases_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    main([*RELU])

    assert "2/2\n" in capsys.readouterr().err


def test_a_listed_case_that_does_not_pass_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    listed = tmp_path / "passed.txt"
    listed.write_text("StringConcat: test_string_concat\n")

    code = main(["--operator", "StringConcat", "--processes", "1", "--keep", str(listed)])

    assert code == 1
    assert "test_string_concat no longer passes: unsupported" in capsys.readouterr().err


def test_a_missing_list_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*RELU, "--keep", str(tmp_path / "none.txt")]) == 2
    assert "no such file" in capsys.readouterr().err
