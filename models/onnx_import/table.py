"""The table of supported ONNX operators: import function and opsets; add an operator here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import arithmetic, convolution, layout, qdq, qoperator
from .builder import Builder
from .node import Node

OLDEST_OPSET = 11
NEWEST_OPSET = 26

ONNX = ""
MICROSOFT = "com.microsoft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """How one ONNX operator is imported.

    Attributes:
        run: Adds the node to the graph under construction.
        first: Oldest supported opset of its domain.
        last: Newest one.
    """

    run: Callable[[Node, Builder], None]
    first: int = OLDEST_OPSET
    last: int = NEWEST_OPSET


def _onnx(run: Callable[[Node, Builder], None], first: int = OLDEST_OPSET) -> Operator:
    return Operator(run=run, first=first)


def _microsoft(run: Callable[[Node, Builder], None]) -> Operator:
    return Operator(run=run, first=1, last=1)


OPERATORS: Mapping[tuple[str, str], Operator] = {
    (ONNX, "Add"): _onnx(arithmetic.add),
    (ONNX, "AveragePool"): _onnx(convolution.average_pool),
    (ONNX, "BatchNormalization"): _onnx(arithmetic.batch_normalization),
    (ONNX, "Clip"): _onnx(arithmetic.clip),
    (ONNX, "Concat"): _onnx(layout.concat),
    (ONNX, "Constant"): _onnx(layout.constant),
    (ONNX, "Conv"): _onnx(convolution.conv),
    (ONNX, "DequantizeLinear"): _onnx(qdq.dequantize_linear),
    (ONNX, "Dropout"): _onnx(layout.dropout),
    (ONNX, "Flatten"): _onnx(layout.flatten),
    (ONNX, "Gemm"): _onnx(arithmetic.gemm),
    (ONNX, "GlobalAveragePool"): _onnx(convolution.global_average_pool),
    (ONNX, "GlobalMaxPool"): _onnx(convolution.global_max_pool),
    (ONNX, "Identity"): _onnx(layout.identity),
    (ONNX, "LeakyRelu"): _onnx(arithmetic.leaky_relu),
    (ONNX, "MatMul"): _onnx(arithmetic.matmul),
    (ONNX, "MaxPool"): _onnx(convolution.max_pool),
    (ONNX, "Mul"): _onnx(arithmetic.mul),
    (ONNX, "QLinearConv"): _onnx(qoperator.qlinear_conv),
    (ONNX, "QLinearMatMul"): _onnx(qoperator.qlinear_matmul),
    (ONNX, "QuantizeLinear"): _onnx(qdq.quantize_linear),
    (ONNX, "ReduceMean"): _onnx(convolution.reduce_mean),
    (ONNX, "Relu"): _onnx(arithmetic.relu),
    (ONNX, "Reshape"): _onnx(layout.reshape),
    (ONNX, "Shape"): _onnx(layout.shape),
    (ONNX, "Sigmoid"): _onnx(arithmetic.sigmoid),
    (ONNX, "Size"): _onnx(layout.size),
    (ONNX, "Softmax"): _onnx(arithmetic.softmax),
    (ONNX, "Squeeze"): _onnx(layout.squeeze),
    (ONNX, "Sum"): _onnx(arithmetic.add),
    (ONNX, "Tanh"): _onnx(arithmetic.tanh),
    (ONNX, "Transpose"): _onnx(layout.transpose),
    (ONNX, "Unsqueeze"): _onnx(layout.unsqueeze),
    (MICROSOFT, "DequantizeLinear"): _microsoft(qdq.dequantize_linear),
    (MICROSOFT, "QGemm"): _microsoft(qoperator.qgemm),
    (MICROSOFT, "QLinearAdd"): _microsoft(qoperator.qlinear_add),
    (MICROSOFT, "QLinearAveragePool"): _microsoft(qoperator.qlinear_average_pool),
    (MICROSOFT, "QLinearConcat"): _microsoft(qoperator.qlinear_concat),
    (MICROSOFT, "QLinearGlobalAveragePool"): _microsoft(qoperator.qlinear_global_average_pool),
    (MICROSOFT, "QLinearLeakyRelu"): _microsoft(qoperator.qlinear_leaky_relu),
    (MICROSOFT, "QLinearMul"): _microsoft(qoperator.qlinear_mul),
    (MICROSOFT, "QLinearSigmoid"): _microsoft(qoperator.qlinear_sigmoid),
    (MICROSOFT, "QuantizeLinear"): _microsoft(qdq.quantize_linear),
}
"""Every supported operator by domain and name; ``folding.py`` evaluates more on constants."""


def operator_for(node: Node) -> Operator:
    """Return how to import a node.

    Raises:
        ModelError: The operator is not supported, or not at the model's opset.
    """
    domain = node.domain or "ai.onnx"
    found = OPERATORS.get((node.domain, node.kind))
    if found is None:
        names = sorted(kind for place, kind in OPERATORS if place == node.domain)
        error = node.refusal(f"is not supported (domain {domain}, opset {node.opset})")
        error.hint = f"supported in {domain}: {', '.join(names) or 'nothing'}"
        raise error
    if not found.first <= node.opset <= found.last:
        raise node.refusal(
            f"is not supported at opset {node.opset} of {domain} ({found.first} to {found.last})"
        )
    return found
