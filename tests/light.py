"""The ``light_*.onnx`` networks of the onnx package, with seeded weights.

As shipped, every weight of a network is one constant, which tests nothing; and their opset is 9.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, version_converter
from onnx.backend.test.loader import DATA_DIR

from accnn.models.data.images import pink_noise
from accnn.models.session import make_session, run

FOLDER = Path(DATA_DIR) / "light"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("light_*.onnx")))
OPSET, IR_VERSION = 17, 8
_MOVES = ("Unsqueeze", "Reshape")
_NORMALISATION = {1: (0.7, 0.1), 2: (0.0, 0.1), 3: (0.0, 0.1)}  # scale, bias, mean: mean, std


def light(name: str, seed: int = 0) -> ModelProto:
    """Return one of ``NAMES`` at a supported opset, its constants drawn by what reads them."""
    model = version_converter.convert_version(onnx.load(FOLDER / f"{name}.onnx"), OPSET)
    graph = model.graph
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    made = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    used = {node.input[0] for node in made}
    rng = np.random.default_rng(seed)
    drawn = [
        numpy_helper.from_array(
            _draw(rng, tuple(shapes[node.input[0]]), *_reader(graph, node.output[0])),
            node.output[0],
        )
        for node in made
    ]
    kept = [tensor for tensor in graph.initializer if tensor.name not in used]
    inputs = [value for value in graph.input if value.name not in used]
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    del graph.initializer[:], graph.input[:], graph.node[:]
    graph.initializer.extend([*kept, *drawn])
    graph.input.extend(inputs)
    graph.node.extend(nodes)
    model.ir_version = IR_VERSION
    _temper(model)
    onnx.checker.check_model(model)
    return model


def _temper(model: ModelProto) -> None:
    """Scale the last layer so that logits spread by one: else softmax would choose one class."""
    graph = model.graph
    softmax = next((node for node in graph.node if node.op_type == "Softmax"), None)
    logits = graph.output[0].name if softmax is None else softmax.input[0]
    probe = ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.append(helper.make_tensor_value_info(logits, TensorProto.FLOAT, None))
    weights = {tensor.name: tensor for tensor in graph.initializer}
    (given,) = (value for value in graph.input if value.name not in weights)
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    found = run(make_session(probe), {given.name: pink_noise(shape, 0)}, [logits])[logits]
    last = [node for node in graph.node if node.op_type in ("Conv", "Gemm")][-1]
    moved = {node.output[0]: node.input[0] for node in graph.node if node.op_type in _MOVES}
    for name in (moved.get(name, name) for name in last.input[1:]):
        scaled = numpy_helper.to_array(weights[name]) / found.std()
        weights[name].CopyFrom(numpy_helper.from_array(scaled, name))


def _reader(graph: onnx.GraphProto, name: str) -> tuple[str, int]:
    """Return the operator that reads a constant, and as which input; it may be moved first."""
    node, place = next(_readers(graph, name))
    return _reader(graph, node.output[0]) if node.op_type in _MOVES else (node.op_type, place)


def _readers(graph: onnx.GraphProto, name: str) -> Iterator[tuple[NodeProto, int]]:
    for node in graph.node:
        if name in node.input:
            yield node, list(node.input).index(name)


def _draw(rng: np.random.Generator, shape: tuple[int, ...], reader: str, place: int) -> np.ndarray:
    if reader == "BatchNormalization" and place == 4:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    if reader == "BatchNormalization":
        mean, std = _NORMALISATION[place]
    elif reader in ("Conv", "Gemm") and place == 1:
        mean, std = 0.0, np.sqrt(2 / np.prod(shape[1:]))
    else:
        mean, std = (1.0 if reader == "Mul" else 0.0), 0.1
    return rng.normal(mean, std, shape).astype(np.float32)
