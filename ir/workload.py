"""One operator of the MAC array as a loop nest over R S P Q C K N and groups."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from .errors import VerifyError


class Dim(StrEnum):
    """A dimension of the loop nest.

    ``R S`` filter height and width, ``P Q`` output height and width, ``C K`` input and output
    channels *of one group*, ``N`` batch, ``G`` groups: a dimension that all three operands share
    (groups of a convolution, channels of a depthwise one, batch of a batched product).
    """

    R = "R"
    S = "S"
    P = "P"
    Q = "Q"
    C = "C"
    K = "K"
    N = "N"
    G = "G"


class Operand(StrEnum):
    """Weights, input activations or output activations of a workload."""

    W = "W"
    I = "I"  # noqa: E741 - the field's name
    O = "O"  # noqa: E741 - the field's name


DIMS = tuple(Dim)
OPERANDS = tuple(Operand)

RELEVANT: Mapping[Operand, frozenset[Dim]] = {
    Operand.W: frozenset({Dim.R, Dim.S, Dim.C, Dim.K, Dim.G}),
    Operand.I: frozenset({Dim.R, Dim.S, Dim.P, Dim.Q, Dim.C, Dim.N, Dim.G}),
    Operand.O: frozenset({Dim.P, Dim.Q, Dim.K, Dim.N, Dim.G}),
}
"""Dimensions that index an operand; over the others it is stationary."""

MOST_MACS = 2**53
"""Multiply-accumulates of a workload. Their accesses, in bits, are counted in 64 of them."""

REDUCTION = frozenset({Dim.R, Dim.S, Dim.C})
"""Dimensions that are summed over."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A convolution or matrix product as a nest of eight loops.

    ``O[n,g,k,p,q] += I[n,g,c,p*stride+r*dilation,q*stride+s*dilation] * W[g,k,c,r,s]``; an
    ``M x L`` by ``L x J`` product is ``P=M, C=L, K=J``.

    Attributes:
        R: Filter height.
        S: Filter width.
        P: Output height.
        Q: Output width.
        C: Input channels of one group.
        K: Output channels of one group.
        N: Batch.
        G: Groups.
        stride: Vertical and horizontal step of the window [element].
        dilation: Vertical and horizontal distance of filter taps [element].
        weight_bits: Width of one weight.
        input_bits: Width of one input activation.
        output_bits: Width of one finished output.
        psum_bits: Width of one partial sum.
    """

    R: int = 1
    S: int = 1
    P: int = 1
    Q: int = 1
    C: int = 1
    K: int = 1
    N: int = 1
    G: int = 1
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    weight_bits: int = 8
    input_bits: int = 8
    output_bits: int = 8
    psum_bits: int = 24

    @cached_property
    def dims(self) -> Mapping[Dim, int]:
        """Extent of every dimension."""
        return {dim: int(getattr(self, dim.value)) for dim in DIMS}

    def resized(self, dims: Mapping[Dim, int]) -> "Workload":
        """Return the workload with other extents; dimensions that are not given keep theirs."""
        return replace(self, **{dim.value: extent for dim, extent in dims.items()})

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulate operations of the whole workload."""
        return math.prod(self.dims.values())

    def elements(self, operand: Operand, tile: Mapping[Dim, int] | None = None) -> int:
        """Return the elements of an operand that one tile touches, halo included [element].

        Rows of the input are counted exactly: where the window steps further than it reaches,
        the rows in between are not touched (only the union of the windows is).

        Args:
            operand: The tensor.
            tile: Extent of the tile along each dimension (absent: 1); the whole workload if
                ``None``.
        """
        extent = self.dims if tile is None else {dim: tile.get(dim, 1) for dim in DIMS}
        if operand is not Operand.I:
            return math.prod(extent[dim] for dim in RELEVANT[operand])
        rows = touched(extent[Dim.P], extent[Dim.R], self.stride[0], self.dilation[0])
        columns = touched(extent[Dim.Q], extent[Dim.S], self.stride[1], self.dilation[1])
        return rows * columns * extent[Dim.C] * extent[Dim.N] * extent[Dim.G]

    def bits(self, operand: Operand) -> int:
        """Width of one element of an operand; finished outputs for ``O`` [bit]."""
        return {
            Operand.W: self.weight_bits,
            Operand.I: self.input_bits,
            Operand.O: self.output_bits,
        }[operand]

    def verify(self) -> None:
        """Check that every extent, stride, dilation and width is at least one, and the size.

        Raises:
            VerifyError: Names the field.
        """
        for dim, extent in self.dims.items():
            if extent < 1:
                raise VerifyError(f"workload has {dim}={extent}, must be at least 1")
        for name, pair in (("stride", self.stride), ("dilation", self.dilation)):
            if min(pair) < 1:
                raise VerifyError(f"workload has {name}={pair}, must be at least 1")
        widths = (self.weight_bits, self.input_bits, self.output_bits, self.psum_bits)
        if min(widths) < 1:
            raise VerifyError(f"workload has a width below one bit: {widths}")
        if self.macs > MOST_MACS:
            raise VerifyError(
                f"workload has {self.macs} multiply-accumulates, no more than {MOST_MACS} can be"
                " counted"
            )

    def __str__(self) -> str:
        dims = " ".join(f"{dim}={extent}" for dim, extent in self.dims.items() if extent > 1)
        stride = "" if self.stride == (1, 1) else f" stride={self.stride[0]},{self.stride[1]}"
        dilation = (
            "" if self.dilation == (1, 1) else f" dilation={self.dilation[0]},{self.dilation[1]}"
        )
        return f"{dims or 'P=1'}{stride}{dilation}"


def touched(outputs: int, taps: int, stride: int, dilation: int) -> int:
    """Return how many distinct input rows ``outputs`` windows of ``taps`` taps touch.

    The rows are ``{p * stride + r * dilation}`` for ``p < outputs`` and ``r < taps``; counted
    exactly, also where they leave gaps or overlap only in part.

    Args:
        outputs: Windows.
        taps: Taps of each.
        stride: From window to window [row].
        dilation: From tap to tap [row].
    """
    if outputs == 1 or taps == 1:
        return outputs * taps
    if dilation == 1:
        return (outputs - 1) * min(stride, taps) + taps
    # p*stride + r*dilation == p'*stride + r'*dilation has solutions only along
    # (dp, dr) = k * (dilation, -stride) / gcd, so the union is the grid minus one shifted overlap.
    common = math.gcd(stride, dilation)
    step_p, step_r = dilation // common, stride // common
    return outputs * taps - max(0, outputs - step_p) * max(0, taps - step_r)
