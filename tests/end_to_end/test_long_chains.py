"""Networks of very many operators in a row: everything takes time in proportion to their number."""

import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus
from accnn.models.session import Model, save_model

ROW = 1, 8, 4, 4
MOST_MEMORY = 3 * 2**20
"""Of a process [KiB]."""


def in_a_row(count: int) -> Model:
    """Return a network of relu, addition and product in turn; values stay as large as they are."""
    rng = np.random.default_rng(0)
    constants = {
        "c": rng.normal(size=(1, 8, 1, 1)).astype(np.float32),
        "m": rng.uniform(0.5, 0.95, (1, 8, 1, 1)).astype(np.float32),
    }
    kinds = (("Relu", ()), ("Add", ("c",)), ("Mul", ("m",)))
    return row([kinds[number % 3] for number in range(count)], constants)


def convolutions(count: int) -> Model:
    """Return convolutions of one and of nine taps in turn; values stay as large as they are."""
    rng = np.random.default_rng(0)
    constants: dict[str, np.ndarray] = {}
    for number in range(count):
        taps = 1 + number % 2 * 2
        weights = rng.normal(0.0, 0.01, (8, 8, taps, taps))
        weights[:, :, taps // 2, taps // 2] += np.linalg.qr(rng.normal(size=(8, 8)))[0]
        constants[f"w{number}"] = (0.97 * weights).astype(np.float32)
        constants[f"b{number}"] = rng.normal(0.0, 0.1, 8).astype(np.float32)
    names = [(f"w{number}", f"b{number}") for number in range(count)]
    return row([("Conv", operands) for operands in names], constants, auto_pad="SAME_UPPER")


def row(
    kinds: list[tuple[str, tuple[str, ...]]], constants: dict[str, np.ndarray], **attrs: str
) -> Model:
    """Return a network of nodes in a row: their operators and what each reads beside."""
    last = "x"
    nodes: list[NodeProto] = []
    for number, (kind, others) in enumerate(kinds):
        nodes.append(helper.make_node(kind, [last, *others], [f"t{number}"], **attrs))
        last = f"t{number}"
    graph = helper.make_graph(
        nodes,
        "row",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ROW)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ROW)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def verified(model: Model, arch: str, folder: Path) -> int:
    """Compile a network, and return of how many nodes it is."""
    save_model(model, folder / "row.onnx")
    found = compile(folder / "row.onnx", arch=arch, options=CompileOptions(cache=None, processes=1))

    assert found.report.verification.status is VerificationStatus.VERIFIED
    return len(model.graph.node)


@pytest.mark.parametrize(
    ("count", "arch"),
    [
        (40, "edge-1m"),
        pytest.param(400, "edge-1m", marks=pytest.mark.slow),
        pytest.param(400, "edge-fp32", marks=pytest.mark.slow),
    ],
)
def test_hundreds_of_operators_in_a_row(count: int, arch: str, tmp_path: Path) -> None:
    """Where each stretch of them is looked at by itself, 400 take more than five minutes."""
    assert verified(in_a_row(count), arch, tmp_path) == count


def verified_apart(model: Model, arch: str, folder: Path) -> tuple[int, int]:
    """Do so in a process of its own; return the nodes, and the memory that it took [KiB]."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        nodes = pool.submit(verified, model, arch, folder).result()
        return nodes, pool.submit(memory_taken).result()


def memory_taken() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.slow
def test_twenty_thousand_operators_in_a_row(tmp_path: Path) -> None:
    nodes, memory = verified_apart(in_a_row(20_000), "edge-1m", tmp_path)

    assert nodes == 20_000
    assert memory < MOST_MEMORY


@pytest.mark.slow
def test_two_thousand_convolutions_in_a_row(tmp_path: Path) -> None:
    """Where the quantiser looks for each constant among all, it takes most of the time."""
    nodes, memory = verified_apart(convolutions(2000), "edge-1m", tmp_path)

    assert nodes == 2000
    assert memory < MOST_MEMORY
