"""A transformer block in float32, and quantised: what has no integer form stays in float."""

from pathlib import Path

import onnx
import pytest

from accnn.compiler.driver import Result, compile
from accnn.compiler.options import CompileOptions
from accnn.ir.ops import is_mac
from accnn.ir.report import VerificationStatus
from accnn.ir.types import DType
from accnn.passes.scheduling.fusion import Fuse
from benchmarks.fusion_block import block, options


@pytest.mark.parametrize("arch", ["edge-fp32", "edge-1m"])
def test_a_transformer_block_verifies(tmp_path: Path, arch: str):
    onnx.save(block(6), tmp_path / "block.onnx")
    chosen = CompileOptions(
        cache=None, mapper="output-stationary", scheduler="in-order", processes=1
    )

    result = compile(tmp_path / "block.onnx", arch=arch, options=chosen)

    verification = result.report.verification
    assert verification is not None
    assert verification.status is VerificationStatus.VERIFIED
    products = [op for op in result.module.graph.ops if is_mac(op)]
    assert len(products) == 6
    if arch == "edge-1m":
        assert all(op.result.type.dtype.is_integer for op in products)
        assert verification.outputs[0].max_abs_diff == 0
        floats = {op.kind for op in result.module.graph.ops if op.result.type.dtype is DType.F32}
        assert {"gelu", "exp", "reduce_mean", "sqrt"} <= floats


@pytest.mark.parametrize(
    ("tokens", "scratchpad", "arch"),
    [
        pytest.param(48, 16384, "simba", marks=pytest.mark.slow),
        pytest.param(128, 24576, "simba", marks=pytest.mark.slow),
        pytest.param(128, 24576, "flexer-arch5", marks=pytest.mark.slow),
    ],
)
def test_normalisations_and_softmax_are_fused_and_verify(
    tmp_path: Path, tokens: int, scratchpad: int, arch: str
):
    onnx.save(block(tokens), tmp_path / "block.onnx")
    found: dict[Fuse, Result] = {}
    for fuse in (Fuse.OFF, Fuse.GROUPS):
        found[fuse] = compile(tmp_path / "block.onnx", arch=arch, options=options(scratchpad, fuse))

    for result in found.values():
        assert result.report.verification.status is VerificationStatus.VERIFIED
    off, groups = (result.report.totals.offchip_bytes for result in found.values())
    assert off is not None
    assert groups is not None
    assert groups < off
    plan, graph = found[Fuse.GROUPS].module.graph_schedule, found[Fuse.GROUPS].module.graph
    assert plan is not None
    kinds = {graph.producer[name].kind for group in plan.groups for name in group.members}
    assert {"reduce_mean", "reduce_sum", "reduce_max", "exp", "dense"} <= kinds
    # softmax and values are one group, and scores with them where those do not fit
    scores, values = (
        op.name for op in graph.ops if is_mac(op) and not graph.is_constant(op.operands[1])
    )
    (group,) = (group for group in plan.groups if values in group.members)
    assert "exp" in {graph.producer[name].kind for name in group.members}
    assert scores in group.members or graph.types[scores].bytes < scratchpad
