"""The table of supported ONNX operators: import function and opsets; add an operator here."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import onnx.defs

from ...ir.errors import ModelError
from .builder import Builder
from .node import Node
from .operators import elementwise as each
from .operators import normalisation, pooling
from .operators import reductions as reduce
from .operators.elementwise import pair, swapped, unary
from .operators.moves import layout, moving, ordering, sampling, scattering
from .operators.moves.resizing import resize, upsample
from .operators.products import convolution, recurrent, transforms
from .operators.products import matrices as products
from .operators.products.dimensions import global_pool, of_any_rank, pool3d
from .operators.products.einsum import einsum
from .operators.products.transposed import col2im, conv_transpose
from .operators.quantised import integers, qdq, qoperator
from .operators.reductions import reduction

OLDEST_OPSET = 7
NEWEST_OPSET = 28

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


_Run = Callable[[Node, Builder], None]

_FUNCTIONS: Mapping[str, _Run] = {
    "Abs": unary("abs"),
    "Acos": unary("acos"),
    "Acosh": unary("acosh"),
    "Asin": unary("asin"),
    "Asinh": unary("asinh"),
    "Atan": unary("atan"),
    "Atanh": unary("atanh"),
    "BitwiseNot": unary("not"),
    "Ceil": unary("ceil"),
    "Celu": unary("celu", alpha=1.0),
    "Clip": each.clip,
    "Cos": unary("cos"),
    "Cosh": unary("cosh"),
    "Elu": unary("elu", alpha=1.0),
    "Erf": unary("erf"),
    "Exp": unary("exp"),
    "Floor": unary("floor"),
    "Gelu": each.gelu,
    "HardSigmoid": unary("hard_sigmoid", alpha=0.2, beta=0.5),
    "HardSwish": unary("hard_swish"),
    "IsInf": each.is_inf,
    "IsNaN": each.is_nan,
    "LeakyRelu": unary("leaky_relu", alpha=0.01),
    "Log": unary("log"),
    "Mish": unary("mish"),
    "Neg": unary("neg"),
    "Not": unary("not"),
    "Reciprocal": unary("reciprocal"),
    "Relu": unary("relu"),
    "Round": unary("round"),
    "Selu": unary("selu", alpha=1.6732632423543772, gamma=1.0507009873554805),
    "Shrink": unary("shrink", lambd=0.5, bias=0.0),
    "Sigmoid": unary("sigmoid"),
    "Sign": unary("sign"),
    "Sin": unary("sin"),
    "Sinh": unary("sinh"),
    "Softplus": unary("softplus"),
    "Softsign": unary("softsign"),
    "Sqrt": unary("sqrt"),
    "Swish": unary("swish", alpha=1.0),
    "Tan": unary("tan"),
    "Tanh": unary("tanh"),
    "ThresholdedRelu": unary("thresholded_relu", alpha=1.0),
}

_PAIRS: Mapping[str, _Run] = {
    "Add": pair("add"),
    "And": pair("and"),
    "BitShift": each.shift,
    "BitwiseAnd": pair("and"),
    "BitwiseOr": pair("or"),
    "BitwiseXor": pair("xor"),
    "Cast": each.cast,
    "CastLike": each.cast_like,
    "Div": pair("div"),
    "Equal": pair("equal"),
    "Greater": swapped("less"),
    "GreaterOrEqual": swapped("less_or_equal"),
    "Less": pair("less"),
    "LessOrEqual": pair("less_or_equal"),
    "Max": pair("max"),
    "Mean": each.mean,
    "Min": pair("min"),
    "Mod": each.modulo,
    "Mul": pair("mul"),
    "Or": pair("or"),
    "PRelu": pair("prelu"),
    "Pow": each.power,
    "Sub": pair("sub"),
    "Sum": pair("add"),
    "Where": each.where,
    "Xor": pair("xor"),
}

_REDUCTIONS: Mapping[str, _Run] = {
    "ArgMax": reduce.position("arg_max"),
    "ArgMin": reduce.position("arg_min"),
    "CumProd": reduce.cumulative_product,
    "CumSum": reduce.cumulative_sum,
    "Hardmax": reduce.hardmax,
    "LogSoftmax": reduce.log_softmax,
    "ReduceL1": reduction("sum", before=lambda chain, x: chain("abs", x)),
    "ReduceL2": reduction("sum", before=reduce.square, after=lambda chain, x: chain("sqrt", x)),
    "ReduceLogSum": reduction("sum", after=lambda chain, x: chain("log", x)),
    "ReduceLogSumExp": reduce.log_sum_exp,
    "ReduceMax": reduction("max"),
    "ReduceMean": reduce.reduce_mean,
    "ReduceMin": reduction("min"),
    "ReduceProd": reduction("prod"),
    "ReduceSum": reduction("sum", axes_input=13),
    "ReduceSumSquare": reduction("sum", before=reduce.square),
    "Softmax": reduce.softmax,
    "TopK": ordering.top_k,
}

_NORMALISATIONS: Mapping[str, _Run] = {
    "BatchNormalization": products.batch_normalization,
    "GroupNormalization": normalisation.group_normalization,
    "InstanceNormalization": normalisation.instance_normalization,
    "LRN": normalisation.local_response_normalization,
    "LayerNormalization": normalisation.layer_normalization,
    "LpNormalization": normalisation.lp_normalization,
    "MeanVarianceNormalization": normalisation.mean_variance_normalization,
    "RMSNormalization": normalisation.rms_normalization,
}

_MOVES: Mapping[str, _Run] = {
    "Compress": moving.compress,
    "Concat": layout.concat,
    "Constant": layout.constant,
    "DepthToSpace": moving.depth_to_space,
    "Dropout": layout.dropout,
    "Expand": moving.expand,
    "EyeLike": layout.eye_like,
    "Flatten": layout.flatten,
    "Gather": moving.gather,
    "GatherElements": moving.gather_elements,
    "GatherND": moving.gather_nd,
    "Identity": layout.identity,
    "OneHot": moving.one_hot,
    "Pad": moving.pad,
    "OptionalGetElement": layout.identity,
    "OptionalHasElement": layout.has_element,
    "Reshape": layout.reshape,
    "ReverseSequence": moving.reverse_sequence,
    "Scatter": scattering.scatter_elements,
    "ScatterElements": scattering.scatter_elements,
    "ScatterND": scattering.scatter_nd,
    "Shape": layout.shape,
    "Size": layout.size,
    "Slice": moving.slices,
    "SpaceToDepth": moving.space_to_depth,
    "Split": moving.split,
    "Squeeze": layout.squeeze,
    "TensorScatter": scattering.tensor_scatter,
    "Tile": moving.tile,
    "Transpose": layout.transpose,
    "Trilu": moving.triangle,
    "Unsqueeze": layout.unsqueeze,
    "Upsample": upsample,
}

_MAC: Mapping[str, _Run] = {
    "AveragePool": of_any_rank(pool3d(convolution.average_pool)),
    "Col2Im": col2im,
    "Conv": of_any_rank(convolution.conv),
    "ConvInteger": of_any_rank(integers.conv_integer),
    "ConvTranspose": of_any_rank(conv_transpose),
    "DequantizeLinear": qdq.dequantize_linear,
    "Einsum": einsum,
    "Gemm": products.gemm,
    "GlobalAveragePool": global_pool(convolution.global_average_pool),
    "GlobalMaxPool": global_pool(convolution.global_max_pool),
    "GlobalLpPool": pooling.global_lp_pool,
    "DFT": transforms.dft,
    "GridSample": sampling.grid_sample,
    "STFT": transforms.stft,
    "LpPool": of_any_rank(pool3d(pooling.lp_pool)),
    "MatMul": products.matmul,
    "MatMulInteger": integers.matmul_integer,
    "MaxPool": of_any_rank(pool3d(pooling.max_pool_with_places)),
    "QLinearConv": qoperator.qlinear_conv,
    "QLinearMatMul": qoperator.qlinear_matmul,
    "QuantizeLinear": qdq.quantize_linear,
}

_RECURRENT: Mapping[str, _Run] = {
    "GRU": recurrent.gru,
    "LSTM": recurrent.lstm,
    "RNN": recurrent.rnn,
}

_MICROSOFT: Mapping[str, _Run] = {
    "DequantizeLinear": qdq.dequantize_linear,
    "QGemm": qoperator.qgemm,
    "QLinearAdd": qoperator.qlinear_add,
    "QLinearAveragePool": qoperator.qlinear_average_pool,
    "QLinearConcat": qoperator.qlinear_concat,
    "QLinearGlobalAveragePool": qoperator.qlinear_global_average_pool,
    "QLinearLeakyRelu": qoperator.qlinear_leaky_relu,
    "QLinearMul": qoperator.qlinear_mul,
    "QLinearSigmoid": qoperator.qlinear_sigmoid,
    "QLinearSoftmax": qoperator.qlinear_softmax,
    "QuantizeLinear": qdq.quantize_linear,
}

_FAMILIES = (_FUNCTIONS, _PAIRS, _REDUCTIONS, _NORMALISATIONS, _MOVES, _MAC, _RECURRENT)

OPERATORS: Mapping[tuple[str, str], Operator] = {
    **{(ONNX, kind): Operator(run=run) for family in _FAMILIES for kind, run in family.items()},
    (ONNX, "Resize"): Operator(run=resize, first=11),
    **{(MICROSOFT, kind): Operator(run=run, first=1, last=1) for kind, run in _MICROSOFT.items()},
}
"""Every supported operator by domain and name; ``folding.py`` evaluates more on constants."""


def is_supported(node: Node) -> bool:
    """Whether the table has a node's operator, at some opset."""
    return (node.domain, node.kind) in OPERATORS


