"""Single layers under tile schedulers, from the command line to the CSV."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_map import app

COLUMNS = "layer,scheduler,cycles,transferred_bytes,cycles_lower_bound,cpu_seconds"
LAYER = "P=4 Q=4 C=32 K=32"
LAYERS = Path(__file__).parents[3] / "benchmarks" / "data" / "cosa_layers.csv"


def test_one_row_per_layer_and_scheduler(tmp_path):
    path = tmp_path / "rows.csv"
    options = ["--arch", "flexer-arch1", "--layer", LAYER, "--scheduler", "flexer,static"]

    result = CliRunner().invoke(app, [*options, "--csv", str(path)])

    assert result.exit_code == 0, result.output
    text = path.read_text()
    assert text.splitlines()[0] == COLUMNS
    flexer, static = csv.DictReader(text.splitlines())
    assert (flexer["scheduler"], static["scheduler"]) == ("flexer", "static")
    assert int(flexer["cycles"]) >= int(flexer["cycles_lower_bound"]) > 0
    for figure in ("cycles", "transferred_bytes"):
        assert int(flexer[figure]) <= int(static[figure])


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["flexer-arch5", "flexer-arch8"])
def test_no_layer_of_a_table_is_worse_than_its_best_static_order(tmp_path, arch):
    path = tmp_path / "rows.csv"
    options = ["--arch", arch, "--layers", str(LAYERS), "--scheduler", "flexer,static"]

    result = CliRunner().invoke(app, [*options, "--csv", str(path)])

    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 2 * 66
    for flexer, static in zip(rows[::2], rows[1::2], strict=True):
        assert flexer["layer"] == static["layer"]
        assert int(flexer["cycles_lower_bound"]) <= int(flexer["cycles"]) <= int(static["cycles"])
        assert int(flexer["transferred_bytes"]) <= int(static["transferred_bytes"])


def test_the_metric_is_chosen_on_the_command_line():
    options = ["--arch", "flexer-arch1", "--layer", LAYER, "--scheduler", "static"]

    found = [
        CliRunner().invoke(app, [*options, "--metric", metric]).output.splitlines()[1].split()
        for metric in ("latency", "transfers")
    ]

    assert int(found[0][-4]) <= int(found[1][-4])
    assert int(found[0][-3]) >= int(found[1][-3])


def test_a_weight_out_of_range_is_refused():
    options = ["--arch", "flexer-arch1", "--layer", LAYER, "--scheduler", "static"]

    result = CliRunner().invoke(app, [*options, "--metric", "weighted", "--weight", "3"])

    assert result.exit_code == 2
    assert "weight is 3.0, must be between 0 and 2" in result.output


def test_an_unknown_scheduler_is_refused():
    options = ["--arch", "flexer-arch1", "--layer", LAYER, "--scheduler", "magic"]

    result = CliRunner().invoke(app, options)

    assert result.exit_code == 2
    assert "no tile scheduler named 'magic'" in result.output
