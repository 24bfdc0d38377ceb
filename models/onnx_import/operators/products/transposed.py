"""Import of ``ConvTranspose`` and ``Col2Im``: convolutions over elements set apart by zeros."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...arguments import constant_input
from ...builder import Builder
from ...node import Node
from ..chain import Chain
from .dimensions import convolve_volumes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """How a transposed convolution goes along one axis.

    Attributes:
        extent: Elements of the operand.
        taps: Taps of the kernel.
        stride: Distance of the operand's elements in the result.
        dilation: Distance of the taps.
        before: What is cut off of the whole result at its start.
        after: What is cut off at its end; what is added counts as negative.
    """

    extent: int
    taps: int
    stride: int
    dilation: int
    before: int = 0
    after: int = 0

    @property
    def reach(self) -> int:
        """Distance of the first tap and the last one."""
        return (self.taps - 1) * self.dilation

    @property
    def whole(self) -> int:
        """Extent of the result before anything is cut off."""
        return (self.extent - 1) * self.stride + self.reach + 1

    @property
    def ends(self) -> tuple[int, int]:
        """Zeros around the elements that were set apart; negative ones cut off."""
        return self.reach - self.before, self.reach - self.after - (self.stride - 1)


def conv_transpose(node: Node, b: Builder) -> None:
    """``ConvTranspose`` in two or three dimensions; see ``dimensions.py`` for one."""
    chain, x, w = Chain(node, b), b.value(node.input(0)), b.value(node.input(1))
    rank = len(chain.shape(w)) - 2
    if rank not in (2, 3):
        raise node.refusal(f"has weights {chain.shape(w)}; supported: one to three dimensions")
    axes = tuple(_axes(node, chain.shape(x)[2:], chain.shape(w)[2:]))
    bias = (chain.input(2),) if node.has_input(2) else ()
    chain.bind(_spread(chain, x, w, *bias, axes=axes, groups=node.int("group", 1)))


def col2im(node: Node, b: Builder) -> None:
    """``Col2Im``: every block lands where it came from; where blocks overlap they add up."""
    chain, x = Chain(node, b), b.value(node.input(0))
    image, kernel = (
        tuple(int(item) for item in constant_input(b, node, index, what).reshape(-1))
        for index, what in ((1, "shape of the image"), (2, "shape of a block"))
    )
    rank, taps = len(kernel), math.prod(kernel)
    if rank not in (2, 3):
        raise node.refusal(f"has blocks {kernel}; supported: two or three dimensions")
    strides, dilations = _each(node, "strides", rank), _each(node, "dilations", rank)
    pads, axes, counts = node.ints("pads", (0,) * (2 * rank)), list[_Axis](), list[int]()
    for axis, extent in enumerate(image):
        reach = (kernel[axis] - 1) * dilations[axis]
        last = extent + pads[axis] + pads[rank + axis] - reach - 1
        counts.append(last // strides[axis] + 1)
        at = _Axis(
            extent=counts[-1],
            taps=kernel[axis],
            stride=strides[axis],
            dilation=dilations[axis],
            before=pads[axis],
        )
        axes.append(replace(at, after=at.whole - pads[axis] - extent))
    N, rows, columns = chain.shape(x)
    if rows % taps or columns != math.prod(counts):
        raise node.refusal(f"has {rows}x{columns} elements for blocks {kernel} of {image}")
    ones = np.tile(np.eye(taps).reshape(taps, 1, *kernel), (rows // taps, *(1,) * (rank + 1)))
    blocks = chain.reshape(x, (N, rows, *counts))
    kernel_value = chain.constant(ones)
    chain.bind(_spread(chain, blocks, kernel_value, axes=tuple(axes), groups=rows // taps))


def _spread(chain: Chain, x: str, w: str, *bias: str, axes: tuple[_Axis, ...], groups: int) -> str:
    """Return the transposed convolution of a value.

    Args:
        chain: Where operators are added.
        x: The operand ``[N, C, ...]``.
        w: The weights ``[C, K/groups, ...]``.
        bias: One number per channel of the result.
        axes: How it goes along every axis after the channels.
        groups: Groups of channels.
    """
    if any(axis.stride > 1 for axis in axes):
        repeats = (1, 1, *(axis.stride for axis in axes))
        x = chain("stretch", x, chain.constant([0.0]), repeats=repeats)
    before, after = list[int](), list[int]()
    for number, axis in enumerate(axes):
        first, last = axis.ends
        count = chain.shape(x)[2 + number] - max(0, -first) - max(0, -last)
        x = chain.slice(x, 2 + number, max(0, -first), count)
        before.append(max(0, first))
        after.append(max(0, last))
    turned, dilation = _turned(chain, w, groups), tuple(axis.dilation for axis in axes)
    pads = (*before, *after)
    if len(axes) == 2:
        return chain("conv2d", x, turned, *bias, pads=pads, dilation=dilation, groups=groups)
    stride = (1,) * len(axes)
    return convolve_volumes(
        chain, x, turned, *bias, stride=stride, dilation=dilation, pads=pads, groups=groups
    )


def _turned(chain: Chain, w: str, groups: int) -> str:
    """Return the weights ``[K, C/groups, ...]``, taps back to front."""
    C, per_group, *kernel = chain.shape(w)
    shape, rest = (groups * per_group, C // groups, *kernel), range(2, 2 + len(kernel))
    if groups == 1:
        w = chain.transpose(w, (1, 0, *rest))
    else:
        factors, perm = (groups, C // groups, per_group, *kernel), (0, 2, 1, *(i + 1 for i in rest))
        w = chain("rearrange", w, factors=factors, perm=perm, shape=shape)
    for axis, taps in zip(rest, kernel, strict=True):
        w = chain.slice(w, axis, taps - 1, taps, -1) if taps > 1 else w
    return w


def _axes(node: Node, extents: tuple[int, ...], kernel: tuple[int, ...]) -> Iterator[_Axis]:
    """Yield how each axis of a ``ConvTranspose`` goes."""
    rank, mode = len(kernel), node.str("auto_pad", "NOTSET")
    strides, dilations = _each(node, "strides", rank), _each(node, "dilations", rank)
    spare, wanted = _each(node, "output_padding", rank, 0), node.ints("output_shape", ())[-rank:]
    if mode in ("SAME_UPPER", "SAME_LOWER") and not wanted:
        wanted = tuple(size * step for size, step in zip(extents, strides, strict=True))
    pads = node.ints("pads", (0,) * (2 * rank)) if mode == "NOTSET" else (0,) * (2 * rank)
    for axis, extent in enumerate(extents):
        before, after = pads[axis], pads[rank + axis]
        at = _Axis(extent=extent, taps=kernel[axis], stride=strides[axis], dilation=dilations[axis])
        if wanted:
            total = at.whole + spare[axis] - wanted[axis]
            small, large = total // 2, total - total // 2
            before = max(0, small if mode == "SAME_UPPER" else large)
            after = total - before
        yield replace(at, before=before, after=after - spare[axis])


def _each(node: Node, name: str, rank: int, default: int = 1) -> tuple[int, ...]:
    """Return an attribute with a number for every axis."""
    found = node.ints(name, (default,) * rank)
    if len(found) != rank:
        raise node.refusal(f"has {name} = {found}; supported: {rank} values")
    return found
