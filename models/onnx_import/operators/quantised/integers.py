"""Import of ``ConvInteger`` and ``MatMulInteger``: products of bytes that return int32.

They are computed as float products of integers, over so few channels at a time that every sum is
an integer which float32 holds.
"""

from collections.abc import Callable, Iterator

from .....ir.types import DType
from ...builder import Builder
from ...node import Node
from ..chain import Chain
from ..products.convolution import conv_attrs
from ..products.matrices import matrix_product

_EXACT = 2**24 // 255**2
"""Products of two differences of bytes that float32 adds up without rounding."""


def matmul_integer(node: Node, b: Builder) -> None:
    """``MatMulInteger``."""
    chain = Chain(node, b)
    x, w = _less_zero(chain, 0, 2), _less_zero(chain, 1, 3)
    axis = max(0, len(chain.shape(w)) - 2)

    def part(start: int, count: int) -> str:
        columns = chain.slice(x, len(chain.shape(x)) - 1, start, count)
        return matrix_product(chain, columns, chain.slice(w, axis, start, count))

    chain.bind(_summed(chain, _pieces(chain.shape(w)[axis], _EXACT), part))


def conv_integer(node: Node, b: Builder) -> None:
    """``ConvInteger``."""
    chain, groups = Chain(node, b), node.int("group", 1)
    x, w = _less_zero(chain, 0, 2), _less_zero(chain, 1, 3, first=True)
    attrs = conv_attrs(node, b, node.input(0), chain.shape(w))
    _, per_group, R, S = chain.shape(w)
    channels = _EXACT // (R * S)
    if channels < 1 or (groups > 1 and per_group > channels):
        raise node.refusal(f"adds up {per_group * R * S} products, more than float32 does exactly")

    def part(start: int, count: int) -> str:
        whole = chain.shape(x)[1] if groups > 1 else count
        at = chain.slice(x, 1, start, whole)
        return chain.emit("conv2d", (at, chain.slice(w, 1, start, count)), attrs)

    chain.bind(_summed(chain, _pieces(per_group, channels), part))


def _pieces(extent: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield start and size of the parts of an extent."""
    for start in range(0, extent, most):
        yield start, min(most, extent - start)


def _summed(
    chain: Chain, pieces: Iterator[tuple[int, int]], part: Callable[[int, int], str]
) -> str:
    """Return the sum of all parts as int32."""
    total = ""
    for start, count in pieces:
        found = chain.cast(part(start, count), DType.S32)
        total = chain("add", total, found) if total else found
    return total


def _less_zero(chain: Chain, index: int, zero: int, *, first: bool = False) -> str:
    """Return an operand less its zero point, as floats.

    Args:
        chain: Where operators are added.
        index: Number of the input.
        zero: Number of the zero point's input.
        first: Whether several zero points belong to the first axis; else a matrix has one for
            each row of the first operand, or each column of the second.
    """
    x = chain.cast(chain.input(index), DType.F32)
    if not chain.node.has_input(zero):
        return x
    point, rank = chain.cast(chain.input(zero), DType.F32), len(chain.shape(x))
    shape = chain.shape(point)
    if len(shape) == 1 and shape[0] > 1:
        by_row = first or index == 0
        after = rank - 1 if first else 1
        point = chain.reshape(point, (shape[0], *(1,) * after)) if by_row else point
    return chain("sub", x, point)
