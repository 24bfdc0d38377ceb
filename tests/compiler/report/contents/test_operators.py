"""What the report says of single operators."""

from pathlib import Path

import onnx
import pytest

import accnn
from accnn.ir.report import Report
from tests.onnx_rows import convolutions_in_a_row


def report(folder: Path, tiles: str) -> Report:
    path = folder / "row.onnx"
    onnx.save(convolutions_in_a_row((8, 16, 3, 1), (16, 24, 1, 1), (24, 8, 3, 2), size=8), path)
    options = accnn.CompileOptions(
        cache=None, mapper="output-stationary", scheduler="in-order", samples=1, tiles=tiles
    )
    return accnn.compile(path, arch="simba", options=options).report


def test_operators_take_their_own_cycles(tmp_path: Path):
    found = report(tmp_path, "static")

    alone = [item.cycles or 0 for item in found.operators]
    assert max(alone) < found.totals.cycles_model <= sum(alone)
    for item in found.operators:
        assert item.cycles_lower_bound is None or item.cycles_lower_bound <= (item.cycles or 0)


@pytest.mark.parametrize("tiles", ["static", "static-across"])
def test_every_operator_has_cycles(tmp_path: Path, tiles: str):
    found = report(tmp_path, tiles)

    assert all(item.cycles for item in found.operators)
    assert max(item.cycles or 0 for item in found.operators) <= (found.totals.cycles_model or 0)
