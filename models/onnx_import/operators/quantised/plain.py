"""Import of quantisation as arithmetic of numbers, where it cannot be the type of a tensor."""

from .....ir.types import DType
from ...arguments import normal_axis
from ...builder import Builder
from ...node import Node
from ..chain import Chain


def quantise_plainly(node: Node, b: Builder, dtype: DType) -> None:
    """Bind ``saturate(round(x / scale) + zero point)``.

    Args:
        node: A ``QuantizeLinear``.
        b: The graph under construction.
        dtype: Element type of the result.

    Raises:
        ModelError: float32 does not hold all numbers of the type.
    """
    if dtype.bytes > 2:
        raise node.refusal(f"quantises to {dtype}; supported: 8 and 16 bits")
    chain = Chain(node, b)
    steps = chain("round", chain("div", chain.cast(chain.input(0), DType.F32), _scale(chain)))
    if node.has_input(2):
        steps = chain("add", steps, chain.cast(_spread(chain, 2), DType.F32))
    low, high = dtype.range
    chain.bind(chain.cast(chain("clip", steps, lo=float(low), hi=float(high)), dtype))


def dequantise_plainly(node: Node, b: Builder) -> None:
    """Bind ``(x - zero point) * scale``; int32 is subtracted as such.

    Args:
        node: A ``DequantizeLinear``.
        b: The graph under construction.
    """
    chain = Chain(node, b)
    x = chain.input(0)
    exact = DType.S32 if chain.dtype(x).bytes > 2 else DType.F32
    x = chain.cast(x, exact)
    if node.has_input(2):
        x = chain("sub", x, chain.cast(_spread(chain, 2), exact))
    chain.bind(chain("mul", chain.cast(x, DType.F32), _scale(chain)))


def _scale(chain: Chain) -> str:
    return chain.cast(_spread(chain, 1), DType.F32)


def _spread(chain: Chain, index: int) -> str:
    """Return scales or zero points in a shape that broadcasts to the operand's."""
    node, value = chain.node, chain.input(index)
    source, shape = chain.b.type_of(node.input(0)).shape, chain.shape(value)
    scales = chain.b.type_of(node.input(1))
    if chain.b.types[value].elements != scales.elements:
        points = chain.b.types[value].elements
        raise node.refusal(f"has {scales.elements} scales and {points} zero points")
    block = node.int("block_size", 0)
    if chain.b.types[value].elements == 1 and not block:
        return chain.reshape(value, ())
    axis = normal_axis(node, node.int("axis", 1), len(source))
    if not block:
        return chain.reshape(value, (*shape, *(1,) * (len(source) - axis - 1)))
    repeats = tuple(block if other == axis else 1 for other in range(len(source)))
    return chain.slice(chain("repeat", value, repeats=repeats), axis, 0, source[axis])
