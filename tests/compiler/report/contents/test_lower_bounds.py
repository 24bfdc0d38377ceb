"""What reports call a lower bound lies below what the simulator measures."""

from pathlib import Path

import onnx
import pytest
from onnx import ModelProto

import accnn
from accnn.compiler.driver import Result
from accnn.compiler.report.contents.lower_bounds import compulsory_operator_bytes
from accnn.ir.report import OperatorReport
from accnn.passes.scheduling.fusion import Fuse
from tests.onnx_rows import convolutions_in_a_row


def compiled(folder: Path, model: ModelProto, arch: str, **options: object) -> Result:
    onnx.save(model, folder / "row.onnx")
    chosen = accnn.CompileOptions(processes=1, **options)  # pyright: ignore[reportArgumentType]
    return accnn.compile(folder / "row.onnx", arch=arch, options=chosen)


def off_chip_bytes(operator: OperatorReport) -> int:
    return sum(
        item.read_bytes + item.written_bytes for item in operator.traffic if item.level == "dram"
    )


@pytest.mark.parametrize(
    ("arch", "mapper"),
    [
        *((arch, "output-stationary") for arch in ("simba", "edge-1m", "flexer-arch5")),
        *((arch, "cosa") for arch in ("simba", "edge-fp32")),
    ],
)
def test_no_operator_beats_its_bounds(tmp_path: Path, arch: str, mapper: str):
    model = convolutions_in_a_row((16, 64, 3, 1), (64, 24, 1, 2), (24, 40, 3, 2), (40, 8, 5, 1))

    result = compiled(tmp_path, model, arch, mapper=mapper, fuse=Fuse.OFF)

    totals = result.report.totals
    assert 0 < (totals.cycles_lower_bound or 0) <= (totals.cycles_simulated or 0)
    assert 0 < (totals.offchip_bytes_compulsory or 0) <= (totals.offchip_bytes or 0)
    mapped = [item for item in result.report.operators if item.dims is not None]
    assert len(mapped) == 4
    for item in mapped:
        assert 0 < (item.cycles_lower_bound or 0) <= (item.cycles or 0)
        assert compulsory_operator_bytes(result.module, item.name) <= off_chip_bytes(item)


def test_a_bound_that_counts_padding_would_be_beaten(tmp_path: Path):
    result = compiled(tmp_path, convolutions_in_a_row((256, 8, 3, 1)), "simba", scratchpad=24576)

    (item,) = (item for item in result.report.operators if item.dims is not None)
    bound = compulsory_operator_bytes(result.module, item.name)
    padding = (16 * 16 - 14 * 14) * 256
    assert bound <= off_chip_bytes(item) < bound + padding
