"""The script that compiles the zoo tells refusals and verdicts apart."""

from pathlib import Path

import pytest

from tests.benchmarks.scripts import load_script

zoo = load_script("zoo")


def test_a_line_for_each_network_and_a_column_for_each_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = ["--network", "squeezenet", "--arch", "edge-fp32", "edge-1m", "--small"]

    code = zoo.main([*arguments, "--output", str(tmp_path)])

    table = (tmp_path / "zoo.md").read_text()
    assert code == 0
    assert capsys.readouterr().out == table
    line = table.splitlines()[2]
    assert line.startswith("| squeezenet | 1,248,424 | 0.819 | 65 | torchvision | verified | ")
    assert line.endswith(" dB |")


def test_a_refusal_says_why_and_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    refused = zoo.Row(network="resnet18", arch="a", verdict="refused", detail="no LRN")
    monkeypatch.setattr(zoo, "measure", lambda *_, small: iter([refused]))

    assert zoo.main(["--arch", "a", "--output", str(tmp_path)]) == 0
    assert "refused: no LRN |" in (tmp_path / "zoo.md").read_text()


def test_what_is_not_verified_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    wrong = zoo.Row(network="resnet18", arch="a", verdict="failed", detail="")
    monkeypatch.setattr(zoo, "measure", lambda *_, small: iter([wrong]))

    assert zoo.main(["--arch", "a", "--output", str(tmp_path)]) == 1
