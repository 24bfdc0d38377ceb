"""Convolutions and pools of one and three dimensions, by those of two."""

import math
from collections.abc import Callable, Sequence

from onnx import NodeProto, helper

from ...builder import Builder
from ...node import Node
from ..chain import Chain

Run = Callable[[Node, Builder], None]

_SIZES = ("kernel_shape", "strides", "dilations", "output_padding", "output_shape")


def of_any_rank(run: Run) -> Run:
    """Return the import of an operator on images that takes rows ``[N, C, W]`` as well."""

    def lifted(node: Node, b: Builder) -> None:
        shape = b.type_of(node.input(0)).shape
        if len(shape) != 3:
            run(node, b)
            return
        chain, inner = Chain(node, b), f"{node.outputs[0]}/image"
        names = list(node.inputs)
        for index in (0, 1):
            if index < len(names) and len(b.type_of(names[index]).shape) == 3:
                source = chain.input(index)
                extents = chain.shape(source)
                names[index] = f"{inner}/{index}"
                b.bind(names[index], _as_image(chain, source, (*extents[:2], 1, extents[2])))
        run(Node(_lifted(node.proto, names, inner), node.opset), b)
        for number in range(len(node.outputs)):
            result = b.value(f"{inner}/{number}/out")
            N, K, _, Q = chain.shape(result)
            chain.bind(chain.reshape(result, (N, K, Q)), number)

    return lifted


def _as_image(chain: Chain, value: str, shape: tuple[int, ...]) -> str:
    if value in chain.b.arrays:
        return chain.constant(chain.b.arrays[value].reshape(shape), chain.dtype(value))
    return chain.reshape(value, shape)


def _lifted(proto: NodeProto, names: list[str], out: str) -> NodeProto:
    """Return the node with a first spatial axis of extent one."""
    copy = NodeProto()
    copy.CopyFrom(proto)
    copy.input[:] = names
    copy.output[:] = [f"{out}/{number}/out" for number in range(len(proto.output))]
    for attribute in copy.attribute:
        given = [int(item) for item in attribute.ints]
        if attribute.name in _SIZES:
            first = 0 if attribute.name == "output_padding" else 1
            attribute.CopyFrom(helper.make_attribute(attribute.name, [first, *given]))
        elif attribute.name == "pads":
            attribute.CopyFrom(helper.make_attribute("pads", [0, given[0], 0, given[1]]))
    return copy


def conv3d(node: Node, b: Builder) -> None:
    """``Conv`` in three dimensions."""
    chain, x, w = Chain(node, b), b.value(node.input(0)), b.value(node.input(1))
    stride, dilation = node.ints("strides", (1, 1, 1)), node.ints("dilations", (1, 1, 1))
    bias = (chain.input(2),) if node.has_input(2) else ()
    chain.bind(
        convolve_volumes(
            chain,
            x,
            w,
            *bias,
            stride=stride,
            dilation=dilation,
            pads=_volume_pads(node, chain.shape(x)[2:], chain.shape(w)[2:]),
            groups=node.int("group", 1),
        )
    )


