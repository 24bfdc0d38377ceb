"""What several operators' import functions ask of a node: constants, quantisation, windows."""

from collections.abc import Mapping

import numpy as np

from ...ir.errors import ComputedOperandError
from ...ir.graph import Attr
from ...ir.operators.elementary import Array
from ...ir.operators.views import SlidingWindow
from ...ir.types import DType, Quantization
from .builder import Builder
from .node import Node


def constant_input(b: Builder, node: Node, index: int, what: str) -> Array:
    """Return an input that must be constant.

    Args:
        b: Knows the constants.
        node: The node.
        index: Position of the input.
        what: Its name in messages.

    Raises:
        ModelError: It is absent.
        ComputedOperandError: It is computed at run time.
    """
    name = node.input(index)
    array = b.numbers(name)
    if array is not None:
        return array
    sources = b.sources(name)
    raise ComputedOperandError(
        f"{node.loc} needs a constant {what}; {name!r} is computed",
        inputs=sources,
        hint=f"bind what it is computed from: {', '.join(f'--constant {x}=...' for x in sources)}",
    )


def scalar_input(b: Builder, node: Node, index: int, what: str) -> float | None:
    """Return an optional constant input with one element, ``None`` if it is absent.

    Args:
        b: Knows the constants.
        node: The node.
        index: Position of the input.
        what: Its name in messages.
    """
    if not node.has_input(index):
        return None
    array = constant_input(b, node, index, what)
    if array.size != 1:
        raise node.refusal(f"has a {what} of shape {array.shape}, expected one value")
    return float(array.reshape(-1)[0])


def quantization_input(
    b: Builder, node: Node, scale: int, zero: int, axis: int | None = None
) -> tuple[Quantization, DType | None]:
    """Return the quantisation that a scale and a zero point input describe.

    Args:
        b: The graph under construction.
        node: The node.
        scale: Index of the scale.
        zero: Index of the zero point.
        axis: Axis of a scale per channel; one value is a scale for the whole tensor.

    Returns:
        The quantisation and the element type of the zero point, ``None`` if that is absent.

    Raises:
        ModelError: Scale or zero point are not constant or do not match.
    """
    scales = constant_input(b, node, scale, "scale")
    zeros = constant_input(b, node, zero, "zero point") if node.has_input(zero) else None
    if scales.dtype != np.float32:
        raise node.refusal(f"has a scale of type {scales.dtype}, expected float32")
    if zeros is None:
        points = np.zeros(scales.shape, np.int64)
    elif zeros.size == scales.size:
        points = zeros.astype(np.int64)
    else:
        raise node.refusal(f"has {scales.size} scales and {zeros.size} zero points")
    if scales.ndim > 1:
        raise node.refusal("has block-wise quantisation, which is not supported")
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise node.refusal("has a scale that is not positive and finite")
    per_channel = scales.size > 1
    if per_channel and axis is None:
        raise node.refusal(f"has {scales.size} scales where one is due")
    quant = Quantization(
        tuple(float(value) for value in scales.reshape(-1)),
        tuple(int(value) for value in points.reshape(-1)),
        axis if per_channel else None,
    )
    return quant, None if zeros is None else _zero_type(node, zeros)


def _zero_type(node: Node, zeros: Array) -> DType:
    known = {"int8": DType.S8, "uint8": DType.U8, "int32": DType.S32}
    if zeros.dtype.name not in known:
        raise node.refusal(f"quantises to {zeros.dtype}; supported: int8, uint8 (int32 for a bias)")
    return known[zeros.dtype.name]


def normal_axis(node: Node, axis: int, rank: int) -> int:
    """Return an axis counted from the front.

    Args:
        node: Named in messages.
        axis: May count from the back.
        rank: Of the tensor.

    Raises:
        ModelError: It lies outside of the tensor.
    """
    if not -rank <= axis < rank:
        raise node.refusal(f"has axis {axis}, outside of a tensor of rank {rank}")
    return axis % rank


