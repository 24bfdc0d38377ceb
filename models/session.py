"""onnxruntime sessions for reference runs, set up so that integer results are well defined.

*Which settings matter.* A QDQ graph with s8 activations runs in integers only if the session allows
it (``session.qdqisint8allowed``), and equals the QOperator form only at the *extended* level: below
it, quantised operators run as float operators between dequantise and quantise.

*What it may not rewrite.* A softmax between dequantise and quantise means float arithmetic, but the
extended level makes it an integer approximation. A float output that is also moved and quantised is
quantised before it is returned, and what a max pool reads is quantised before it finds the places
of the maxima. ``as_written`` prevents these. What is quantised twice in a row, by
different scales, would be rounded once: ``session.disable_double_qdq_remover`` prevents that.

*Which machines matter.* On x86 without VNNI, onnxruntime multiplies u8 by s8 with an instruction
whose 16-bit sums of two products saturate. Here u8 is multiplied by u8 instead
(:mod:`.byte_products`): the option against it, ``session.x64quantprecision``, makes products
of s8 and u8 of those of s8 and s8, which no operator computes.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias, cast

import onnxruntime as ort
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper

from ..ir.errors import ModelError
from .byte_products import with_exact_products

Array = NDArray[Any]
Model: TypeAlias = ModelProto
"""An ONNX model, for code that only passes it on."""


class Optimisation(StrEnum):
    """How far onnxruntime may rewrite a graph before it runs."""

    NONE = "none"
    BASIC = "basic"
    EXTENDED = "extended"
    ALL = "all"


_binding = cast(Any, ort)  # the compiled half of onnxruntime has no type stubs
_LEVELS: dict[Optimisation, Any] = {
    Optimisation.NONE: _binding.GraphOptimizationLevel.ORT_DISABLE_ALL,
    Optimisation.BASIC: _binding.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    Optimisation.EXTENDED: _binding.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    Optimisation.ALL: _binding.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
_ONLY_FATAL = 4
_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (?:\S+:\d+ .*\) )?")
"""What onnxruntime puts before a message: its class, and where in the sources it was raised."""


def session_options(
    optimisation: Optimisation | str = Optimisation.EXTENDED, *, threads: int = 0
) -> Any:
    """Return ``onnxruntime.SessionOptions`` that are quiet, keep integers, do not spin.

    What tensors took is given back at once: sessions here run few samples, at the time when a
    compilation takes most memory.

    Args:
        optimisation: How far to rewrite the graph.
        threads: Threads per operator; 0 leaves the choice to onnxruntime.
    """
    options = _binding.SessionOptions()
    options.graph_optimization_level = _LEVELS[Optimisation(optimisation)]
    options.log_severity_level = _ONLY_FATAL
    options.intra_op_num_threads = threads
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.add_session_config_entry("session.disable_double_qdq_remover", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def make_session(
    model: ModelProto,
    *,
    optimisation: Optimisation | str = Optimisation.EXTENDED,
    threads: int = 0,
) -> ort.InferenceSession:
    """Return a CPU session that runs ``model`` with well-defined integer semantics.

    Args:
        model: A model with all its weights inside (below 2 GiB).
        optimisation: How far to rewrite the graph; QDQ models need ``extended``.
        threads: Threads per operator; 0 leaves the choice to onnxruntime.

    Raises:
        ModelError: onnxruntime cannot load the model.
    """
    with refusals("load"):
        return ort.InferenceSession(
            with_exact_products(model).SerializeToString(),
            sess_options=session_options(optimisation, threads=threads),
            providers=["CPUExecutionProvider"],
        )


def as_written(model: ModelProto) -> ModelProto:
    """Return a model whose float tensors onnxruntime computes as the graph says, in floats.

    The result of each softmax becomes an output, because what a model returns is not fused away.
    Each output that nodes read, too, is returned as a copy: onnxruntime moves quantisation in front
    of operators that only move data, and forgets that what they read may be an output, or that a
    max pool also tells places, which depend on what is equal. Its maxima are returned then, too.
    Ask for the other outputs by name.
    """
    result = ModelProto()
    result.CopyFrom(model)
    nodes = result.graph.node
    placed = [node for node in nodes if node.op_type == "MaxPool" and any(node.output[1:])]
    _show(result, [node.output[0] for node in placed if node.output[0]])
    _copy_outputs(result)
    _show(result, [node.output[0] for node in nodes if node.op_type == "Softmax"])
    return result


def _show(model: ModelProto, names: Sequence[str]) -> None:
    """Let a model return tensors of the given names, too."""
    shown = {output.name for output in model.graph.output}
    model.graph.output.extend(
        helper.make_empty_tensor_value_info(name) for name in names if name not in shown
    )


def _copy_outputs(model: ModelProto) -> None:
    """Return copies of the outputs that nodes read, so that these read another tensor."""
    graph = model.graph
    read = {name for node in graph.node for name in node.input}
    made = {name for node in graph.node for name in node.output}
    shown = [output.name for output in graph.output]
    originals = {name: f"{name}/read" for name in shown if name in read & made}
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [originals.get(name, name) for name in names]
    graph.node.extend(
        helper.make_node("Identity", [original], [name]) for name, original in originals.items()
    )


def returning(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """Let a model return float tensors of the given names, in order, and nothing else."""
    del model.graph.output[:]
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
    )
    return model


@contextmanager
def refusals(what: str) -> Generator[None]:
    """Turn what onnxruntime raises into a ``ModelError`` of one line.

    Its exceptions are many, and only their module is common to them.

    Args:
        what: What it was asked to do with the model.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        text = " ".join(_PREFIX.sub("", str(error)).split())
        raise ModelError(f"onnxruntime cannot {what} the model: {text}") from error


def run(
    session: ort.InferenceSession, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
) -> dict[str, Array]:
    """Return the named outputs of a run, all of them by default, in order.

    Args:
        session: Where to run.
        feeds: Every input by name.
        outputs: Names of the outputs to compute.

    Raises:
        ModelError: onnxruntime cannot run the model.
    """
    declared = [str(output.name) for output in cast(Any, session).get_outputs()]
    names = declared if outputs is None else list(outputs)
    with refusals("run"):
        results = cast(Sequence[Array], session.run(names, dict(feeds)))
    return dict(zip(names, results, strict=True))


def save_model(model: Model, path: Path) -> None:
    """Write a model, the same bytes for the same model."""
    path.write_bytes(serialized(model))


def serialized(model: Model) -> bytes:
    """Return the bytes of a model, the same for the same model."""
    return model.SerializeToString(deterministic=True)
