"""What reports call a lower bound lies below what the simulator measures."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto

import accnn
from accnn.backend.arch_tables import dump_architecture
from accnn.backend.load import load_architecture
from accnn.compiler.driver import Result
from accnn.compiler.report.contents.lower_bounds import compulsory_operator_bytes, roofline
from accnn.ir.report import OperatorReport
from accnn.passes.analysis.bounds import OffChipBytes
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
        pytest.param("simba", "cosa", marks=pytest.mark.slow),
        pytest.param("edge-fp32", "cosa", marks=pytest.mark.slow),
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
        assert compulsory_operator_bytes(result.module, item.name).total <= off_chip_bytes(item)


def test_a_bound_that_counts_padding_would_be_beaten(tmp_path: Path):
    model = convolutions_in_a_row((256, 8, 3, 1))
    result = compiled(tmp_path, model, "simba", scratchpad=24576, fuse=Fuse.OFF)

    (item,) = (item for item in result.report.operators if item.dims is not None)
    bound = compulsory_operator_bytes(result.module, item.name).total
    padding = (16 * 16 - 14 * 14) * 256
    assert bound <= off_chip_bytes(item) < bound + padding


@pytest.mark.parametrize(
    ("shared", "written_per_cycle", "cycles"),
    [(True, 16.0, 25), (False, 16.0, 15), (False, 0.5, 40), (False, None, 15)],
)
def test_ways_with_ports_of_their_own_are_taken_at_once(
    shared: bool, written_per_cycle: float | None, cycles: int
):
    arch = load_architecture("edge-1m")
    ports = {"read_bandwidth": 2.0, "write_bandwidth": written_per_cycle, "shared_port": shared}
    dram = replace(arch.off_chip, **ports)
    arch = replace(arch, levels=(dram, *arch.levels[1:]))

    assert roofline(arch, macs=1, moved=OffChipBytes(read=30, written=20)) == cycles


def test_no_network_beats_the_bound_of_a_memory_with_two_ports(tmp_path: Path):
    arch = load_architecture("edge-1m")
    dram = replace(arch.off_chip, read_bandwidth=1.0, write_bandwidth=1.0, shared_port=False)
    arch = replace(arch, levels=(dram, *arch.levels[1:]))
    (tmp_path / "ports.toml").write_text(dump_architecture(arch))
    model = convolutions_in_a_row((64, 64, 1, 1))

    result = compiled(tmp_path, model, str(tmp_path / "ports.toml"), mapper="output-stationary")

    totals = result.report.totals
    assert 0 < (totals.cycles_lower_bound or 0) <= (totals.cycles_simulated or 0)
    as_if_shared = totals.offchip_bytes_compulsory or 0
    assert as_if_shared > (totals.cycles_simulated or 0)
