"""Import of ``ConvTranspose`` and ``Col2Im``: a convolution for each phase of the stride."""

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
    def outputs(self) -> int:
        """Extent of the result."""
        return self.whole - self.before - self.after

    @property
    def phase_taps(self) -> int:
        """Taps that meet the results of one phase; those of a kernel without gaps if strided."""
        return self.taps if self.stride == 1 else self.reach // self.stride + 1

    @property
    def phase_reach(self) -> int:
        """Distance of the first tap of a phase and its last one, in elements of the operand."""
        return self.reach if self.stride == 1 else self.phase_taps - 1

    @property
    def first(self) -> int:
        """The first result of every phase that is computed."""
        return self.before // self.stride

    @property
    def ends(self) -> tuple[int, int]:
        """Zeros around the operand; negative ones cut off."""
        last = (self.before + self.outputs - 1) // self.stride
        return self.phase_reach - self.first, last + 1 - self.extent


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

    With a stride ``s`` every ``s``-th result along an axis is a *phase*: a convolution of the
    operand with every ``s``-th tap. All phases are channels of one convolution, and interleaved
    after it.

    Args:
        chain: Where operators are added.
        x: The operand ``[N, C, ...]``.
        w: The weights ``[C, K/groups, ...]``.
        bias: One number per channel of the result.
        axes: How it goes along every axis after the channels.
        groups: Groups of channels.
    """
    before, after = list[int](), list[int]()
    for number, axis in enumerate(axes):
        first, last = axis.ends
        count = chain.shape(x)[2 + number] - max(0, -first) - max(0, -last)
        x = chain.slice(x, 2 + number, max(0, -first), count)
        before.append(max(0, first))
        after.append(max(0, last))
    phases = math.prod(axis.stride for axis in axes)
    operands = (x, _turned(chain, w, axes, groups), *(_repeated(chain, b, phases) for b in bias))
    dilation = tuple(axis.dilation if axis.stride == 1 else 1 for axis in axes)
    pads = (*before, *after)
    if len(axes) == 2:
        out = chain("conv2d", *operands, pads=pads, dilation=dilation, groups=groups)
    else:
        stride = (1,) * len(axes)
        out = convolve_volumes(
            chain, *operands, stride=stride, dilation=dilation, pads=pads, groups=groups
        )
    return out if phases == 1 else _interleaved(chain, out, axes)


def _repeated(chain: Chain, bias: str, phases: int) -> str:
    """Return the bias of every phase of every channel; a constant is repeated at once."""
    if phases == 1:
        return bias
    if bias in chain.b.arrays:
        return chain.constant(np.repeat(chain.b.arrays[bias], phases))
    return chain("repeat", bias, repeats=(phases,))


def _turned(chain: Chain, w: str, axes: tuple[_Axis, ...], groups: int) -> str:
    """Return the weights ``[K * phases, C/groups, ...]``, the taps of a phase back to front."""
    C, per_group, *_ = chain.shape(w)
    w, rank = _without_gaps(chain, w, axes), len(axes)
    factors, perm = [groups, C // groups, per_group], [0, 2]
    for number, axis in enumerate(axes):
        factors += [axis.phase_taps, axis.stride]
        perm.append(4 + 2 * number)
    perm += [1, *(3 + 2 * number for number in range(rank))]
    phases = math.prod(axis.stride for axis in axes)
    taps = tuple(axis.phase_taps for axis in axes)
    shape = (groups * per_group * phases, C // groups, *taps)
    w = chain("rearrange", w, factors=tuple(factors), perm=tuple(perm), shape=shape)
    for number, count in enumerate(taps):
        w = chain.slice(w, 2 + number, count - 1, count, -1) if count > 1 else w
    return w


def _without_gaps(chain: Chain, w: str, axes: tuple[_Axis, ...]) -> str:
    """Return the weights with zeros between taps, and after them until all phases have as many."""
    shape = chain.shape(w)
    gaps = tuple(axis.dilation if axis.stride > 1 and axis.taps > 1 else 1 for axis in axes)
    zero = chain.constant([0.0])
    if any(gap > 1 for gap in gaps):
        w = chain("stretch", w, zero, repeats=(1, 1, *gaps))
    ends = list[int]()
    for number, axis in enumerate(axes):
        extent, wanted = chain.shape(w)[2 + number], axis.phase_taps * axis.stride
        w = chain.slice(w, 2 + number, 0, min(extent, wanted))
        ends.append(wanted - min(extent, wanted))
    if any(ends):
        pads = (0,) * (len(shape) + 2) + tuple(ends)
        w = chain("pad", w, zero, pads=pads, mode="constant")
    return w


def _interleaved(chain: Chain, out: str, axes: tuple[_Axis, ...]) -> str:
    """Return the results of all phases in their order, without what is cut off."""
    N, channels, *extents = chain.shape(out)
    strides, rank = tuple(axis.stride for axis in axes), len(axes)
    K = channels // math.prod(strides)
    perm = (0, 1, *(at for number in range(rank) for at in (2 + rank + number, 2 + number)))
    wide = tuple(size * step for size, step in zip(extents, strides, strict=True))
    factors = (N, K, *strides, *extents)
    out = chain("rearrange", out, factors=factors, perm=perm, shape=(N, K, *wide))
    for number, axis in enumerate(axes):
        out = chain.slice(out, 2 + number, axis.before - axis.first * axis.stride, axis.outputs)
    return out


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
