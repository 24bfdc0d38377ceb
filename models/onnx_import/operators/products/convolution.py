"""Import of convolution and pooling."""

from .....ir.graph import Attr
from ...arguments import image_extent, window, window_attrs
from ...builder import Builder
from ...node import Node
from ..elementwise import import_unary
from .dimensions import conv3d


def conv(node: Node, b: Builder) -> None:
    """``Conv``, grouped, dilated, any padding; see ``dimensions.py`` for other than two."""
    if len(b.type_of(node.input(0)).shape) == 5:
        conv3d(node, b)
        return
    out = node.outputs[0]
    operands = [b.value(node.input(index)) for index in range(2)]
    if node.has_input(2):
        operands.append(b.value(node.input(2)))
    attrs = conv_attrs(node, b, node.input(0), b.types[operands[1]].shape)
    b.bind(out, b.emit("conv2d", operands, out, node, attrs=attrs))


def conv_attrs(node: Node, b: Builder, x: str, weight: tuple[int, ...]) -> dict[str, Attr]:
    """Return the attributes of a convolution of the ONNX tensor ``x``.

    Args:
        node: The node.
        b: Knows the shapes.
        x: Name of the input.
        weight: Shape of the weights.

    Raises:
        ModelError: It is not two-dimensional, or its kernel is not that of its weights.
    """
    extent = image_extent(b, node, x)
    kernel = node.ints("kernel_shape", weight[2:])
    if kernel != weight[2:]:
        raise node.refusal(f"has kernel_shape = {kernel}, its weights have {weight[2:]}")
    found = window(node, kernel, extent)
    return {**window_attrs(found, is_pool=False), "groups": node.int("group", 1)}


def max_pool(node: Node, b: Builder) -> None:
    """``MaxPool`` without places."""
    found = window(node, node.ints("kernel_shape"), image_extent(b, node, node.input(0)))
    import_unary("max_pool", node, b, window_attrs(found, is_pool=True))


def average_pool(node: Node, b: Builder) -> None:
    """``AveragePool``."""
    import_unary("avg_pool", node, b, average_attrs(node, b, counts_overhang=False))


def average_attrs(node: Node, b: Builder, *, counts_overhang: bool) -> dict[str, Attr]:
    """Return the attributes of an average pool.

    Args:
        node: The node.
        b: The graph under construction.
        counts_overhang: Whether ``count_include_pad`` counts what ``ceil_mode`` adds, as
            onnxruntime's integer kernel does (it divides by the whole kernel).
    """
    found = window(node, node.ints("kernel_shape"), image_extent(b, node, node.input(0)))
    counts_padding = bool(node.int("count_include_pad", 0))
    if counts_padding and counts_overhang:
        found = found.counting_overhang()
    return {**window_attrs(found, is_pool=True), "count_include_pad": counts_padding}


def global_average_pool(node: Node, b: Builder) -> None:
    """``GlobalAveragePool`` over height and width."""
    image_extent(b, node, node.input(0))
    import_unary("global_avg_pool", node, b)


def global_max_pool(node: Node, b: Builder) -> None:
    """``GlobalMaxPool`` over height and width: a max pool with one window."""
    extent = image_extent(b, node, node.input(0))
    import_unary("max_pool", node, b, {"kernel": extent})
