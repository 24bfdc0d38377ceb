"""Networks with floats inside that become integers, and runs of them judged by sections alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from accnn.backend.load import load_architecture
from accnn.backend.lowering.lower import lower
from accnn.compiler.driver import Result, compile, run_program
from accnn.compiler.frontend import Network, read_network
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.pipelines import REWRITES
from accnn.compiler.stopwatch import Stopwatch, unobserved
from accnn.compiler.verification.observe import observed
from accnn.compiler.verification.section_verdict import cuts, verify_sections
from accnn.compiler.verification.verdict import verify_run, verify_run_in_sections
from accnn.compiler.verification.verify import reference_outputs, verification_inputs
from accnn.ir.graph import Graph
from accnn.ir.isa.program import Program
from accnn.ir.module import Module
from accnn.ir.report import Verification
from accnn.ir.resources import Constants
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference.run import run, run_op

X = np.float32([[3, 3], [1, 2]])
"""Softmax of the first row is a half, which in steps of a fifth is a tie: 2 or 3."""
OPTIONS = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)


def _saved(
    path: Path,
    nodes: list[onnx.NodeProto],
    constants: Mapping[str, np.ndarray | np.generic],
    columns: int,
) -> Path:
    """Write a network from x, two rows of two, to y, two rows of some columns."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, columns])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def quantised(island: str, path: Path) -> Path:
    """Write a quantised network of a function of floats, and a product of its result."""
    w = np.array([[100, -7], [3, 50], [20, 20]], np.int8)
    constants = {"w": w, "s": np.float32(0.2), "z": np.int8(0), "one": np.float32(1)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "one", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "one", "z"], ["xf"]),
        helper.make_node(island, ["xf"], ["f"]),
        helper.make_node("QuantizeLinear", ["f", "s", "z"], ["fq"]),
        helper.make_node("DequantizeLinear", ["fq", "s", "z"], ["ff"]),
        helper.make_node("DequantizeLinear", ["w", "one", "z"], ["wf"]),
        helper.make_node("Gemm", ["ff", "wf"], ["g"], transB=1),
        helper.make_node("QuantizeLinear", ["g", "one", "z"], ["gq"]),
        helper.make_node("DequantizeLinear", ["gq", "one", "z"], ["y"]),
    ]
    return _saved(path, nodes, constants, 3)


