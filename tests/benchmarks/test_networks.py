"""The script that measures the zoo runs, and tells by its exit code."""

from pathlib import Path
from types import ModuleType

import pytest

from accnn.models.zoo.build import build
from tests.benchmarks.scripts import load_script


@pytest.fixture(scope="module")
def networks() -> ModuleType:
    return load_script("networks")


@pytest.mark.slow
def test_a_row_per_network_and_machine(
    networks: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(
        networks, "build", lambda name, image_size: build(name, image_size=image_size, width=0.125)
    )
    arguments = ["--network", "alexnet", "--image-size", "64", "--output", str(tmp_path)]
    arguments += ["--mapper", "output-stationary"]

    code = networks.main([*arguments, "--arch", "edge-1m", "simba"])

    table = (tmp_path / "networks.md").read_text()
    assert code == 0
    assert capsys.readouterr().out == table
    assert len(table.splitlines()) == 4
    assert table.count("| verified | 0 | 1000 |") == 2
    lines = (tmp_path / "networks.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["alexnet", "edge-1m", "verified"],
        ["alexnet", "simba", "verified"],
    ]


def test_the_float_machine_gets_one_network(networks: ModuleType):
    found = list(networks.pairs(("resnet18", "mobilenetv2"), ("simba", "edge-fp32")))

    assert found == [("resnet18", "simba"), ("mobilenetv2", "simba"), ("mobilenetv2", "edge-fp32")]


def test_networks_that_are_not_verified_fail(
    networks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    figures = dict.fromkeys(networks.Row.__dataclass_fields__, 0)
    row = networks.Row(**{**figures, "network": "n", "arch": "a", "verdict": "failed"})
    monkeypatch.setattr(networks, "measure", lambda *_: iter([row]))

    assert networks.main(["--output", str(tmp_path)]) == 1
