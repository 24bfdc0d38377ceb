"""Networks that were quantised elsewhere, but for a part; and what vanishes on float machines."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)

import accnn
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus

QUICK = CompileOptions(
    mapper="output-stationary", scheduler="in-order", cache=None, processes=1, samples=1
)
IMAGE, CLASSES = (1, 3, 8, 8), (1, 5)


def saved(folder: Path, nodes: Sequence[onnx.NodeProto], **weights: tuple[int, ...]) -> Path:
    """Save a float network from ``x`` to ``y`` whose weights are drawn."""
    rng = np.random.default_rng(0)
    made = [
        numpy_helper.from_array(rng.normal(0.0, 0.5, shape).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    limits = [numpy_helper.from_array(np.float32(at), name) for name, at in (("lo", 0), ("hi", 6))]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, IMAGE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, CLASSES)],
        [*made, *limits],
    )
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


def nodes(*head: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Return a depthwise-separable block, and what makes classes of it."""
    return [
        helper.make_node("Conv", ["x", "stem"], ["a"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Clip", ["a", "lo", "hi"], ["b"]),
        helper.make_node("Conv", ["b", "depth"], ["c"], group=4, pads=[1] * 4),
        helper.make_node("Clip", ["c", "lo", "hi"], ["d"]),
        helper.make_node("Conv", ["d", "point"], ["e"]),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
        *head,
    ]


WEIGHTS = {
    "stem": (4, 3, 3, 3),
    "depth": (4, 1, 3, 3),
    "point": (6, 4, 1, 1),
    "w": (5, 6),
    "bias": (5,),
}
GEMM = {"op_type": "Gemm", "outputs": ["y"], "transB": 1}


class Images(CalibrationDataReader):
    """Random images, three of them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self._left = [{"x": rng.normal(size=IMAGE).astype(np.float32)} for _ in range(3)]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


def test_a_quantised_network_whose_last_gemm_is_float_runs_on_an_integer_machine(tmp_path: Path):
    network = saved(tmp_path, nodes(helper.make_node(inputs=["g", "w", "bias"], **GEMM)), **WEIGHTS)
    quantize_static(
        network,
        tmp_path / "quantised.onnx",
        Images(),
        quant_format=QuantFormat.QOperator,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["Conv", "Clip", "GlobalAveragePool"],
    )
    kinds = [node.op_type for node in onnx.load(tmp_path / "quantised.onnx").graph.node]
    assert kinds.count("QLinearConv") == 3 and kinds[-1] == "Gemm"

    report = accnn.compile(tmp_path / "quantised.onnx", arch="edge-1m", options=QUICK).report

    assert report.verification.status is VerificationStatus.VERIFIED


@pytest.mark.parametrize("mask", [pytest.param([], marks=pytest.mark.slow), ["mask"]])
def test_dropout_whose_mask_nobody_reads_vanishes_on_a_float_machine(mask, tmp_path: Path):
    head = (
        helper.make_node("Dropout", ["g"], ["h", *mask]),
        helper.make_node(inputs=["h", "w", "bias"], **GEMM),
    )

    report = accnn.compile(
        saved(tmp_path, nodes(*head), **WEIGHTS), arch="edge-fp32", options=QUICK
    ).report

    assert report.verification.status is VerificationStatus.VERIFIED