def image_extent(b: Builder, node: Node, name: str) -> tuple[int, int]:
    """Return height and width of an image.

    Args:
        b: Knows the shapes.
        node: Named in messages.
        name: Of the tensor.

    Raises:
        ModelError: The tensor is not ``[N, C, H, W]``.
    """
    shape = b.type_of(name).shape
    if len(shape) != 4:
        raise node.refusal(f"works on a tensor of shape {shape}; supported: [N, C, H, W]")
    return shape[2], shape[3]


def window(node: Node, kernel: tuple[int, ...], extent: tuple[int, int]) -> SlidingWindow:
    """Return the window of a convolution or pool, padding and rounding mode resolved.

    With ``ceil_mode`` a window may hang over the padded input at the bottom and right, but not
    start there.

    Args:
        node: The node.
        kernel: Taps of each axis.
        extent: Height and width of the input.

    Raises:
        ModelError: Attributes have a wrong length or value.
    """
    R, S = _pair(node, "kernel_shape", kernel)
    stride = _pair(node, "strides", node.ints("strides", (1, 1)))
    dilation = _pair(node, "dilations", node.ints("dilations", (1, 1)))
    plain = SlidingWindow(kernel=(R, S), stride=stride, dilation=dilation)
    pads = _pads(node, plain, extent)
    padded = SlidingWindow(kernel=(R, S), stride=stride, dilation=dilation, pads=pads)
    if not node.int("ceil_mode", 0):
        return padded
    rows, columns = (_overhang(padded, extent, axis) for axis in (0, 1))
    return SlidingWindow(
        kernel=(R, S), stride=stride, dilation=dilation, pads=pads, overhang=(rows, columns)
    )


def window_attrs(found: SlidingWindow, *, is_pool: bool) -> Mapping[str, Attr]:
    """Return a window as attributes of an operator."""
    attrs: dict[str, Attr] = {
        "stride": found.stride,
        "pads": found.pads,
        "dilation": found.dilation,
    }
    if is_pool:
        attrs["kernel"] = found.kernel
        attrs["overhang"] = found.overhang
    return attrs


def _pair(node: Node, name: str, values: tuple[int, ...]) -> tuple[int, int]:
    if len(values) != 2 or min(values) < 1:
        raise node.refusal(f"has {name} = {values}; supported: two values of at least 1")
    return values[0], values[1]


def _pads(node: Node, plain: SlidingWindow, extent: tuple[int, int]) -> tuple[int, int, int, int]:
    mode = node.str("auto_pad", "NOTSET")
    if mode == "VALID":
        return (0, 0, 0, 0)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        top, bottom = _same(plain, extent, 0, mode)
        left, right = _same(plain, extent, 1, mode)
        return top, left, bottom, right
    if mode != "NOTSET":
        raise node.refusal(f"has auto_pad = {mode!r}")
    pads = node.ints("pads", (0, 0, 0, 0))
    if len(pads) != 4 or min(pads) < 0:
        raise node.refusal(f"has pads = {pads}; supported: four values of at least 0")
    return pads[0], pads[1], pads[2], pads[3]


def _same(plain: SlidingWindow, extent: tuple[int, int], axis: int, mode: str) -> tuple[int, int]:
    """Return padding before and after that makes ``ceil(extent / stride)`` outputs."""
    outputs = -(-extent[axis] // plain.stride[axis])
    total = max(0, (outputs - 1) * plain.stride[axis] + plain.reach()[axis] - extent[axis])
    small, large = total // 2, total - total // 2
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def _overhang(padded: SlidingWindow, extent: tuple[int, int], axis: int) -> int:
    before, after, stride = padded.pads[axis], padded.pads[axis + 2], padded.stride[axis]
    padded_extent = before + extent[axis] + after
    outputs = -(-(padded_extent - padded.reach()[axis]) // stride) + 1
    if (outputs - 1) * stride >= before + extent[axis]:
        outputs -= 1
    return max(0, (outputs - 1) * stride + padded.reach()[axis] - padded_extent)
