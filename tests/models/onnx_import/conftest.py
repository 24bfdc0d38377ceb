"""A small builder of ONNX models, and the comparison of an import with onnxruntime."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from accnn.compiler.pipelines import REWRITES
from accnn.ir.module import Module
from accnn.models.onnx_import import ImportedNetwork, import_model
from accnn.models.session import Optimisation, make_session, run
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference import run as run_reference

TYPES = {
    "float32": TensorProto.FLOAT,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint16": TensorProto.UINT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}


@dataclass
class Sketch:
    """Nodes and constants of a model in the making."""

    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attrs: Any) -> str:
        return self.several(1, kind, *inputs, domain=domain, **attrs)[0]

    def several(
        self, count: int, kind: str, *inputs: str, domain: str = "", **attrs: Any
    ) -> tuple[str, ...]:
        """Add a node with several outputs."""
        out = f"t{len(self.nodes)}"
        outs = (out, *(f"{out}_{number}" for number in range(1, count)))
        self.nodes.append(
            helper.make_node(kind, inputs, outs, name=f"n_{out}", domain=domain, **attrs)
        )
        return outs

    def quantize(self, x: str, scale: float, zero: Any) -> str:
        return self.node("QuantizeLinear", x, self.constant(np.float32(scale)), self.constant(zero))

    def dequantize(self, x: str, scale: Any, zero: Any, **attrs: Any) -> str:
        scale = self.constant(np.asarray(scale, np.float32))
        return self.node("DequantizeLinear", x, scale, self.constant(zero), **attrs)

    def model(
        self,
        inputs: Mapping[str, Any],
        *outputs: str,
        opset: int = 17,
        dtypes: tuple[str, ...] = (),
    ) -> ModelProto:
        """Return the model; ``inputs`` are arrays, or shapes of float32 inputs."""
        infos = [_info(name, value) for name, value in inputs.items()]
        kinds = dtypes or ("float32",) * len(outputs)
        outs = [
            helper.make_tensor_value_info(name, TYPES[kind], None)
            for name, kind in zip(outputs, kinds, strict=True)
        ]
        graph = helper.make_graph(
            self.nodes,
            "sketch",
            infos,
            outs,
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _info(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, value)
    return helper.make_tensor_value_info(name, TYPES[value.dtype.name], value.shape)


@pytest.fixture
def sketch() -> Sketch:
    return Sketch()


@pytest.fixture
def new_sketch() -> type[Sketch]:
    return Sketch


def rewritten(model: ModelProto) -> ImportedNetwork:
    """Import a model and rewrite its graph as a compilation does."""
    network = import_model(model)
    module = Module(graph=network.graph, constants=network.constants)
    after = run_pipeline(Pipeline(REWRITES), module).module
    return replace(network, graph=after.graph, constants=after.constants)


@pytest.fixture
def rewrite() -> Callable[[ModelProto], ImportedNetwork]:
    return rewritten


Compare = Callable[[ModelProto, Mapping[str, Any]], ImportedNetwork]


def compare(model: ModelProto, feeds: Mapping[str, Any]) -> ImportedNetwork:
    """Import, rewrite, run; compare with onnxruntime: integers bit by bit, floats within 4e-6."""
    network = rewritten(model)
    names = dict(network.input_names)
    tensors = run_reference(
        network.graph, network.constants, {names[key]: feeds[key] for key in feeds}
    )
    session = make_session(model, optimisation=Optimisation.EXTENDED, threads=1)
    expected = run(session, feeds)
    for onnx_name, name in network.output_names:
        _assert_equal(tensors[name], expected[onnx_name])
    return network


@pytest.fixture
def assert_same() -> Compare:
    return compare


def _assert_equal(found: Any, expected: Any) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if expected.dtype.kind == "f":
        tolerance = 4e-6 * max(1.0, float(np.abs(expected).max()))
        assert np.abs(found - expected).max() <= tolerance
    else:
        assert np.array_equal(found, expected)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def kinds(network: ImportedNetwork) -> list[str]:
    return [op.kind for op in network.graph.ops]


@pytest.fixture
def kinds_of() -> Callable[[ImportedNetwork], list[str]]:
    return kinds
