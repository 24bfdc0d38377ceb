"""Bring a float model into the form that quantises well.

    Conv -> BatchNormalization           ->   Conv
    BatchNormalization by itself         ->   depthwise Conv
    Constant, Shape, Gather, Concat ...  ->   initialisers
    ReduceMean over height and width     ->   GlobalAveragePool (-> Flatten)
    Sum of two                           ->   Add
    Gemm + bias that is no vector        ->   Gemm + vector, or Gemm -> Add

onnxruntime's basic optimiser folds normalisations and constants; it keeps to standard operators.
A normalisation that is not folded, a ``ReduceMean`` and a ``Sum`` would remain in float, for the
quantiser has no integer form of them.
"""

import math
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes
from onnx.version_converter import convert_version

from ...ir.errors import ModelError, OptionError
from ..onnx_import.loading.ir_version import LAST_IR_VERSION
from ..session import Optimisation, refusals, session_options
from .biases import give_biases_columns
from .normalisation import normalise_by_convolution

# Quantisation per channel needs the axis of DequantizeLinear.
_LEAST_OPSET = 13
_TARGET_OPSET = 17
_SMALL = 1024  # elements; larger initialisers are weights, not shapes
_STANDARD_DOMAINS = ("", "ai.onnx")


def prepare(model: ModelProto) -> ModelProto:
    """Return ``model`` folded and in the quantiser's terms, with the type of every tensor.

    The argument is left as it is. Initialisers come in the order of their use, so that the same
    model always gives the same bytes.

    Raises:
        ModelError: onnxruntime cannot load the model, or its opset cannot be raised to 13.
        OptionError: The folder of temporary files is full.
    """
    folded = _fold(_readable(model))
    _drop_unused_opsets(folded)
    _drop_dead(folded)
    _add_instead_of_sum(folded)
    _infer_types(folded)
    if normalise_by_convolution(folded):
        _infer_types(folded)
    if _pool_instead_of_mean(folded):
        _infer_types(folded)
    if give_biases_columns(folded):
        _infer_types(folded)
    _order_initialisers(folded)
    return folded


def opset_of(model: ModelProto) -> int:
    """Return the version of the standard operators that ``model`` uses."""
    versions = [o.version for o in model.opset_import if o.domain in _STANDARD_DOMAINS]
    if not versions:
        raise ModelError("the model does not import the standard ONNX operators")
    return max(versions)


def value_infos(model: ModelProto) -> dict[str, ValueInfoProto]:
    """Return the type of every tensor that has one, by name; weights are no tensors here."""
    graph = model.graph
    weights = {w.name for w in graph.initializer}
    declared = (*graph.value_info, *graph.output, *graph.input)
    return {v.name: v for v in declared if v.name not in weights}


def skeleton(model: ModelProto) -> ModelProto:
    """Return a copy of ``model`` whose large weights are inputs; small for any network."""
    copy, graph = ModelProto(), model.graph
    copy.ir_version = min(model.ir_version, LAST_IR_VERSION)
    copy.opset_import.extend(model.opset_import)
    copy.functions.extend(model.functions)
    copy.graph.name = graph.name
    for field in ("node", "output", "value_info", "sparse_initializer"):
        getattr(copy.graph, field).extend(getattr(graph, field))
    weights = {w.name for w in graph.initializer}
    large = [w for w in graph.initializer if _is_large(w)]
    copy.graph.input.extend(i for i in graph.input if i.name not in weights)
    copy.graph.initializer.extend(w for w in graph.initializer if not _is_large(w))
    copy.graph.input.extend(
        helper.make_tensor_value_info(w.name, w.data_type, list(w.dims)) for w in large
    )
    return copy


def large_weights(model: ModelProto) -> dict[str, NDArray[Any]]:
    """Return the weights that ``skeleton`` takes as inputs, by name."""
    return {w.name: numpy_helper.to_array(w) for w in model.graph.initializer if _is_large(w)}


def _is_large(weight: TensorProto) -> bool:
    """Return whether an initialiser is too large to say anything about shapes."""
    return math.prod(weight.dims) > _SMALL


def _readable(model: ModelProto) -> ModelProto:
    """Return ``model`` at versions that onnxruntime and the quantiser read."""
    opset = opset_of(model)
    weights = {w.name for w in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in weights]
    is_modern = opset >= _LEAST_OPSET and len(inputs) == len(model.graph.input)
    if is_modern and 4 <= model.ir_version <= LAST_IR_VERSION:
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = LAST_IR_VERSION
    del copy.graph.input[:]
    copy.graph.input.extend(inputs)
    return copy if opset >= _LEAST_OPSET else _raise_opset(copy, opset)


def _raise_opset(model: ModelProto, opset: int) -> ModelProto:
    try:
        return convert_version(model, _TARGET_OPSET)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"cannot quantise a model of opset {opset}: {error}",
            hint=f"export it again with opset {_LEAST_OPSET} or later",
        ) from error


