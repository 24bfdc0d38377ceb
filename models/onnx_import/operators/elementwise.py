"""Import of element-wise functions: one line in the table of operators each."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from ....ir.graph import Attr
from ....ir.types import DType
from ..arguments import scalar_input
from ..builder import Builder
from ..node import Node
from ..tensors import computed_type
from .chain import Chain


def import_unary(
    kind: str, node: Node, b: Builder, attrs: Mapping[str, Attr] | None = None
) -> None:
    """Import an operator of one operand.

    Args:
        kind: Kind of our operator.
        node: The ONNX node.
        b: The graph under construction.
        attrs: Attributes of our operator.
    """
    out = node.outputs[0]
    b.bind(out, b.emit(kind, (b.value(node.input(0)),), out, node, attrs=attrs))


def unary(kind: str, **numbers: float) -> Callable[[Node, Builder], None]:
    """Return the import of a function of one operand.

    Args:
        kind: Kind of our operator.
        numbers: Defaults of the attributes that it takes, by name.
    """

    def run(node: Node, b: Builder) -> None:
        attrs = {name: node.float(name, default) for name, default in numbers.items()}
        import_unary(kind, node, b, attrs)

    return run


def pair(kind: str) -> Callable[[Node, Builder], None]:
    """Return the import of a function of two operands, or of more from left to right."""

    def run(node: Node, b: Builder) -> None:
        out, total = node.outputs[0], b.value(node.input(0))
        last = len(node.inputs) - 1
        for index in range(1, last + 1):
            name = out if index == last else f"{out}.part"
            total = b.emit(kind, (total, b.value(node.input(index))), name, node)
        b.bind(out, total)

    return run


def swapped(kind: str) -> Callable[[Node, Builder], None]:
    """Return the import of a function of two operands that ours takes the other way round."""

    def run(node: Node, b: Builder) -> None:
        out = node.outputs[0]
        b.bind(out, b.emit(kind, (b.value(node.input(1)), b.value(node.input(0))), out, node))

    return run


def mean(node: Node, b: Builder) -> None:
    """``Mean`` of any number of operands."""
    chain, count = Chain(node, b), len(node.inputs)
    total = chain.input(0)
    for index in range(1, count):
        total = chain("add", total, chain.input(index))
    chain.bind(chain("div", total, chain.constant(count)))


def clip(node: Node, b: Builder) -> None:
    """``Clip``; infinite bounds do not count, computed ones and integers take two steps."""
    bounds = [index for index in (1, 2) if node.has_input(index)]
    is_float = b.type_of(node.input(0)).dtype is DType.F32
    if is_float and all(b.numbers(node.input(index)) is not None for index in bounds):
        _clip_by_constants(node, b)
        return
    chain, value = Chain(node, b), b.value(node.input(0))
    for index in bounds:
        value = chain("max" if index == 1 else "min", value, chain.input(index))
    chain.bind(value)


def _clip_by_constants(node: Node, b: Builder) -> None:
    bounds = {
        "lo": scalar_input(b, node, 1, "lower bound"),
        "hi": scalar_input(b, node, 2, "upper bound"),
    }
    if node.opset < 11:
        bounds = {"lo": node.float("min", -_F32_MAX), "hi": node.float("max", _F32_MAX)}
    finite = {name: x for name, x in bounds.items() if x is not None and abs(x) < _F32_MAX}
    if any(math.isnan(x) for x in bounds.values() if x is not None):
        raise node.refusal("has a bound that is not a number")
    import_unary("clip", node, b, dict(finite))


_F32_MAX = float(np.finfo(np.float32).max)


def power(node: Node, b: Builder) -> None:
    """``Pow``; integers are computed as floats, a square as a product."""
    chain = Chain(node, b)
    base, wanted = chain.input(0), chain.dtype(chain.input(0))
    exponent = b.numbers(node.input(1))
    x = chain.cast(base, DType.F32)
    if exponent is not None and exponent.size == 1 and float(exponent.reshape(-1)[0]) == 2.0:
        result = chain("mul", x, x)
    else:
        result = chain("pow", x, chain.cast(chain.input(1), DType.F32))
    if wanted is not DType.F32:
        result = chain.cast(chain("round", result), wanted)
    chain.bind(result)


def modulo(node: Node, b: Builder) -> None:
    """``Mod``."""
    pair("fmod" if node.int("fmod", 0) else "mod")(node, b)


def shift(node: Node, b: Builder) -> None:
    """``BitShift``."""
    pair("shift_left" if node.str("direction", "") == "LEFT" else "shift_right")(node, b)


def gelu(node: Node, b: Builder) -> None:
    """``Gelu``, exact or by the hyperbolic tangent."""
    import_unary("gelu" if node.str("approximate", "none") == "none" else "gelu_tanh", node, b)


def where(node: Node, b: Builder) -> None:
    """``Where``."""
    chain = Chain(node, b)
    chain.bind(chain("where", *_chosen(chain), dtype=chain.dtype(chain.input(1))))


def _chosen(chain: Chain) -> tuple[str, str, str]:
    return chain.input(0), chain.input(1), chain.input(2)


def cast(node: Node, b: Builder) -> None:
    """``Cast``."""
    _cast_to(node, b, computed_type(node.int("to", 0), f"{node.loc} makes what"))


def cast_like(node: Node, b: Builder) -> None:
    """``CastLike``."""
    _cast_to(node, b, b.type_of(node.input(1)).dtype)


def _cast_to(node: Node, b: Builder, dtype: DType) -> None:
    if b.type_of(node.input(0)).dtype is dtype:
        b.alias(node.outputs[0], node.input(0))
        return
    out = node.outputs[0]
    b.bind(out, b.emit("cast", (b.value(node.input(0)),), out, node, dtype=dtype))


def is_nan(node: Node, b: Builder) -> None:
    """``IsNaN``: what does not equal itself."""
    chain = Chain(node, b)
    chain.bind(chain("not", chain("equal", chain.input(0), chain.input(0))))


def is_inf(node: Node, b: Builder) -> None:
    """``IsInf`` of either sign, or of one."""
    chain = Chain(node, b)
    positive, negative = node.int("detect_positive", 1), node.int("detect_negative", 1)
    x = chain.input(0)
    if positive and negative:
        x = chain("abs", x)
    elif not positive:
        x = chain("neg", x)
    bound = np.inf if positive or negative else np.nan
    chain.bind(chain("equal", x, chain.constant(bound)))