def refuse_unsupported(nodes: Iterable[Node]) -> None:
    """Refuse a network that has operators which the table lacks.

    Raises:
        ModelError: Names each operator, its first node, how many there are, and its opset.
    """
    found = [node for node in nodes if not is_supported(node)]
    if found:
        raise _unsupported(found)


def _unsupported(found: Sequence[Node]) -> ModelError:
    counts = Counter((node.domain, node.kind) for node in found)
    nodes = {(node.domain, node.kind): node for node in reversed(found)}
    domains = dict.fromkeys(domain for domain, _ in counts)
    known = {
        domain: ", ".join(sorted(kind for place, kind in OPERATORS if place == domain))
        for domain in domains
    }
    hint = "; ".join(
        f"supported in {_shown(name)}: {text or 'nothing'}" for name, text in known.items()
    )
    reasons = "; ".join(
        f"{_and_others(nodes[key].loc, count)} not supported "
        f"(domain {_shown(nodes[key].domain)}, opset {nodes[key].opset})"
        for key, count in counts.items()
    )
    return ModelError(reasons, hint=hint)


def _and_others(loc: str, count: int) -> str:
    return f"{loc} is" if count == 1 else f"{loc} and {count - 1} more of its kind are"


def _shown(domain: str) -> str:
    return domain or "ai.onnx"


def operator_for(node: Node) -> Operator:
    """Return how to import a node.

    Raises:
        ModelError: The operator is not supported, or not at the model's opset.
    """
    found = OPERATORS.get((node.domain, node.kind))
    if found is None:
        raise _unsupported([node])
    if not (found.first <= node.opset <= found.last or _is_as_at(node, found.first)):
        raise node.refusal(
            f"is not supported at opset {node.opset} of {_shown(node.domain)} "
            f"({found.first} to {found.last})"
        )
    return found


def _is_as_at(node: Node, opset: int) -> bool:
    """Whether an operator of an older opset is defined as it still is at a newer one."""
    try:
        now = onnx.defs.get_schema(node.kind, opset, node.domain)
    except onnx.defs.SchemaError:
        return False
    return now.since_version <= node.opset < opset