def jumping(path: Path) -> Path:
    """Write a network of floats that takes the remainder of twice a softmax, by one."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"]),
        helper.make_node("Mul", ["p", "two"], ["f"]),
        helper.make_node("Mod", ["f", "one"], ["r"], fmod=1),
        helper.make_node("Mul", ["r", "w"], ["y"]),
    ]
    constants = {"one": np.float32(1), "two": np.float32(2), "w": np.float32([3, 5])}
    return _saved(path, nodes, constants, 2)


PIXELS = np.float32([[[[1, 3], [2, 0]], [[1, 3], [2, 1]]]])
"""Their means are a tie, 1.5, and 1.75."""


def averaged(path: Path) -> Path:
    """Write a quantised average pool whose result is an output, and read as well."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xf"]),
        helper.make_node("AveragePool", ["xf"], ["f"], kernel_shape=[2, 2]),
        helper.make_node("QuantizeLinear", ["f", "s", "z"], ["fq"]),
        helper.make_node("DequantizeLinear", ["fq", "s", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 1, 1])],
        [
            numpy_helper.from_array(np.float32(1), "s"),
            numpy_helper.from_array(np.int8(0), "z"),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def transposed(path: Path, *, per_channel: bool = False, **attrs: object) -> Path:
    """Write a quantised transposed convolution, rectified and read as an output.

    Args:
        path: Of the file.
        per_channel: Whether every channel has weights of its own scale.
        attrs: Of the convolution.
    """
    rng = np.random.default_rng(5)
    scale = np.float32([0.5, 0.25, 0.5] if per_channel else 0.5)
    constants = {
        "s": np.float32(1),
        "z": np.int8(0),
        "w": rng.integers(-9, 10, (2, 3, 3, 3)).astype(np.int8),
        "sw": scale,
        "zw": np.zeros(scale.shape, np.int8),
        "b": np.int32([5, -7, 1]),
        "zb": np.zeros(scale.shape, np.int32),
        "sy": np.float32(2),
        "zy": np.int8(-128),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wf"], axis=1),
        helper.make_node("DequantizeLinear", ["b", "sw", "zb"], ["bf"], axis=0),
        helper.make_node("ConvTranspose", ["xf", "wf", "bf"], ["f"], **attrs),
        helper.make_node("Relu", ["f"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "sy", "zy"], ["fq"]),
        helper.make_node("DequantizeLinear", ["fq", "sy", "zy"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*"NKPQ"])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def between_bytes(
    path: Path, kind: str, *shapes: tuple[int, ...], weights: tuple[int, ...] = (), **attrs: object
) -> Path:
    """Write a network in which one node reads dequantised bytes, and is quantised.

    Args:
        path: Of the file.
        kind: Of the node.
        shapes: Of the inputs; of two scales of which sums lie on ties often.
        weights: Shape of a constant operand, if there is one.
        attrs: Of the node.
    """
    scales = [0.05, 0.15][: len(shapes)]
    constants = {"z": np.int8(0), "sy": np.float32(0.1), "sw": np.float32(0.5)}
    nodes: list[onnx.NodeProto] = []
    for number, scale in enumerate(scales):
        constants[f"s{number}"] = np.float32(scale)
        names = [f"x{number}", f"s{number}", "z"]
        nodes.append(helper.make_node("DequantizeLinear", names, [f"f{number}"]))
    if weights:
        constants["w"] = np.random.default_rng(7).integers(-9, 10, weights).astype(np.int8)
        nodes.append(helper.make_node("DequantizeLinear", ["w", "sw", "z"], ["fw"]))
    operands = [node.output[0] for node in nodes]
    nodes += [
        helper.make_node(kind, operands, ["f"], **attrs),
        helper.make_node("QuantizeLinear", ["f", "sy", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "sy", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [
            helper.make_tensor_value_info(f"x{number}", TensorProto.INT8, shape)
            for number, shape in enumerate(shapes)
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


@dataclass(frozen=True)
class Case:
    """A network, its graph as the reference runs it, and the right tensors."""

    network: Network
    graph: Graph
    constants: Constants
    tensors: Mapping[str, np.ndarray]
    x: np.ndarray = field(default_factory=lambda: X)

    def with_cut(self, *place: int, value: float) -> dict[str, np.ndarray]:
        """Return the tensors of a program with another element at the cut."""
        (cut,) = cuts(self.network, self.graph)
        tensors = dict(self.tensors)
        tensors[cut.name] = tensors[cut.name].copy()
        tensors[cut.name][place] = value
        names = [op.name for op in self.graph.ops]
        for op in self.graph.ops[names.index(cut.name) + 1 :]:
            tensors[op.name] = run_op(op, self.graph.types, tensors)
        return tensors

    def judge(self, tensors: Mapping[str, np.ndarray]):
        found = cuts(self.network, self.graph)
        return verify_sections(self.network, self.graph, found, tensors, {"x": self.x})

    def equals_the_whole(self, tensors: Mapping[str, np.ndarray]) -> bool:
        ((original, name),) = self.network.imported.output_names
        expected = reference_outputs(self.network.model, {"x": self.x})[original]
        return np.array_equal(tensors[name], expected)


def imported(path: Path, arch: str = "edge-1m") -> tuple[Network, Module]:
    """Return a network, and its graph as the reference runs it."""
    network = read_network(path, load_architecture(arch), OPTIONS, Stopwatch(unobserved))
    module = Module(graph=network.imported.graph, constants=network.imported.constants)
    return network, run_pipeline(Pipeline(REWRITES), module).module


def case_of(path: Path, x: np.ndarray = X, arch: str = "edge-1m") -> Case:
    network, module = imported(path, arch)
    ((_, name),) = network.imported.input_names
    tensors = run(module.graph, module.constants, {name: x})
    return Case(network, module.graph, module.constants, tensors, x)


def as_it_is(program: Program) -> Program:
    return program


def compiled_for_sections(path: Path) -> Result:
    """Compile a float or quantised network for an integer machine; it is not run."""
    return compile(path, arch="edge-1m", options=replace(OPTIONS, verify=VerifyMode.OFF))


def judged_in_sections(
    given: Path | Result, damage: Callable[[Program], Program] = as_it_is
) -> Verification:
    """Return the verdict on a run, section by section even if the whole equals onnxruntime's.

    A run that is refused has the verdict of the whole, one section.

    Args:
        given: A network, or what it was compiled to.
        damage: What is done to the program, which stores every tensor.
    """
    result = given if isinstance(given, Result) else compiled_for_sections(given)
    shown = observed(replace(result.module, program=None))
    lowered = lower(shown)
    constants = result.module.constants.with_arrays(lowered.derived)
    shown = replace(shown, program=damage(lowered.program), constants=constants)
    network = result.network
    inputs = verification_inputs(network.model, OPTIONS.seed, None)
    ran = run_program(shown, inputs, network.imported.input_names, OPTIONS)
    whole = verify_run(network, ran, inputs)
    return verify_run_in_sections(network, whole, ran, (shown, ran), inputs)
