"""Gathers whose table does not fit the scratchpad."""

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module
from accnn.ir.ops import make_op
from accnn.ir.resources import Constants
from accnn.ir.types import DType, Quantization, TensorType
from accnn.passes.base import Context
from accnn.passes.graph.split_gathers import SplitGathers
from accnn.runtime_sim.reference.run import run
from tests.flow import compile_graph

ARCH = load_architecture("simba")
LONG = 20_000  # rows of four bytes: more than a quarter of simba's 128 KiB, and less than three
SCALE = Quantization((0.5,), (3,))
CASES = {
    "rows": ("gather", (LONG, 3), (2, 4), 0, None),
    "columns": ("gather", (2, LONG), (5,), 1, None),
    "one row": ("gather", (LONG, 3), (), 0, None),
    "elements": ("gather_elements", (LONG, 2), (7, 2), 0, None),
    "bytes": ("gather", (4 * LONG, 2), (6,), 0, SCALE),
}


def network(case: str, held: str = "t") -> tuple[Graph, Constants, dict]:
    """Return a gather of a table and indices, its constants (``held``) and its inputs."""
    kind, table, indices, axis, quant = CASES[case]
    rng = np.random.default_rng(0)
    dtype = DType.F32 if quant is None else DType.S8
    types = {"t": TensorType(dtype, table, quant), "i": TensorType(DType.S64, indices)}
    op = make_op(kind, ("t", "i"), types, "y", attrs={"axis": axis}, quant=quant)
    index = rng.integers(-table[axis], table[axis], indices)
    data = rng.integers(-99, 99, table).astype(np.float32 if quant is None else np.int8)
    tensors = {"t": data, "i": index}
    graph = Graph(
        name="g",
        inputs=tuple(Value(name, types[name]) for name in types if name not in held),
        constants=tuple(Value(name, types[name]) for name in held),
        ops=(op,),
        outputs=("y",),
    )
    fixed = Constants({name: tensors[name] for name in held})
    return graph, fixed, {name: tensors[name] for name in types if name not in held}


def split(graph: Graph, constants: Constants, arch=ARCH) -> Module:
    after = SplitGathers().run(Module(graph=graph, arch=arch, constants=constants), Context())
    after.verify()
    return after


@pytest.mark.parametrize("held", ["t", "", "ti"])
@pytest.mark.parametrize("case", CASES)
def test_the_result_stays(case: str, held: str):
    graph, constants, inputs = network(case, held)

    after = split(graph, constants)

    tables = [op for op in after.graph.ops if op.kind == CASES[case][0]]
    assert len(tables) == 3
    expected = run(graph, constants, inputs)["y"]
    found = run(after.graph, after.constants, inputs)["y"]
    assert np.array_equal(found, expected)
    assert after.graph.types["y"] == graph.types["y"]


def test_the_ends_of_parts_are_found():
    graph, constants, _ = network("rows")
    edges = np.array([[0, LONG // 3 - 1, LONG // 3, LONG - 1], [-1, -LONG, -LONG // 3, 6666]])

    after = split(graph, constants)

    found = run(after.graph, after.constants, {"i": edges})["y"]
    assert np.array_equal(found, constants["t"][edges])


def test_a_table_that_fits_stays_whole():
    graph, constants, _ = network("rows")
    module = Module(graph=graph, arch=load_architecture("edge-1m"), constants=constants)

    assert SplitGathers().run(module, Context()) is module


def test_running_twice_is_running_once():
    once = split(*network("rows")[:2])

    assert SplitGathers().run(once, Context()) is once


@pytest.mark.parametrize("case", ["one row", "elements"])
def test_the_program_of_a_split_gather_equals_it(case: str):
    graph, constants, _ = network(case, held="i")

    compiled = compile_graph(graph, dict(constants), "simba")

    assert [op.kind for op in compiled.module.graph.ops].count(CASES[case][0]) == 3
    found = compiled.run(detect_races=True).tensor("y")
    assert np.array_equal(found, compiled.expected["y"])
