"""Steps that compute a function of each element, of one, two or more operands."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.end_to_end.random_onnx import Sketch, Tensor

from .step import Step, floats, positive, whole, within

_OF_ANY = (
    *("Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Elu", "Erf", "Floor", "HardSigmoid"),
    *("LeakyRelu", "Neg", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin"),
    *("Softplus", "Softsign", "Tanh", "ThresholdedRelu"),
)
"""Functions of any number."""

_NEWER = {"HardSwish": 14, "Mish": 18, "Gelu": 20}
"""More of them, and the opset that brought each."""

_ATTRIBUTES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "Celu": {"alpha": (0.5, 2.0)},
    "Elu": {"alpha": (0.3, 1.5)},
    "Gelu": {"approximate": ("none", "tanh")},
    "HardSigmoid": {"alpha": (0.1, 0.4), "beta": (0.3, 0.6)},
    "LeakyRelu": {"alpha": (0.2, 0.01, 1.5)},
    "Selu": {"alpha": (1.2,), "gamma": (0.9, 1.1)},
    "Shrink": {"lambd": (0.2, 0.7), "bias": (0.0, 0.3)},
    "ThresholdedRelu": {"alpha": (0.0, 0.4)},
}

_Guard = Callable[[Sketch, Tensor], Tensor]

_GUARDED: Mapping[str, _Guard] = {
    "Acos": within,
    "Acosh": lambda net, x: net.apply("Add", positive(net, x), net.scalar(0.75)),
    "Asin": within,
    "Atanh": within,
    "Cosh": within,
    "Exp": within,
    "Log": positive,
    "Reciprocal": positive,
    "Sinh": within,
    "Sqrt": positive,
    "Tan": within,
}
"""Functions of some numbers, and what makes others into these."""


def _unary(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    newer = [kind for kind, first in _NEWER.items() if first <= net.opset]
    kind = net.choose([net.choose(_OF_ANY), *newer])
    chosen = _ATTRIBUTES.get(kind, {}) if net.one_of(True, False) else {}
    return net.apply(kind, x, **{name: net.choose(values) for name, values in chosen.items()})


def _guarded(net: Sketch, x: Tensor) -> Tensor:
    kind = net.choose(tuple(_GUARDED))
    return net.apply(kind, _GUARDED[kind](net, x))


def _clip(net: Sketch, x: Tensor) -> Tensor:
    low, high = net.one_of((-0.5, 0.5), (None, 0.7), (-0.2, None), (0.5, -0.5), (0.0, 6.0))
    bounds = ["" if bound is None else net.scalar(bound) for bound in (low, high)]
    return net.apply("Clip", x, *bounds)


def _other(net: Sketch, x: Tensor) -> Tensor | str:
    """Return an operand that x can be broadcast with: constant, computed, or an input."""
    kept = tuple(net.one_of(extent, extent, 1) for extent in x.shape)
    shape = kept[net.one_of(*range(len(kept) + 1)) :]
    kind = net.one_of("constant", "constant", "input", "computed", "x")
    if kind == "x":
        return net.apply("Sigmoid", x)
    if kind == "constant":
        return net.weight(*shape)
    return net.input(*shape) if kind == "input" else net.computed(*shape)


def _pair(net: Sketch, x: Tensor) -> Tensor:
    kind = net.one_of("Add", "Sub", "Mul", "Max", "Min", "Mean", "Sum", "PRelu", "Div", "Pow")
    if kind == "PRelu":
        return net.apply(kind, x, net.weight(x.shape[-1], scale=0.2))
    if kind == "Pow":
        return net.apply(kind, positive(net, x), net.scalar(net.one_of(0.5, 2.0, 3.0, -1.0)))
    other = _other(net, x)
    if kind == "Div":
        return net.apply(kind, x, positive(net, net.apply("Identity", other)))
    pair = net.one_of((x, other), (other, x))
    more = (_other(net, x),) if kind in ("Max", "Min", "Mean", "Sum") and net.one_of(0, 1) else ()
    return net.apply(kind, *pair, *more)


def _modulo(net: Sketch, x: Tensor) -> Tensor:
    if net.one_of(True, False):
        return net.apply("Mod", x, net.scalar(net.one_of(0.75, 2.0)), fmod=1)
    divisor = net.constant(np.int32(net.one_of(3, 7, -4)))
    return floats(net, net.apply("Mod", whole(net, x, TensorProto.INT32), divisor))


def _compared(net: Sketch, x: Tensor) -> Tensor:
    kind = net.one_of("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "IsInf", "IsNaN")
    if kind.startswith("Is"):
        return net.apply(kind, x)
    return net.apply(kind, x, net.scalar(net.one_of(0.0, 0.31, -0.17)))


def _masked(net: Sketch, x: Tensor) -> Tensor:
    mask = _compared(net, x)
    if net.one_of(True, False):
        mask = net.apply(net.one_of("And", "Or", "Xor"), mask, _compared(net, x))
    if net.one_of(True, False):
        mask = net.apply("Not", mask)
    if net.one_of(True, False):
        return floats(net, mask)
    return net.apply("Where", mask, x, _other(net, x))


def _bits(net: Sketch, x: Tensor) -> Tensor:
    numbers = whole(net, x, TensorProto.INT32)
    kind = net.one_of("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
    others = () if kind == "BitwiseNot" else (net.constant(np.int32(net.one_of(5, 6, 12))),)
    found = net.apply(kind, numbers, *others)
    return net.apply("CastLike", found, x)


def _shift(net: Sketch, x: Tensor) -> Tensor:
    numbers = whole(net, x, TensorProto.UINT32)
    places = net.constant(np.uint32(net.one_of(0, 1, 3)))
    return floats(
        net, net.apply("BitShift", numbers, places, direction=net.one_of("LEFT", "RIGHT"))
    )


FUNCTIONS = (
    Step(_unary),
    Step(_unary),
    Step(_guarded),
    Step(_clip),
    Step(_pair),
    Step(_modulo),
    Step(_masked, first=20),
    Step(_bits, first=18),
    Step(_shift),
)