def _volume_pads(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
    """Return padding before and after each axis."""
    mode = node.str("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return node.ints("pads", (0,) * 6) if mode == "NOTSET" else (0,) * 6
    small, large = list[int](), list[int]()
    steps = zip(node.ints("strides", (1, 1, 1)), node.ints("dilations", (1, 1, 1)), strict=True)
    for extent, taps, (stride, dilation) in zip(extents, kernel, steps, strict=True):
        outputs = -(-extent // stride)
        total = max(0, (outputs - 1) * stride + (taps - 1) * dilation + 1 - extent)
        small.append(total // 2)
        large.append(total - total // 2)
    return (*small, *large) if mode == "SAME_UPPER" else (*large, *small)


def convolve_volumes(
    chain: Chain,
    x: str,
    w: str,
    *bias: str,
    stride: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[int],
    groups: int,
) -> str:
    """Return a convolution of volumes.

    It is one convolution of images. Where a window is a point in height and width, depth is the
    height of the images and the points are their columns. Otherwise each output's depth has an
    image of its own, and the windows' taps in depth are channels of it: a single sum, which integer
    machines add up exactly.

    Args:
        chain: Where operators are added.
        x: The operand ``[N, C, D, H, W]``.
        w: The weights ``[K, C/groups, T, R, S]``.
        bias: One number per channel of the result.
        stride: Along depth, height and width.
        dilation: Distance of taps along these.
        pads: Zeros before each of these, then after.
        groups: Groups of channels.
    """
    T, R, S = chain.shape(w)[2:]
    if (R, S) == (1, 1) and not any((*pads[1:3], *pads[4:6])):
        columns = _every(chain, x, stride[1:])
        ends, steps = (pads[0], 0, pads[3], 0), (stride[0], dilation[0])
        return _convolve_depth(chain, columns, w, *bias, steps=steps, pads=ends, groups=groups)
    if pads[0] or pads[3]:
        ends = (0, 0, pads[0], 0, 0, 0, 0, pads[3], 0, 0)
        x = chain("pad", x, chain.constant([0.0]), pads=ends, mode="constant")
    images, depth = _taps_as_channels(chain, x, (T, stride[0], dilation[0]), groups)
    turned = chain.transpose(w, (0, 2, 1, 3, 4))
    out = chain(
        "conv2d",
        images,
        chain.reshape(turned, (chain.shape(w)[0], T * chain.shape(w)[1], R, S)),
        *bias,
        stride=tuple(stride[1:]),
        dilation=tuple(dilation[1:]),
        pads=(*pads[1:3], *pads[4:6]),
        groups=groups,
    )
    rows, K, P, Q = chain.shape(out)
    return chain.transpose(chain.reshape(out, (rows // depth, depth, K, P, Q)), (0, 2, 1, 3, 4))


def _taps_as_channels(
    chain: Chain, x: str, window: tuple[int, int, int], groups: int
) -> tuple[str, int]:
    """Return an image for each window along depth, and how many of these windows there are.

    Args:
        chain: Where operators are added.
        x: Volumes ``[N, C, D, H, W]``.
        window: Taps of the window, its stride and its dilation.
        groups: Groups of channels; in each, channels are ordered by tap, then by channel.

    Returns:
        Images ``[N * windows, C * taps, H, W]``.
    """
    (N, C, D, H, W), (T, stride, dilation) = chain.shape(x), window
    depth = (D - (T - 1) * dilation - 1) // stride + 1
    taps = [chain.slice(x, 2, tap * dilation, depth, stride) for tap in range(T)]
    joined = taps[0] if T == 1 else chain("concat", *taps, axis=1)
    if T > 1 and groups > 1:
        apart = chain.reshape(joined, (N, T, groups, C // groups, depth * H * W))
        joined = chain.transpose(apart, (0, 2, 1, 3, 4))
    volumes = chain.reshape(joined, (N, T * C, depth, H, W))
    turned = chain.transpose(volumes, (0, 2, 1, 3, 4))
    return chain.reshape(turned, (N * depth, T * C, H, W)), depth


def _every(chain: Chain, x: str, stride: Sequence[int]) -> str:
    """Return the points of volumes that lie a stride apart in height and width."""
    for axis, step in enumerate(stride, start=3):
        x = chain.slice(x, axis, 0, -(-chain.shape(x)[axis] // step), step)
    return x


def _convolve_depth(
    chain: Chain,
    x: str,
    w: str,
    *bias: str,
    steps: tuple[int, int],
    pads: tuple[int, int, int, int],
    groups: int,
) -> str:
    """Return a convolution of volumes along depth alone.

    Args:
        chain: Where operators are added.
        x: The operand ``[N, C, D, H, W]``.
        w: The weights ``[K, C/groups, T, 1, 1]``.
        bias: One number per channel of the result.
        steps: Stride and dilation.
        pads: Of the images ``[D, H * W]``.
        groups: Groups of channels.
    """
    N, C, D, H, W = chain.shape(x)
    out = chain(
        "conv2d",
        chain.reshape(x, (N, C, D, H * W)),
        chain.reshape(w, (*chain.shape(w)[:3], 1)),
        *bias,
        stride=(steps[0], 1),
        dilation=(steps[1], 1),
        pads=pads,
        groups=groups,
    )
    _, K, depth, _ = chain.shape(out)
    return chain.reshape(out, (N, K, depth, H, W))


def pool3d(run: Run) -> Run:
    """Return the import of a pool in three dimensions: over images, then over depth.

    The two make one window: what an average counts of a box is the product of what it counts of
    each axis.
    """

    def both(node: Node, b: Builder) -> None:
        shape = b.type_of(node.input(0)).shape
        if len(shape) != 5:
            run(node, b)
            return
        if any(node.outputs[1:]):
            raise node.refusal("returns places in three dimensions, which is not supported")
        chain, (N, C, D, H, W) = Chain(node, b), shape
        value = chain.reshape(chain.input(0), (N, C * D, H, W))
        value = _pooled(node, b, run, value, (1, 2))
        P, Q = chain.shape(value)[2:]
        value = _pooled(node, b, run, chain.reshape(value, (N, C, D, P * Q)), (0, None))
        chain.bind(chain.reshape(value, (N, C, chain.shape(value)[2], P, Q)))

    return both


def global_pool(run: Run) -> Run:
    """Return the import of a global pool: all axes after the channels are seen as one image."""

    def merged(node: Node, b: Builder) -> None:
        shape = b.type_of(node.input(0)).shape
        if len(shape) in (3, 5):
            chain = Chain(node, b)
            image = (*shape[:2], math.prod(shape[2:-1]), shape[-1])
            value = _pooled(node, b, run, chain.reshape(chain.input(0), image), ())
            chain.bind(chain.reshape(value, (*shape[:2], *(1,) * (len(shape) - 2))))
        else:
            run(node, b)

    return merged


def _pooled(node: Node, b: Builder, run: Run, value: str, axes: tuple[int | None, ...]) -> str:
    """Return the pool over some of a node's axes, the two last of a value; ``None``: none."""
    copy, name = NodeProto(), f"{node.outputs[0]}/{axes}"
    copy.CopyFrom(node.proto)
    copy.input[:], copy.output[:] = [f"{name}/x"], [name]
    for attribute in copy.attribute:
        given = [int(item) for item in attribute.ints]
        if attribute.name in _SIZES:
            kept = [1 if axis is None else given[axis] for axis in axes]
            attribute.CopyFrom(helper.make_attribute(attribute.name, kept))
        elif attribute.name == "pads":
            ends = [*axes, *(None if axis is None else 3 + axis for axis in axes)]
            kept = [0 if end is None else given[end] for end in ends]
            attribute.CopyFrom(helper.make_attribute("pads", kept))
    b.bind(f"{name}/x", value)
    run(Node(copy, node.opset), b)
    return b.value(name)
