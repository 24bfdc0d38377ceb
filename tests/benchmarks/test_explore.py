"""The benchmark of studies answers the same tasks in every state."""

from pathlib import Path

import pytest

from tests.benchmarks.scripts import load_script


def test_one_architecture_in_every_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    script = load_script("explore")
    output = tmp_path / "rows.csv"

    code = script.main(["--points", "1", "--processes", "1", "--output", str(output)])

    assert code == 0
    lines = [line.split(",") for line in output.read_text().splitlines()]
    assert [(line[4], line[6]) for line in lines] == [
        ("executor", "state"),
        ("local", "cold"),
        ("loop", "warm"),
        ("loop", "again"),
        ("local", "warm"),
    ]
    assert {line[3] for line in lines[1:]} == {"24"}
    assert capsys.readouterr().out.count("Row(") == 4