def _fold(model: ModelProto) -> ModelProto:
    """Return what onnxruntime's basic optimiser makes of ``model``."""
    options = session_options(Optimisation.BASIC, threads=1)
    options.add_session_config_entry("session.disable_prepacking", "1")
    with tempfile.TemporaryDirectory(prefix="accnn.") as folder:
        path = Path(folder) / "folded.onnx"
        options.optimized_model_filepath = str(path)
        content = model.SerializeToString()
        _check_space(Path(folder), len(content))
        with refusals("load"):
            ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        del content
        return onnx.load(path)


def _check_space(folder: Path, size: int) -> None:
    """Check that a temporary file of about ``size`` bytes can be written.

    Raises:
        OptionError: It cannot.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        raise OptionError(
            f"{folder.parent} has {free} bytes left, folding the model takes about {size}",
            hint="set TMPDIR to a folder with more space",
        )


def _pool_instead_of_mean(model: ModelProto) -> bool:
    """Replace every mean over height and width of ``[N, C, H, W]``; say whether there was any."""
    constants = _small_constants(model)
    types = value_infos(model)
    means = [_is_spatial_mean(node, constants, types) for node in model.graph.node]
    if not any(means):
        return False
    pairs = zip(model.graph.node, means, strict=True)
    nodes = [new for node, is_mean in pairs for new in (_global_pool(node) if is_mean else (node,))]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return True


def _add_instead_of_sum(model: ModelProto) -> None:
    """Replace every sum of two, as Caffe2 exports residual additions."""
    for node in model.graph.node:
        if node.op_type == "Sum" and node.domain in _STANDARD_DOMAINS and len(node.input) == 2:
            node.op_type = "Add"


def _small_constants(model: ModelProto) -> dict[str, tuple[int, ...]]:
    return {
        w.name: tuple(int(v) for v in numpy_helper.to_array(w).ravel())
        for w in model.graph.initializer
        if w.data_type == TensorProto.INT64 and not _is_large(w)
    }


def _is_spatial_mean(
    node: NodeProto, constants: dict[str, tuple[int, ...]], types: dict[str, ValueInfoProto]
) -> bool:
    if node.op_type != "ReduceMean" or node.domain not in _STANDARD_DOMAINS:
        return False
    source = types.get(node.input[0])
    if source is None or len(source.type.tensor_type.shape.dim) != 4:
        return False
    axes: Sequence[int] = _attribute(node, "axes", ())
    if len(node.input) > 1:
        axes = constants.get(node.input[1], ())
    return sorted(axis % 4 for axis in axes) == [2, 3]


def _global_pool(node: NodeProto) -> tuple[NodeProto, ...]:
    source, result = node.input[0], node.output[0]
    if _attribute(node, "keepdims", 1):
        return (helper.make_node("GlobalAveragePool", [source], [result], node.name),)
    pooled = f"{result}/pooled"
    return (
        helper.make_node("GlobalAveragePool", [source], [pooled], node.name),
        helper.make_node("Flatten", [pooled], [result], f"{node.name}/flatten", axis=1),
    )


def _attribute(node: NodeProto, name: str, default: Any) -> Any:
    for attribute in node.attribute:
        if attribute.name == name:
            return helper.get_attribute_value(attribute)
    return default


def _order_initialisers(model: ModelProto) -> None:
    """Sort initialisers by first use; onnxruntime writes them in the order of a hash table."""
    uses = (name for node in model.graph.node for name in _all_inputs(node))
    position = {name: i for i, name in reversed(list(enumerate(uses)))}
    model.graph.initializer.sort(key=lambda w: (position.get(w.name, -1), w.name))


def _all_inputs(node: NodeProto) -> Iterable[str]:
    """Yield the inputs of ``node`` and of the nodes in its branches and bodies."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _all_inputs(inner)


def _drop_unused_opsets(model: ModelProto) -> None:
    """Drop the domains that onnxruntime adds and no node uses."""
    used = {node.domain for node in model.graph.node} | set(_STANDARD_DOMAINS)
    kept = [o for o in model.opset_import if o.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def _drop_dead(model: ModelProto) -> None:
    """Drop nodes that no output needs, and types of tensors that nobody makes any more."""
    needed = {output.name for output in model.graph.output}
    nodes: list[NodeProto] = []
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            needed.update(_all_inputs(node))
            nodes.append(node)
    known = [info for info in model.graph.value_info if info.name in needed]
    del model.graph.node[:], model.graph.value_info[:]
    model.graph.node.extend(reversed(nodes))
    model.graph.value_info.extend(known)


def _infer_types(model: ModelProto) -> None:
    """Store the type of every tensor, found on a copy without the large weights."""
    inferred = infer_shapes(skeleton(model), data_prop=True)
    del model.graph.value_info[:]
    model.graph.value_info.extend(inferred.graph.value_info)
