"""A transformer block in float32, and quantised: what has no integer form stays in float."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from accnn.compiler.driver import Result, compile
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.ops import is_mac
from accnn.ir.report import VerificationStatus
from accnn.ir.types import DType
from accnn.passes.scheduling.fusion import Fuse

WIDTH, HEADS, TOKENS = 16, 2, 6


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 32)}
    shapes["down"] = (32, WIDTH)
    found = {name: 0.2 * rng.normal(size=shape) for name, shape in shapes.items()}
    found |= {"gain": rng.normal(size=WIDTH), "shift": rng.normal(size=WIDTH)}
    found["scale"] = np.array((WIDTH // HEADS) ** -0.5)
    return {name: np.asarray(array, np.float32) for name, array in found.items()}


def block(tokens: int = TOKENS) -> ModelProto:
    """Return attention and perceptron, each after a normalisation, as exporters write them."""
    node = helper.make_node
    split = np.array([1, tokens, 3, HEADS, WIDTH // HEADS], np.int64)
    integers = {"split": split, "merged": np.array([1, tokens, WIDTH], np.int64)}
    integers |= {f"{n}": np.array(n, np.int64) for n in range(3)}
    nodes = [
        node("LayerNormalization", ["x", "gain", "shift"], ["n"], axis=-1),
        node("MatMul", ["n", "qkv"], ["a"]),
        node("Reshape", ["a", "split"], ["b"]),
        node("Transpose", ["b"], ["c"], perm=[2, 0, 3, 1, 4]),
        *(node("Gather", ["c", f"{n}"], [name], axis=0) for n, name in enumerate("qkv")),
        node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "kt"], ["d"]),
        node("Mul", ["d", "scale"], ["e"]),
        node("Softmax", ["e"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["f"]),
        node("Transpose", ["f"], ["g"], perm=[0, 2, 1, 3]),
        node("Reshape", ["g", "merged"], ["h"]),
        node("MatMul", ["h", "out"], ["i"]),
        node("Add", ["x", "i"], ["j"]),
        node("LayerNormalization", ["j", "gain", "shift"], ["m"], axis=-1),
        node("MatMul", ["m", "up"], ["s"]),
        node("Gelu", ["s"], ["t"]),
        node("MatMul", ["t", "down"], ["u"]),
        node("Add", ["j", "u"], ["y"]),
    ]
    constants = [numpy_helper.from_array(a, name) for name, a in (weights() | integers).items()]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, tokens, WIDTH]) for name in "xy"
    ]
    graph = helper.make_graph(nodes, "block", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("arch", ["edge-fp32", "edge-1m"])
def test_a_transformer_block_verifies(tmp_path: Path, arch: str):
    onnx.save(block(), tmp_path / "block.onnx")
    options = CompileOptions(cache=None, mapper="output-stationary", scheduler="in-order")

    result = compile(tmp_path / "block.onnx", arch=arch, options=options)

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
        options = CompileOptions(
            cache=None,
            mapper="output-stationary",
            fuse=fuse,
            scratchpad=scratchpad,
            verify=VerifyMode.LAYERS,
        )
        found[fuse] = compile(tmp_path / "block.onnx", arch=arch, options=options)

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
    # scores, softmax and values are one group
    products = [op.name for op in graph.ops if is_mac(op) and not graph.is_constant(op.operands[1])]
    assert len(products) == 2
    assert any(set(products) <= set(group.members) for group in plan.groups)
