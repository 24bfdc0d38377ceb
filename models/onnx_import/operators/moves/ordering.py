"""Import of ``TopK``: one element after the other."""

import numpy as np

from .....ir.types import DType
from ...arguments import constant_input, normal_axis
from ...builder import Builder
from ...node import Node
from ..chain import Chain


def top_k(node: Node, b: Builder) -> None:
    """``TopK`` with a constant ``k``: the first of the largest that are left, ``k`` times.

    Results are sorted, equal ones by their index. Unlike in onnxruntime, what is not a number is
    never found.
    """
    chain, x = Chain(node, b), b.value(node.input(0))
    shape, dtype = chain.shape(x), chain.dtype(x)
    axis = normal_axis(node, node.int("axis", -1), len(shape))
    count = int(constant_input(b, node, 1, "number k").reshape(-1)[0]) if node.opset > 9 else 0
    count = count or node.int("k", 0)
    if not 1 <= count <= shape[axis]:
        raise node.refusal(f"takes {count} of {shape[axis]} elements")
    values, places = _found(chain, x, axis, count)
    for number, parts, of in ((0, values, dtype), (1, places, DType.S64)):
        if any(node.outputs[number : number + 1]):
            joined = parts[0] if count == 1 else chain("concat", *parts, axis=axis)
            assert chain.dtype(joined) is of
            chain.bind(joined, number)


def _found(chain: Chain, x: str, axis: int, count: int) -> tuple[list[str], list[str]]:
    """Return values and places along an axis, in order."""
    shape, dtype = chain.shape(x), chain.dtype(x)
    is_largest = bool(chain.node.int("largest", 1))
    kind, spent = ("max", 0) if is_largest else ("min", 1)
    ends = (-np.inf, np.inf) if dtype is DType.F32 else dtype.range
    worst = chain.constant(ends[spent], dtype)
    numbers = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
    numbered, left = chain.constant(numbers, DType.S64), ""
    values, places = list[str](), list[str]()
    for number in range(count):
        rest = chain("where", left, x, worst, dtype=dtype) if left else x
        best = chain(f"reduce_{kind}", rest, axis=axis)
        hit = chain("equal", x, best)
        hit = chain("and", left, hit) if left else hit
        place = chain("reduce_arg_max", hit, axis=axis)
        values.append(best)
        places.append(place)
        if number + 1 < count:
            other = chain("not", chain("equal", numbered, place))
            left = chain("and", left, other) if left else chain.expand(other, shape)
    return values, places
